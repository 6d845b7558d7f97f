//! Which resource a command is about: by its uid, or by kind and name.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use super::ListArgs;
use super::values::{environment, moment};
use crate::query::Presence;
use strandline_model::{EnvironmentId, KindName, Tier, Uid};

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
            None if text.is_empty() => Err("a resource is named by its uid or as KIND/NAME".into()),
            None => Ok(Subject::Uid(Uid::new(text))),
            Some((_, "")) => Err(format!("`{text}` has no name; write KIND/NAME, such as deploy/web")),
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
    /// The cluster, where several hold the resource
    #[arg(long)]
    pub cluster: Option<String>,
    /// The namespace, of what is named as KIND/NAME
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// The environment that it belongs to, or belonged, of what is named as KIND/NAME
    #[arg(short = 'e', long = "environment", value_name = "ENVIRONMENT", visible_alias = "env", value_parser = environment)]
    pub within: Option<EnvironmentId>,
}

/// Which images to list.
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
    /// What was there at any time since: a duration before the moment (7d), a time or an offset
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub since: Option<String>,
    /// And until; without it the moment
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub until: Option<String>,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Which resources to find.
#[derive(Clone, Debug, Args)]
pub struct FindArgs {
    /// A kind, such as deploy, or a kind and a pattern for names, such as 'pods/web-*'
    #[arg(value_name = "KIND[/NAME]")]
    pub what: Option<String>,
    /// Where.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Whether what is gone is found: false, true for nothing else, any
    #[arg(long, value_name = "WHICH", default_value_t, num_args = 0..=1, default_missing_value = "true")]
    pub gone: Presence,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}
