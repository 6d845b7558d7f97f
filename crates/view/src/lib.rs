//! Folds the log into the view.
//!
//! [`Projector`] takes the log in batches, which `reading` makes ready ahead of it, and calls `apply` for each record,
//! in one transaction with the checkpoint. A file per group of tables holds the SQL that writes it. Nothing here reads a clock: the same
//! log always gives the same view.

mod apply;
mod build;
mod catalog;
mod context;
mod coverage;
mod due;
mod edges;
mod environment_health;
mod examine;
mod file;
mod floors;
mod happenings;
mod ids;
mod images;
mod intervals;
mod inventories;
mod kube_events;
mod labels;
mod links;
mod members;
mod membership;
mod options;
mod owners;
mod projector;
mod prune;
mod reading;
mod regions;
mod resource_count;
mod resources;
pub mod ruleset;
mod selectors;
mod status;
mod stretch;

pub use build::{Build, build, remove_views};
pub use context::Touched;
pub use due::NextDue;
pub use examine::examine;
pub use file::{ViewState, inspect, inspect_at_rest, is_current, numbers, open_at_rest, open_reader, path};
pub use members::{Members, members_ever};
pub use options::{ProjectorOptions, Sizes};
pub use projector::{Projector, ProjectorError};
pub use prune::{LetGo, Pruning};
pub use status::ViewStatus;

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::Row;

use strandline_model::{Health, Stored};
use strandline_sqlite::column::{self, Place};

/// The end of an interval that still holds.
pub const OPEN: i64 = i64::MAX;

/// What a column of the view, `table.column`, says by a number.
///
/// # Errors
/// When the number means nothing.
pub fn number_at<T: Stored>(row: &Row<'_>, at: usize, column: &'static str) -> rusqlite::Result<T> {
    column::number(row, at, Place::view(column))
}

/// The health that a column of the view, `table.column`, holds; none where it is NULL.
///
/// # Errors
/// When it holds a number that is no health.
pub fn health_at(row: &Row<'_>, at: usize, column: &'static str) -> rusqlite::Result<Option<Health>> {
    column::number_or_null(row, at, Place::view(column))
}

/// What a column of the view, `table.column`, says in a word.
///
/// # Errors
/// When nobody knows the word.
pub fn word_at<T: FromStr<Err: Display>>(
    row: &Row<'_>,
    at: usize,
    what: &'static str,
    column: &'static str,
) -> rusqlite::Result<T> {
    column::word(row, at, what, Place::view(column))
}

/// The number of a member whose kind has no health, in a column that may not be NULL.
const NO_HEALTH: i64 = -1;

/// How the health of a member is kept.
fn member_health(health: Option<Health>) -> i64 {
    health.map_or(NO_HEALTH, Stored::number)
}

/// The health of a member that a column of the view, `table.column`, holds.
///
/// # Errors
/// When it holds a number that is no health.
pub fn member_health_at(row: &Row<'_>, at: usize, column: &'static str) -> rusqlite::Result<Option<Health>> {
    if row.get::<_, i64>(at)? == NO_HEALTH { Ok(None) } else { health_at(row, at, column) }
}

/// How counts are kept in seven columns: from healthy to those that have no health.
fn counts_to_i64(counts: strandline_model::HealthCounts) -> [i64; 7] {
    let strandline_model::HealthCounts { healthy, suspended, progressing, missing, degraded, unknown, none } =
        counts;
    [healthy, suspended, progressing, missing, degraded, unknown, none]
        .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}

/// How many of something a column of the view, `table.column`, tells.
///
/// # Errors
/// When it holds no count.
pub fn count_at(row: &Row<'_>, at: usize, column: &'static str) -> rusqlite::Result<u64> {
    column::count(row, at, Place::view(column))
}

/// The columns that hold the counts of a table, as errors name them.
pub type CountColumns = [&'static str; 7];

macro_rules! count_columns {
    ($table:literal) => {
        [
            concat!($table, ".healthy"),
            concat!($table, ".suspended"),
            concat!($table, ".progressing"),
            concat!($table, ".missing"),
            concat!($table, ".degraded"),
            concat!($table, ".unknown"),
            concat!($table, ".no_health"),
        ]
    };
}

/// Where the counts of an environment over time stand.
pub const ENVIRONMENT_COUNTS: CountColumns = count_columns!("environment_health");

/// Where those of all environments at one moment stand.
pub const STRETCH_COUNTS: CountColumns = count_columns!("stretch_health");

/// The counts that these columns hold, from this one of a row on.
///
/// # Errors
/// When one of them is no count.
pub fn counts_at(
    row: &Row<'_>,
    first: usize,
    columns: &CountColumns,
) -> rusqlite::Result<strandline_model::HealthCounts> {
    let [healthy, suspended, progressing, missing, degraded, unknown, none] = columns;
    let count = |place: usize, column| count_at(row, first + place, column);
    Ok(strandline_model::HealthCounts {
        healthy: count(0, healthy)?,
        suspended: count(1, suspended)?,
        progressing: count(2, progressing)?,
        missing: count(3, missing)?,
        degraded: count(4, degraded)?,
        unknown: count(5, unknown)?,
        none: count(6, none)?,
    })
}
