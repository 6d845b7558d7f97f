//! Rows that hold over intervals, kept together by the stretches of their owner.
//!
//! A question about an environment at a moment wants what it held then, and one that has been there for long has held a
//! thousand times as much. So the rows of an owner stand in stretches: one that has taken its share ends, and the next
//! takes over what holds then, as rows of its own. What holds at one moment stands beside each other with little else
//! among it, whether the moment is now or long ago, at the cost of half a row more for each that is written.
//!
//! Why: docs/decisions/0015-segments-keep-one-time-together.md.

use std::collections::HashMap;

use rusqlite::{ToSql, params};

use super::OPEN;
use super::context::Apply;

/// Rows that a stretch takes for each that it began with.
const ROWS_EACH: i64 = 2;

/// The most owners whose stretch is remembered.
const OWNERS_MAX: usize = 65_536;

/// A table of such rows, by the statements that write it: `?1` is the owner, `?2` its stretch, `?3` the offset, `?4` the
/// end of what is open, and the columns begin with `?5`.
pub(super) struct Intervals {
    name: &'static str,
    current: &'static str,
    open: &'static str,
    close: &'static str,
    erase: &'static str,
    carry: &'static str,
    end: &'static str,
    forget: &'static str,
}

macro_rules! intervals {
    ($table:literal, $owner:literal, $columns:literal, $values:literal, $key:literal) => {
        Intervals {
            name: $table,
            current: concat!(
                "SELECT stretch, count(*), sum(from_offset = stretch) FROM ",
                $table,
                " WHERE ",
                $owner,
                " = ?1 AND stretch = (SELECT max(stretch) FROM ",
                $table,
                " WHERE ",
                $owner,
                " = ?1)"
            ),
            open: concat!(
                "INSERT INTO ",
                $table,
                " (",
                $owner,
                ", stretch, from_offset, to_offset, ",
                $columns,
                ") VALUES (?1, ?2, ?3, ?4, ",
                $values,
                ")"
            ),
            close: concat!(
                "UPDATE ",
                $table,
                " SET to_offset = ?3 WHERE ",
                $owner,
                " = ?1 AND stretch = ?2 AND from_offset < ?3 AND to_offset = ?4 AND ",
                $key
            ),
            erase: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $owner,
                " = ?1 AND stretch = ?2 AND from_offset = ?3 AND to_offset = ?4 AND ",
                $key
            ),
            carry: concat!(
                "INSERT INTO ",
                $table,
                " (",
                $owner,
                ", stretch, from_offset, to_offset, ",
                $columns,
                ") SELECT ",
                $owner,
                ", ?3, ?3, to_offset, ",
                $columns,
                " FROM ",
                $table,
                " WHERE ",
                $owner,
                " = ?1 AND stretch = ?2 AND to_offset = ?4"
            ),
            end: concat!(
                "UPDATE ",
                $table,
                " SET to_offset = ?3 WHERE ",
                $owner,
                " = ?1 AND stretch = ?2 AND to_offset = ?4"
            ),
            forget: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $owner,
                " = ?1 AND stretch = ?2 AND from_offset = ?3"
            ),
        }
    };
}

/// What belongs to environments.
pub(super) const MEMBERSHIP: Intervals = intervals!(
    "membership",
    "environment_id",
    "resource_id, kind_id, owner_id, health, why, counted",
    "?5, ?6, ?7, ?8, ?9, ?10",
    "resource_id = ?5"
);

/// Links as one end declares them.
pub(super) const EDGE: Intervals = intervals!(
    "edge",
    "declared_by",
    "far_id, kind, outward",
    "?5, ?6, ?7",
    "far_id = ?5 AND kind = ?6 AND outward = ?7"
);

/// What selectors selected.
pub(super) const SELECTED: Intervals = intervals!(
    "selected",
    "declared_by",
    "resource_id, kind, outward",
    "?5, ?6, ?7",
    "resource_id = ?5 AND kind = ?6 AND outward = ?7"
);

/// The stretch of an owner that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The offset at which it began.
    start: i64,
    /// Rows that it still takes.
    room: i64,
}

