//! Which environments a command is about.

use clap::Args;

use super::values::number;
use super::{ListArgs, OutputArgs, ServerArgs};
use crate::query::Overview;
use strandline_model::{AgentId, EnvironmentId, EnvironmentState, GroupBy, GroupPath, Health, Tier};
use strandline_syntax::{Glob, LabelSelector};

/// Which environments; of each option one value has to fit, and all options have to.
#[derive(Clone, Debug, Args)]
pub struct FilterArgs {
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
    /// Only what looks into these clusters
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub cluster: Vec<String>,
    /// Only what these agents serve, such as shop/agents:production
    #[arg(long, value_delimiter = ',')]
    pub agent: Vec<AgentId>,
    /// Only these states: available, stopping, stopped; without it those that are not stopped
    #[arg(long, value_delimiter = ',')]
    pub state: Vec<EnvironmentState>,
    /// Only these names, such as 'production/*' or 'review/**'
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub name: Vec<Glob>,
    /// Only these healths: Healthy, Suspended, Progressing, Missing, Degraded, Unknown
    #[arg(long, value_delimiter = ',')]
    pub health: Vec<Health>,
    /// Only what carries such labels, as 'team=payments,criticality in (high,critical)'
    #[arg(short, long, value_name = "SELECTOR", value_parser = selector)]
    pub labels: Option<String>,
}

/// Which environments to list.
#[derive(Clone, Debug, Args)]
pub struct EnvironmentsArgs {
    /// Only this one, with what is odd about it
    #[arg(value_name = "ENVIRONMENT", value_parser = super::values::environment, conflicts_with_all = [
        "tier", "region", "project", "group", "cluster", "agent", "state", "name", "health", "labels", "limit",
    ])]
    pub id: Option<EnvironmentId>,
    /// Which.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// What to count, and in which groups.
#[derive(Clone, Debug, Args)]
pub struct OverviewArgs {
    /// Which.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// By what: tier, region, project, group, cluster, agent, health, state, label:NAME, at most two; without it by region
    #[arg(long, value_delimiter = ',', value_name = "WHAT")]
    pub group_by: Vec<GroupBy>,
    /// A view of the server's configuration; other options go before what it says
    #[arg(long, value_name = "NAME")]
    pub view: Option<String>,
    /// The most groups to tell; without it 500
    #[arg(long, value_parser = number(1..=Overview::LIMIT as u64))]
    pub limit: Option<u64>,
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
