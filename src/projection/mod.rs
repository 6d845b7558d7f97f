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
mod owners;
mod projector;
mod prune;
mod reading;
mod regions;
mod resource_count;
mod resources;
mod selectors;
mod status;
mod stretch;

#[cfg(test)]
mod tests;

pub use build::{Build, build, remove_views};
pub use context::Touched;
pub use examine::examine;
pub use file::{ViewState, inspect, inspect_at_rest, is_current, open_at_rest, open_reader, path};
pub use members::{Members, members_ever};
pub use projector::{Projector, ProjectorError};
pub use prune::{LetGo, Pruning};
pub use status::ViewStatus;

use crate::edges::EdgeKind;
use crate::model::CoverageState;

/// The end of an interval that still holds.
pub const OPEN: i64 = i64::MAX;

/// How a state of coverage is kept in a column.
pub fn coverage_to_i64(state: CoverageState) -> i64 {
    match state {
        CoverageState::Watched => 0,
        CoverageState::Gap => 1,
        CoverageState::Excluded => 2,
    }
}

/// The state of coverage a column holds; an unknown number reads as a gap, never as something better.
pub fn coverage_from_i64(value: i64) -> CoverageState {
    let held = |state: &CoverageState| coverage_to_i64(*state) == value;
    CoverageState::ALL.into_iter().find(held).unwrap_or(CoverageState::Gap)
}

/// How a kind of edge is kept in a column: its place among all.
pub fn edge_kind_to_i64(kind: EdgeKind) -> i64 {
    kind as i64
}

/// The kind of edge a column holds; an unknown number reads as the one that says least.
pub fn edge_kind_from_i64(value: i64) -> EdgeKind {
    EdgeKind::ALL.into_iter().find(|kind| *kind as i64 == value).unwrap_or(EdgeKind::References)
}

/// How what happened is kept in a column: its place among all.
pub fn happening_to_i64(what: crate::model::Happening) -> i64 {
    what as i64
}

/// What happened by the word of a column; an unknown number reads as the one that says least.
pub fn happening_from_i64(value: i64) -> crate::model::Happening {
    use crate::model::Happening;
    Happening::ALL.into_iter().find(|what| *what as i64 == value).unwrap_or(Happening::Changed)
}

/// How a health is kept in a column: its place in the order of worsening.
pub fn health_to_i64(health: crate::model::Health) -> i64 {
    health as i64
}

/// How the health of a member is kept in a column that may not be NULL: -1 where its kind has none.
pub fn member_health_to_i64(health: Option<crate::model::Health>) -> i64 {
    health.map_or(-1, health_to_i64)
}

/// The health of a member that such a column holds.
pub fn member_health_from_i64(value: i64) -> Option<crate::model::Health> {
    (value >= 0).then(|| health_from_i64(value))
}

/// The health a column holds; an unknown number reads as Unknown, never as something better.
pub fn health_from_i64(value: i64) -> crate::model::Health {
    use crate::model::Health;
    Health::ALL.into_iter().find(|health| *health as i64 == value).unwrap_or(Health::Unknown)
}

/// How counts are kept in seven columns: from healthy to those that have no health.
fn counts_to_i64(counts: crate::model::HealthCounts) -> [i64; 7] {
    let crate::model::HealthCounts { healthy, suspended, progressing, missing, degraded, unknown, none } =
        counts;
    [healthy, suspended, progressing, missing, degraded, unknown, none]
        .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}

/// The counts that seven columns hold, from this one on.
///
/// # Errors
/// When one of them is no number.
pub fn counts_at(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<crate::model::HealthCounts> {
    let count = |place: usize| {
        Ok::<_, rusqlite::Error>(u64::try_from(row.get::<_, i64>(first + place)?).unwrap_or(0))
    };
    Ok(crate::model::HealthCounts {
        healthy: count(0)?,
        suspended: count(1)?,
        progressing: count(2)?,
        missing: count(3)?,
        degraded: count(4)?,
        unknown: count(5)?,
        none: count(6)?,
    })
}
