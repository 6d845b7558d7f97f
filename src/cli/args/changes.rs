//! Arguments of `changes`.

use clap::Args;

use super::filter::DeclaredArgs;
use super::output::ListArgs;
use super::values::time;
use strandline_model::At;
use strandline_protocol::FeedKind;
use strandline_syntax::Glob;

/// Arguments of `changes`.
#[derive(Clone, Debug, Args)]
pub struct ChangesArgs {
    /// In which environments.
    #[command(flatten)]
    pub declared: DeclaredArgs,
    /// Start: a duration before --at (1h, 30d), a time or an offset; default: 1d
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// End: a duration before --at, a time or an offset; default: --at
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub until: Option<At>,
    /// Only these types: spec, created, deleted, deployment, health, warning; default: the first four
    #[arg(long = "type", value_delimiter = ',', value_name = "TYPE")]
    pub r#type: Vec<FeedKind>,
    /// Only changes by these field managers or users of deployments, such as alice or 'argocd*'
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub by: Vec<Glob>,
    /// Also list changes that controllers made to specs
    #[arg(long)]
    pub controllers: bool,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}
