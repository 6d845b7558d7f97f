//! Rows of the catalog that hold over an interval.

use rusqlite::{OptionalExtension, ToSql};

use super::super::columns::OPEN;
use super::super::context::Apply;

/// A table of which each key has one row at a time, by the statements that write it: `?1` is the key, `?2` this offset,
/// `?3` the end of what holds, and the columns begin with `?4`.
pub(super) struct Table {
    /// Whether the row that holds is like this one.
    pub(super) is_same: &'static str,
    /// Ends it.
    pub(super) close: &'static str,
    /// Adds a row. What was settled before within the same change is replaced: it was never to be seen.
    pub(super) open: &'static str,
}

impl Table {
    /// Puts a row, or none, in the place of the one that holds; returns whether that differs.
    pub(super) fn replace(
        &self,
        at: &Apply<'_>,
        key: &dyn ToSql,
        wanted: Option<&[&dyn ToSql]>,
    ) -> rusqlite::Result<bool> {
        let interval: [&dyn ToSql; 3] = [key, &at.offset, &OPEN];
        let row = wanted.map(|columns| [&interval, columns].concat());
        if let Some(row) = &row {
            let mut is_same = at.connection.prepare_cached(self.is_same)?;
            if is_same.query_row(row.as_slice(), |row| row.get(0)).optional()? == Some(true) {
                return Ok(false);
            }
        }
        let closed = at.connection.prepare_cached(self.close)?.execute(interval)?;
        debug_assert!(closed <= 1, "one row is open for a key: {}", self.close);
        match row {
            Some(row) => {
                at.connection.prepare_cached(self.open)?.execute(row.as_slice())?;
            }
            None if closed == 0 => return Ok(false),
            None => {}
        }
        let moved = "INSERT OR REPLACE INTO catalog_state (id, since) VALUES (1, ?1)";
        at.connection.prepare_cached(moved)?.execute([at.offset])?;
        Ok(true)
    }
}

/// A number as a column keeps it; NULL for none, and for one that is too large to be true.
pub(super) fn number(value: Option<u64>) -> Option<i64> {
    value.and_then(|value| i64::try_from(value).ok())
}
