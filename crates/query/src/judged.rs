//! What a version of a resource amounts to at a moment: a state that has lasted for too long is judged anew.

use rusqlite::Row;

use strandline_model::{Offset, Timestamp};
use strandline_protocol::LaterHealth;
use strandline_sqlite::column::VIEW;

/// SQL for a text of a version `v` that many have, `reason` or `rule`: by its number, or as it is.
macro_rules! word {
    ($column:literal) => {
        concat!(
            "iif(typeof(v.",
            $column,
            ") = 'integer', (SELECT text FROM word WHERE id = v.",
            $column,
            "), v.",
            $column,
            ")"
        )
    };
}
pub(super) use word;

/// SQL for what is said of a version `v` at `:at`: `judged!("health")`, and so for its `reason` and its `message`.
macro_rules! judged {
    ("reason") => {
        concat!("iif(v.later_offset <= :at, v.later_reason, ", $crate::judged::word!("reason"), ")")
    };
    ($column:literal) => {
        concat!("iif(v.later_offset <= :at, v.later_", $column, ", v.", $column, ")")
    };
}
pub(super) use judged;

/// SQL for since when a version `v` has had the health that it has at `:at`.
macro_rules! judged_since {
    () => {
        "iif(v.later_offset <= :at AND v.later_health IS NOT v.health, v.later_at, v.observed_at - v.lasted)"
    };
}
pub(super) use judged_since;

/// SQL for the columns that [`later`] reads of a version `v`.
macro_rules! later_columns {
    () => {
        "v.later_at, v.later_health, v.later_reason, v.later_message, v.later_offset, v.to_offset, :at"
    };
}
pub(super) use later_columns;

/// What a version becomes by itself, by the columns from this one on; where that has happened by `:at`, with its offset.
/// None where another state came first.
pub(super) fn later(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<LaterHealth>> {
    let Some(time) = row.get::<_, Option<i64>>(first)? else { return Ok(None) };
    let (end, at): (i64, i64) = (row.get(first + 5)?, row.get(first + 6)?);
    let offset = row.get::<_, Option<i64>>(first + 4)?.filter(|offset| *offset <= at);
    if offset.is_none() && end <= at {
        return Ok(None);
    }
    Ok(Some(LaterHealth {
        at: Timestamp::from_micros(time),
        health: VIEW.get_at(row, first + 1, "version.later_health")?,
        reason: row.get(first + 2)?,
        message: row.get(first + 3)?,
        offset: offset.map(Offset::from_i64),
    }))
}
