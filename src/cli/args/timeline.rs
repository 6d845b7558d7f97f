//! What happened over time, and what happened before something went wrong.

use clap::{ArgGroup, Args};

use super::values::{environment, moment, number};
use super::{OutputArgs, PlaceArgs, ServerArgs, Subject};
use crate::query::{PageRequest, TimelineOrder};
use strandline_model::{EnvironmentId, Health, Lane, parse_duration};

/// Whose timeline to draw.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["environment", "resource"]))]
pub struct TimelineArgs {
    /// The environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with = "PlaceArgs")]
    pub environment: Option<EnvironmentId>,
    /// A resource in place of an environment, by its uid or as KIND/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Tell also of all that was below the resource, such as a workload's Pods that are long gone
    #[arg(long, conflicts_with = "environment")]
    pub below: bool,
    /// Where to begin: a duration before the moment (6h, 365d), a time or an offset; without it a day before
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub since: Option<String>,
    /// Only entries of these lanes: changes, events, deployments, health, gaps
    #[arg(long, value_delimiter = ',')]
    pub lane: Vec<Lane>,
    /// Whether the newest or the oldest entries come first
    #[arg(long, value_name = "ORDER")]
    pub order: Option<TimelineOrder>,
    /// The most entries to list; without it 20
    #[arg(long, default_value_t = 20, value_parser = number(1..=PageRequest::MAX as u64))]
    pub limit: u64,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Whose onset to look for.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["environment", "resource"]))]
pub struct OnsetArgs {
    /// The environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with = "PlaceArgs")]
    pub environment: Option<EnvironmentId>,
    /// A resource in place of an environment, by its uid or as KIND/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Which health; without it what is wrong at the moment, or else Degraded
    #[arg(long)]
    pub health: Option<Health>,
    /// How long before it changes are looked at, such as 15m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub window: Option<String>,
    /// List also what controllers made of it and what clusters said
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
        None => Err("write a duration such as 15m or 1h30m".to_owned()),
    }
}
