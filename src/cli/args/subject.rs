//! Which resource a command is about: by its uid, or by kind and name.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use super::output::ListArgs;
use super::values::{environment, time};
use strandline_model::{At, EnvironmentId, KindName, Tier, Uid};
use strandline_query::Presence;

/// A resource as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// By its uid.
    Uid(Uid),
    /// By kind and name, as `deploy/web`.
    Named {
        /// The kind, by any name that kubectl takes.
        kind: KindName,
        /// Its name.
        name: String,
    },
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            None if text.is_empty() => Err("write a resource as KIND/NAME or give its UID".into()),
            None => Ok(Subject::Uid(Uid::new(text))),
            Some((_, "")) => Err(format!("`{text}` has no name: write KIND/NAME, such as deploy/web")),
            Some((kind, name)) => Ok(Subject::Named { kind: kind.parse()?, name: name.to_owned() }),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Uid(uid) => uid.fmt(f),
            Subject::Named { kind, name } => write!(f, "{kind}/{name}"),
        }
    }
}

/// Where a resource is that is named by its kind and name.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Cluster, if the resource exists in several
    #[arg(long)]
    pub cluster: Option<String>,
    /// Namespace of KIND/NAME
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Environment of KIND/NAME, current or former
    #[arg(short = 'e', long = "environment", value_name = "ENVIRONMENT", visible_alias = "env", value_parser = environment)]
    pub within: Option<EnvironmentId>,
}

/// Arguments of `images`.
#[derive(Clone, Debug, Args)]
pub struct ImagesArgs {
    /// Only this image, such as nginx, nginx:1.27, '**/web:2.*' or @sha256:9f8e
    pub image: Option<String>,
    /// Only in this environment
    #[arg(short = 'e', long = "environment", value_name = "ENVIRONMENT", visible_alias = "env", value_parser = environment)]
    pub within: Option<EnvironmentId>,
    /// Only in these tiers: production, staging, testing, development, other
    #[arg(long, value_delimiter = ',')]
    pub tier: Vec<Tier>,
    /// Only in these regions
    #[arg(long, value_delimiter = ',')]
    pub region: Vec<String>,
    /// Include images used at any time since: a duration before --at (7d), a time or an offset
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// End of that period; default: --at
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub until: Option<At>,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Arguments of `find`.
#[derive(Clone, Debug, Args)]
pub struct FindArgs {
    /// Kind, such as deploy, or kind and name pattern, such as 'pods/web-*'
    #[arg(value_name = "KIND[/NAME]")]
    pub what: Option<String>,
    /// Where.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Deleted resources: false (exclude), true (only these), any (include)
    #[arg(long, value_name = "WHICH", default_value_t, num_args = 0..=1, default_missing_value = "true")]
    pub gone: Presence,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}
