//! Columns read by position, as long as queries read them so.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::Row;

use super::columns::{CountColumns, MemberHealth};
use strandline_model::{Health, HealthCounts, Stored};
use strandline_sqlite::column::{self, Place, VIEW};

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
    VIEW.get_at(row, at, column)
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

/// The health of a member that a column of the view, `table.column`, holds.
///
/// # Errors
/// When it holds a number that is no health.
pub fn member_health_at(row: &Row<'_>, at: usize, column: &'static str) -> rusqlite::Result<Option<Health>> {
    VIEW.get_at::<MemberHealth>(row, at, column).map(|health| health.0)
}

/// How many of something a column of the view, `table.column`, tells.
///
/// # Errors
/// When it holds no count.
pub fn count_at(row: &Row<'_>, at: usize, column: &'static str) -> rusqlite::Result<u64> {
    column::count(row, at, Place::view(column))
}

/// The counts that these columns hold, from this one of a row on.
///
/// # Errors
/// When one of them is no count.
pub fn counts_at(row: &Row<'_>, first: usize, columns: &CountColumns) -> rusqlite::Result<HealthCounts> {
    let [healthy, suspended, progressing, missing, degraded, unknown, none] = columns;
    let count = |place: usize, column| count_at(row, first + place, column);
    Ok(HealthCounts {
        healthy: count(0, healthy)?,
        suspended: count(1, suspended)?,
        progressing: count(2, progressing)?,
        missing: count(3, missing)?,
        degraded: count(4, degraded)?,
        unknown: count(5, unknown)?,
        none: count(6, none)?,
    })
}
