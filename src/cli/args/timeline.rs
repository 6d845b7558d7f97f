//! What happened over time, and what happened before something went wrong.

use clap::{ArgGroup, Args};

use super::output::{OutputArgs, ServerArgs};
use super::subject::{PlaceArgs, Subject};
use super::values::{environment, number, time};
use strandline_model::{At, EnvironmentId, Health, Lane, parse_duration};
use strandline_query::{PageRequest, TimelineOrder};

/// Arguments of `timeline`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["environment", "resource"]))]
pub struct TimelineArgs {
    /// Environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with = "PlaceArgs")]
    pub environment: Option<EnvironmentId>,
    /// Resource instead of an environment, as KIND/NAME or by its UID
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Include all descendants of the resource, such as a workload's deleted Pods
    #[arg(long, conflicts_with = "environment")]
    pub below: bool,
    /// Start: a duration before --at (6h, 365d), a time or an offset; default: 1d
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// Only entries of these lanes: changes, events, deployments, health, gaps
    #[arg(long, value_delimiter = ',')]
    pub lane: Vec<Lane>,
    /// Sort order: newest or oldest first
    #[arg(long, value_name = "ORDER")]
    pub order: Option<TimelineOrder>,
    /// Limit the number of entries; default: 20
    #[arg(long, default_value_t = 20, value_parser = number(1..=PageRequest::MAX as u64))]
    pub limit: u64,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `onset`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["environment", "resource"]))]
pub struct OnsetArgs {
    /// Environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with = "PlaceArgs")]
    pub environment: Option<EnvironmentId>,
    /// Resource instead of an environment, as KIND/NAME or by its UID
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Health to explain; default: the current one if unhealthy, else Degraded
    #[arg(long)]
    pub health: Option<Health>,
    /// How far back to look for changes, such as 15m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub window: Option<String>,
    /// Include follow-up changes by controllers, and cluster Events
    #[arg(long)]
    pub effects: bool,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn duration(text: &str) -> Result<String, String> {
    match parse_duration(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("use a duration such as 15m or 1h30m".to_owned()),
    }
}
