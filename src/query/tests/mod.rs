//! Questions to a small recorded world: what a scope sees, how pages, moments and filters agree.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod coverage;
mod events;
mod filters;
mod graph;
mod groups;
mod health;
mod hostile;
mod left_behind;
mod moments;
mod oracle;
mod overview;
mod pages;
mod scope;

use super::testing::{
    Event, Remark, Thing, World, block_on, environment, environments, mark, mover, say, small_history,
};
use super::*;
use crate::kube_event::EventType;
use crate::model::{EnvironmentSpec, EnvironmentState, Glob, Health, Tier};
use crate::ruleset::RuleSet;

/// All of a list in one page.
fn whole() -> PageRequest {
    PageRequest { limit: PageRequest::MAX, after: None }
}

/// A graph of which nothing is left out.
fn uncut() -> GraphFilter {
    GraphFilter { collapse: Collapse::None, limit: Graph::LIMIT, ..GraphFilter::default() }
}
