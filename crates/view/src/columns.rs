//! What columns of several tables have in common.

use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};

use strandline_model::{Health, HealthCounts, Stored};
use strandline_sqlite::column::{Count, VIEW};

/// The end of an interval that is open: the largest number that SQLite writes in six bytes, and beyond any offset. It
/// is in most rows, and in their indexes.
pub const OPEN: i64 = (1 << 47) - 1;

/// The health of a member, in columns of a primary key, which may not be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberHealth(pub Option<Health>);

impl MemberHealth {
    /// The number of a member whose kind has no health.
    pub(super) const NONE: i64 = -1;
}

impl ToSql for MemberHealth {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.map_or(Self::NONE, Stored::number).into())
    }
}

impl FromSql for MemberHealth {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        if value.as_i64()? == Self::NONE {
            return Ok(MemberHealth(None));
        }
        Health::column_result(value).map(Some).map(MemberHealth)
    }
}

/// The columns that keep counts by health, from healthy to those that have no health.
pub type CountColumns = [&'static str; 7];

/// Those of environments.
pub const COUNTS: CountColumns = [
    "stretch_health.healthy",
    "stretch_health.suspended",
    "stretch_health.progressing",
    "stretch_health.missing",
    "stretch_health.degraded",
    "stretch_health.unknown",
    "stretch_health.no_health",
];

/// Reads counts by health.
///
/// # Errors
/// When a column is missing or holds no count.
pub fn read_counts(row: &Row<'_>, columns: &CountColumns) -> rusqlite::Result<HealthCounts> {
    counts(columns, |_, column| VIEW.get(row, column))
}

/// The same from this index of a row on, for loops over many rows.
///
/// # Errors
/// As for [`read_counts`].
pub fn read_counts_at(row: &Row<'_>, first: usize, columns: &CountColumns) -> rusqlite::Result<HealthCounts> {
    counts(columns, |place, column| VIEW.get_at(row, first + place, column))
}

fn counts(
    columns: &CountColumns,
    read: impl Fn(usize, &'static str) -> rusqlite::Result<Count>,
) -> rusqlite::Result<HealthCounts> {
    let [healthy, suspended, progressing, missing, degraded, unknown, none] = columns;
    Ok(HealthCounts {
        healthy: read(0, healthy)?.0,
        suspended: read(1, suspended)?.0,
        progressing: read(2, progressing)?.0,
        missing: read(3, missing)?.0,
        degraded: read(4, degraded)?.0,
        unknown: read(5, unknown)?.0,
        none: read(6, none)?.0,
    })
}

/// Counts by health, as these columns take them.
pub(super) fn write_counts(counts: HealthCounts) -> [Count; 7] {
    let HealthCounts { healthy, suspended, progressing, missing, degraded, unknown, none } = counts;
    [healthy, suspended, progressing, missing, degraded, unknown, none].map(Count)
}
