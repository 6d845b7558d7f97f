//! Questions to a small recorded world: what a scope sees, how pages, moments and filters agree.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod audiences;
mod changes;
mod cost;
mod coverage;
mod deadline;
mod deployments;
mod diff;
mod event_feed;
mod events;
mod fields;
mod filters;
mod find;
mod floors;
mod graph;
mod groups;
mod health;
mod health_numbers;
mod images;
mod kept_lines;
mod left_behind;
mod lost_end;
mod managed;
mod moments;
mod moves;
mod onset;
mod oracle;
mod overview;
mod overview_rows;
mod pages;
mod places;
mod scope;
mod search;
mod spans;
mod standings;
mod stretches;
mod timeline;
mod times;
mod volumes;
mod warnings;
mod words;

use super::testing::{
    Event, Remark, Thing, World, block_on, end, environment, environments, mark, mover, observation, observe,
    say, small_history, uncut, whole,
};
use super::*;

use strandline_model::{At, EnvironmentId, EnvironmentSpec, EnvironmentState, Health, Offset, Tier, Uid};
use strandline_object::kube_event::EventType;
use strandline_object_diff::{Between, Class, DifferenceType, Lens, compare, patch};
use strandline_protocol::*;
use strandline_syntax::Glob;
use strandline_view::ruleset::RuleSet;
