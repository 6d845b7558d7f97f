//! Which environments a command is about.

use clap::Args;

use super::output::{ListArgs, OutputArgs, ServerArgs, WatchArgs};
use super::values::number;
use strandline_model::{AgentId, EnvironmentId, EnvironmentState, GroupBy, GroupPath, Health, Tier};
use strandline_protocol::Overview;
use strandline_query::OverviewOrder;
use strandline_syntax::{Glob, LabelSelector};

/// Filters of environments by what is declared of them: options are combined with AND, values of one option with OR.
#[derive(Clone, Debug, Args)]
pub struct DeclaredArgs {
    /// Only these tiers: production, staging, testing, development, other
    #[arg(long, value_delimiter = ',')]
    pub tier: Vec<Tier>,
    /// Only these regions
    #[arg(long, value_delimiter = ',')]
    pub region: Vec<String>,
    /// Only these projects, such as shop/web or 'shop/**'
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub project: Vec<Glob>,
    /// Only projects below these groups, such as shop
    #[arg(long, value_delimiter = ',', value_name = "PATH")]
    pub group: Vec<GroupPath>,
    /// Only environments with a target in these clusters
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub cluster: Vec<String>,
    /// Only environments of these agents, such as shop/agents:production
    #[arg(long, value_delimiter = ',')]
    pub agent: Vec<AgentId>,
    /// Only these states: available, stopping, stopped; default: all but stopped
    #[arg(long, value_delimiter = ',')]
    pub state: Vec<EnvironmentState>,
    /// Only these names, such as 'production/*' or 'review/**'
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub name: Vec<Glob>,
    /// Label selector, such as 'team=payments,criticality in (high,critical)'
    #[arg(short, long, value_name = "SELECTOR", value_parser = selector)]
    pub labels: Option<String>,
}

/// Filters of environments.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
    /// By what is declared.
    #[command(flatten)]
    pub declared: DeclaredArgs,
    /// Only these health states: Healthy, Suspended, Progressing, Missing, Degraded, Unknown
    #[arg(long, value_delimiter = ',')]
    pub health: Vec<Health>,
}

/// Arguments of `get environments`.
#[derive(Clone, Debug, Args)]
pub struct EnvironmentsArgs {
    /// Only this one, with its configuration warnings
    #[arg(value_name = "ENVIRONMENT", value_parser = super::values::environment, conflicts_with_all = [
        "tier", "region", "project", "group", "cluster", "agent", "state", "name", "health", "labels", "limit",
        "watch", "watch_only",
    ])]
    pub id: Option<EnvironmentId>,
    /// Which.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Whether to watch.
    #[command(flatten)]
    pub watch: WatchArgs,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Arguments of `overview`.
#[derive(Clone, Debug, Args)]
pub struct OverviewArgs {
    /// Which.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Group by up to two of: tier, region, project, group, cluster, agent, health, state, label:NAME; default: region
    #[arg(long, value_delimiter = ',', value_name = "WHAT")]
    pub group_by: Vec<GroupBy>,
    /// Saved view from the server's configuration; other options override its settings
    #[arg(long, value_name = "NAME")]
    pub view: Option<String>,
    /// Limit the number of groups; default: 500
    #[arg(long, value_parser = number(1..=Overview::LIMIT as u64))]
    pub limit: Option<u64>,
    /// List so many environments below the groups, with cause, version and last deployment; default with -o wide: 20
    #[arg(long, value_name = "N", value_parser = number(1..=Overview::ENVIRONMENTS as u64))]
    pub environments: Option<u64>,
    /// Order of the environments: attention, name, since, deployed; default: attention
    #[arg(long, value_name = "ORDER")]
    pub order: Option<OverviewOrder>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Checks a selector here, so that a slip of the finger costs no round trip; the server reads it again.
fn selector(text: &str) -> Result<String, String> {
    let parsed = text.parse::<LabelSelector>();
    parsed.map(|_| text.to_owned()).map_err(|error| format!("{error}, at character {}", error.before + 1))
}