impl Stretch {
    /// One that takes so many rows besides those for the ones that it began with.
    const fn new(start: i64, rows: i64, first: i64, besides: i64) -> Self {
        Stretch { start, room: besides + ROWS_EACH * first - (rows - first) }
    }

    /// With so many rows more that begin at an offset.
    const fn with(self, rows: i64, from_offset: i64) -> Self {
        let room = if from_offset == self.start { self.room + ROWS_EACH * rows } else { self.room - rows };
        Stretch { room, ..self }
    }
}

/// The stretches that go on, as far as they are remembered, by table and owner.
pub(super) type Stretches = HashMap<(&'static str, i64), Stretch>;

impl Intervals {
    /// Lets a row of an owner hold from here on.
    pub(super) fn open(
        &self,
        at: &mut Apply<'_>,
        owner: i64,
        columns: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        let now = at.offset.as_i64();
        let stretch = match self.current(at, owner)? {
            Some(stretch) if stretch.room > 0 || stretch.start == now => stretch,
            Some(full) => self.begin(at, owner, full)?,
            None => Stretch::new(now, 0, 0, at.sizes.stretch_rows),
        };
        self.run(at, self.open, (owner, stretch), columns)?;
        self.remember(at, owner, stretch.with(1, now));
        Ok(())
    }

    /// Ends the open row of an owner that has this key; one of this very offset was never to be seen.
    pub(super) fn close(&self, at: &mut Apply<'_>, owner: i64, key: &[&dyn ToSql]) -> rusqlite::Result<()> {
        let Some(stretch) = self.current(at, owner)? else { return Ok(()) };
        if self.run(at, self.close, (owner, stretch), key)? == 0 {
            let erased = self.run(at, self.erase, (owner, stretch), key)?;
            let erased = i64::try_from(erased).unwrap_or(0);
            self.remember(at, owner, stretch.with(-erased, at.offset.as_i64()));
        }
        Ok(())
    }

    /// The stretch of an owner that goes on; none where it has no row yet.
    fn current(&self, at: &mut Apply<'_>, owner: i64) -> rusqlite::Result<Option<Stretch>> {
        if let Some(stretch) = at.ids.stretches.get(&(self.name, owner)) {
            return Ok(Some(*stretch));
        }
        let besides = at.sizes.stretch_rows;
        let read = |row: &rusqlite::Row<'_>| {
            let start: Option<i64> = row.get(0)?;
            start.map(|start| Ok(Stretch::new(start, row.get(1)?, row.get(2)?, besides))).transpose()
        };
        let stretch = at.connection.prepare_cached(self.current)?.query_row([owner], read)?;
        if let Some(stretch) = stretch {
            self.remember(at, owner, stretch);
        }
        Ok(stretch)
    }

    /// Begins a stretch with what holds at the end of the last.
    fn begin(&self, at: &mut Apply<'_>, owner: i64, last: Stretch) -> rusqlite::Result<Stretch> {
        let now = at.offset.as_i64();
        let taken = self.run(at, self.carry, (owner, last), &[])?;
        self.run(at, self.end, (owner, last), &[])?;
        // What began with this very change begins with the stretch.
        at.connection.prepare_cached(self.forget)?.execute(params![owner, last.start, now])?;
        let taken = i64::try_from(taken).unwrap_or(0);
        Ok(Stretch::new(now, taken, taken, at.sizes.stretch_rows))
    }

    fn run(
        &self,
        at: &Apply<'_>,
        sql: &str,
        (owner, stretch): (i64, Stretch),
        columns: &[&dyn ToSql],
    ) -> rusqlite::Result<usize> {
        let now = at.offset.as_i64();
        let mut row: Vec<&dyn ToSql> = vec![&owner, &stretch.start, &now, &OPEN];
        row.extend(columns);
        at.connection.prepare_cached(sql)?.execute(row.as_slice())
    }

    fn remember(&self, at: &mut Apply<'_>, owner: i64, stretch: Stretch) {
        if at.ids.stretches.len() >= OWNERS_MAX {
            at.ids.stretches.clear();
        }
        at.ids.stretches.insert((self.name, owner), stretch);
    }
}
