//! Arguments of `changes`.

use clap::Args;

use super::output::ListArgs;
use super::values::time;
use strandline_model::{AgentId, At, EnvironmentState, GroupPath, Tier};
use strandline_protocol::FeedKind;
use strandline_syntax::Glob;

/// Arguments of `changes`.
#[derive(Clone, Debug, Args)]
pub struct ChangesArgs {
    /// Only environments of these tiers: production, staging, testing, development, other
    #[arg(long, value_delimiter = ',')]
    pub tier: Vec<Tier>,
    /// Only environments of these regions
    #[arg(long, value_delimiter = ',')]
    pub region: Vec<String>,
    /// Only environments of these projects, such as shop/web or 'shop/**'
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub project: Vec<Glob>,
    /// Only environments of projects below these groups, such as shop
    #[arg(long, value_delimiter = ',', value_name = "PATH")]
    pub group: Vec<GroupPath>,
    /// Only environments with a target in these clusters
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub cluster: Vec<String>,
    /// Only environments of these agents, such as shop/agents:production
    #[arg(long, value_delimiter = ',')]
    pub agent: Vec<AgentId>,
    /// Only environments in these states: available, stopping, stopped; default: all but stopped
    #[arg(long, value_delimiter = ',')]
    pub state: Vec<EnvironmentState>,
    /// Only environments of these names, such as 'production/*'
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub name: Vec<Glob>,
    /// Label selector, such as 'team=payments,criticality in (high,critical)'
    #[arg(short, long, value_name = "SELECTOR")]
    pub labels: Option<String>,
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
