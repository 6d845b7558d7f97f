//! Folds the log into the view.
//!
//! [`Projector`] takes the log in batches, which `reading` makes ready ahead of it, and calls `apply` for each record,
//! in one transaction with the checkpoint. A file per group of tables holds the SQL that writes it. Nothing here reads a
//! clock: the same log always gives the same view.

mod activity;
mod activity_draft;
mod addresses;
mod apply;
mod build;
mod catalog;
mod columns;
mod context;
mod coverage;
mod due;
mod edges;
mod environment_health;
mod error;
mod event_feed;
mod examine;
mod feed;
mod file;
mod floors;
mod homes;
mod ids;
mod images;
mod inventories;
mod kube_events;
mod label_names;
mod labels;
mod links;
mod members;
mod membership;
mod numbered;
mod open_gaps;
mod options;
mod owners;
mod presence;
mod projector;
mod prune;
mod reading;
mod recent;
mod resources;
pub mod ruleset;
pub mod search_lines;
mod segment;
mod selectors;
mod several;
mod status;
mod tallies;

pub use build::{Build, build, remove_views};
pub use columns::{COUNTS, CountColumns, MemberHealth, OPEN, read_counts, read_counts_at};
pub use context::Touched;
pub use due::NextDue;
pub use error::ProjectorError;
pub use event_feed::reason_mark;
pub use examine::examine;
pub use file::{
    ViewState, glance_outside, inspect, inspect_at_rest, is_current, numbers, open_at_rest, open_outside,
    open_reader, path,
};
pub use members::{Members, members_ever};
pub use options::{ProjectorOptions, Sizes};
pub use projector::Projector;
pub use prune::{PruneRequest, Pruning};
pub use recent::{Changed, RecentChanges};
pub use status::ViewStatus;
