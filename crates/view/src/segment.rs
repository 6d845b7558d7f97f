//! Rows that hold over intervals, kept together by segments of their owner.
//!
//! A query for an environment at a time needs its rows of that time, and one that has existed for long has a thousand
//! times as many. So the rows of an owner are written in segments: one that is full ends, and the next takes over what is
//! open then. The rows of one time lie beside each other with few others among them, whether the time is now or long ago,
//! at the cost of half a row more for each that is written.
//!
//! The health of all environments has one owner, the log: ordered by environment, each row of one time would be in a page
//! of its own. Its segments take rows over unchanged, so that a row has the offset at which it began, however long ago;
//! members and links are only asked for what is open, and theirs begin anew with the segment. In SQL a segment is called
//! stretch.
//!
//! Why: docs/decisions/0015-segments-keep-one-time-together.md.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, ToSql};

use super::columns::OPEN;
use strandline_model::Offset;

/// What room a segment has, and what takes it: a row, and once more its end. Rows that ended are what makes others be read in
/// vain; what only grows is cut seldom, since all of it is written once more.
#[derive(Clone, Copy)]
struct Room {
    /// For each row with which it began.
    each: i64,
    /// Besides, for each row that a segment is to take at least.
    besides: i64,
    /// That the end of a row takes, beside the one that the row took.
    end: i64,
}

/// The most owners whose segment is remembered from one transaction to the next.
const OWNERS_MAX: usize = 65_536;

/// A table of such rows, by the statements that write it: `?1` is the owner, `?2` the start of its segment, `?3` this
/// offset, `?4` the end of what is open, and the columns begin with `?5`.
pub(super) struct SegmentTable {
    pub(super) name: &'static str,
    /// Reads the last segment of `?1`: its `start`, how many rows it took (`row_count`), how many of them first
    /// (`first_count`), and how many have ended (`ended_count`), where that matters.
    pub(super) last: &'static str,
    /// Adds a row; empty where several rows are written at a time.
    pub(super) open: &'static str,
    /// Ends an open row, given its key.
    pub(super) close: &'static str,
    /// Takes over what is open.
    pub(super) carry: &'static str,
    pub(super) carried: Carried,
}

/// How a segment has what it takes over from the last.
pub(super) enum Carried {
    /// As rows that begin with it.
    Anew {
        /// Ends the rows of the last segment where the new one begins.
        end: &'static str,
        /// Deletes those that began with the new segment: it has them.
        forget: &'static str,
        /// Deletes an open row that began at this very offset, given its key.
        erase: &'static str,
    },
    /// As rows that are the same in both.
    Unchanged {
        /// Writes the segment, with the number of rows that it took over: they look like any others.
        begin: &'static str,
        /// Rows that it takes at least, so that few environments make no short segments.
        rows: i64,
    },
}

/// The last segment of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// The offset at which it began.
    start: i64,
    /// Rows that it still takes.
    room: i64,
}

impl Segment {
    /// One that is to take so many rows at least.
    const fn new(start: i64, [rows, first, ended]: [i64; 3], room: Room, least: i64) -> Self {
        let taken = rows - first + room.end * ended;
        Segment { start, room: room.besides * least + room.each * first - taken }
    }

    /// Whether the next row begins another. A segment begins with an offset, and the offset with it.
    fn is_full(&self, offset: Offset) -> bool {
        self.room <= 0 && self.start != offset.as_i64()
    }
}

/// Writes rows into segments, and remembers the last ones.
#[derive(Debug)]
pub(super) struct Segments {
    /// Rows that a segment of one environment or resource takes at least.
    rows: i64,
    last_segments: HashMap<(&'static str, i64), Segment>,
}

/// Where rows are written, and from which offset on they hold.
#[derive(Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) connection: &'a Connection,
    pub(super) offset: Offset,
}

impl Segments {
    pub(super) fn new(rows: i64) -> Self {
        Segments { rows, last_segments: HashMap::new() }
    }

    /// Forgets what may not have been written.
    pub(super) fn clear(&mut self) {
        self.last_segments.clear();
    }

    /// Forgets what is too much to be remembered, once all rows are written for which there is room.
    pub(super) fn trim(&mut self) {
        if self.last_segments.len() > OWNERS_MAX {
            self.last_segments.clear();
        }
    }

    /// Lets a row of an owner hold from here on.
    pub(super) fn open(
        &mut self,
        now: Now<'_>,
        table: &SegmentTable,
        owner: i64,
        columns: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        let segment = self.with_room(now, table, owner)?;
        execute(now.connection, table.open, (owner, segment), (now.offset, OPEN), columns)?;
        Ok(())
    }

    /// Whether the next row of an owner begins a segment.
    pub(super) fn is_full(
        &mut self,
        now: Now<'_>,
        table: &SegmentTable,
        owner: i64,
    ) -> rusqlite::Result<bool> {
        let last = self.last(now.connection, table, owner)?;
        Ok(last.is_none_or(|last| last.is_full(now.offset)))
    }

    /// Makes room for a row that holds from here on. It is written before the next segment begins, which takes it over.
    /// Returns where its segment began.
    pub(super) fn reserve(
        &mut self,
        now: Now<'_>,
        table: &SegmentTable,
        owner: i64,
    ) -> rusqlite::Result<i64> {
        Ok(self.with_room(now, table, owner)?.start)
    }

    /// The segment of a row that holds from here on, which has room for it.
    fn with_room(&mut self, now: Now<'_>, table: &SegmentTable, owner: i64) -> rusqlite::Result<Segment> {
        let mut segment = match self.last(now.connection, table, owner)? {
            Some(last) if !last.is_full(now.offset) => last,
            last => self.begin(now, table, owner, last)?,
        };
        segment.room += table.room_of_a_row(segment, now.offset.as_i64());
        debug_assert!(segment.room >= 0, "a segment of {} takes more than it has room for", table.name);
        self.remember(table, owner, segment);
        Ok(segment)
    }

    /// Where the last segment of an owner began, which has room for a row that is written now.
    pub(super) fn start(
        &mut self,
        connection: &Connection,
        table: &SegmentTable,
        owner: i64,
    ) -> rusqlite::Result<Option<i64>> {
        let segment = self.last(connection, table, owner)?;
        debug_assert!(segment.is_some(), "a row of {} is written where it has room", table.name);
        Ok(segment.map(|segment| segment.start))
    }

    /// Ends the open row of an owner that has this key; one of this very offset was never to be seen.
    pub(super) fn close(
        &mut self,
        now: Now<'_>,
        table: &SegmentTable,
        owner: i64,
        key: &[&dyn ToSql],
    ) -> rusqlite::Result<()> {
        let Some(mut segment) = self.last(now.connection, table, owner)? else { return Ok(()) };
        let closed = now.execute(table.close, (owner, segment), key)?;
        debug_assert!(closed <= 1, "one row of {} is open for a key, not {closed}", table.name);
        let Carried::Anew { erase, .. } = table.carried else { return Ok(()) };
        if closed == 1 {
            segment.room -= table.carried.room().end;
        } else {
            let erased = now.execute(erase, (owner, segment), key)?;
            debug_assert!(erased <= 1, "one row of {} is open for a key, not {erased}", table.name);
            if erased == 0 {
                return Ok(());
            }
            segment.room -= table.room_of_a_row(segment, now.offset.as_i64());
        }
        self.remember(table, owner, segment);
        Ok(())
    }

    /// Begins the first segment of an owner that is known to have no row yet, so that none is looked for.
    pub(super) fn begin_first(
        &mut self,
        now: Now<'_>,
        table: &SegmentTable,
        owner: i64,
    ) -> rusqlite::Result<()> {
        if cfg!(debug_assertions) {
            assert_eq!(self.last(now.connection, table, owner)?, None, "{} has no segment yet", table.name);
        }
        let segment = self.begin(now, table, owner, None)?;
        self.remember(table, owner, segment);
        Ok(())
    }

    /// Reads the last segment of an owner; none where it has no row yet.
    fn last(
        &mut self,
        connection: &Connection,
        table: &SegmentTable,
        owner: i64,
    ) -> rusqlite::Result<Option<Segment>> {
        if let Some(segment) = self.last_segments.get(&(table.name, owner)) {
            return Ok(Some(*segment));
        }
        let read = |row: &rusqlite::Row<'_>| {
            let counts = [row.get("row_count")?, row.get("first_count")?, row.get("ended_count")?];
            Ok(Segment::new(row.get("start")?, counts, table.carried.room(), self.rows_at_least(table)))
        };
        let last = connection.prepare_cached(table.last)?.query_row([owner], read).optional()?;
        if let Some(segment) = last {
            self.remember(table, owner, segment);
        }
        Ok(last)
    }

    /// Begins a segment with what holds at the end of the last.
    fn begin(
        &self,
        now: Now<'_>,
        table: &SegmentTable,
        owner: i64,
        last: Option<Segment>,
    ) -> rusqlite::Result<Segment> {
        let start = now.offset.as_i64();
        let taken = match last {
            Some(last) => now.execute(table.carry, (owner, last), &[])?,
            None => 0,
        };
        let taken = i64::try_from(taken).unwrap_or(i64::MAX);
        let room = table.carried.room();
        let segment = Segment::new(start, [taken, taken, 0], room, self.rows_at_least(table));
        match (&table.carried, last) {
            (Carried::Anew { end, forget, .. }, Some(last)) => {
                now.execute(end, (owner, last), &[])?;
                now.execute(forget, (owner, last), &[])?;
            }
            (Carried::Anew { .. }, None) => {}
            (Carried::Unchanged { begin, .. }, _) => {
                now.execute(begin, (owner, segment), &[&taken])?;
            }
        }
        Ok(segment)
    }

    const fn rows_at_least(&self, table: &SegmentTable) -> i64 {
        match table.carried {
            Carried::Anew { .. } => self.rows,
            Carried::Unchanged { rows, .. } => rows,
        }
    }

    fn remember(&mut self, table: &SegmentTable, owner: i64, segment: Segment) {
        self.last_segments.insert((table.name, owner), segment);
    }
}

impl SegmentTable {
    /// What a row that begins at an offset adds to the room of its segment, which is less than nothing but for rows that
    /// begin with it.
    const fn room_of_a_row(&self, segment: Segment, offset: i64) -> i64 {
        match self.carried {
            Carried::Anew { .. } if offset == segment.start => self.carried.room().each,
            _ => -1,
        }
    }
}

impl Carried {
    const fn room(&self) -> Room {
        match self {
            Carried::Anew { .. } => Room { each: 8, besides: 4, end: 3 },
            // Here a row begins where another ends.
            Carried::Unchanged { .. } => Room { each: 2, besides: 1, end: 0 },
        }
    }
}

impl Now<'_> {
    fn execute(self, sql: &str, of: (i64, Segment), columns: &[&dyn ToSql]) -> rusqlite::Result<usize> {
        execute(self.connection, sql, of, (self.offset, OPEN), columns)
    }
}

fn execute(
    connection: &Connection,
    sql: &str,
    (owner, segment): (i64, Segment),
    (from, to): (Offset, i64),
    columns: &[&dyn ToSql],
) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    // What ends or forgets need not name the last of these.
    let first: [&dyn ToSql; 4] = [&owner, &segment.start, &from, &to];
    let count = statement.parameter_count();
    debug_assert!(
        columns.is_empty() || count == first.len() + columns.len(),
        "each column has its place in {sql}"
    );
    for (place, value) in (1..=count).zip(first.into_iter().chain(columns.iter().copied())) {
        statement.raw_bind_parameter(place, value)?;
    }
    statement.raw_execute()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const ANEW: SegmentTable = SegmentTable {
        name: "anew",
        last: "SELECT stretch AS start, count(*) AS row_count, sum(from_offset = stretch) AS first_count,
                sum(to_offset < 140737488355327) AS ended_count FROM anew
            WHERE owner = ?1 AND stretch = (SELECT max(stretch) FROM anew WHERE owner = ?1) GROUP BY stretch",
        open: "INSERT INTO anew (owner, stretch, from_offset, to_offset, key) VALUES (?1, ?2, ?3, ?4, ?5)",
        close: "UPDATE anew SET to_offset = ?3
            WHERE owner = ?1 AND stretch = ?2 AND from_offset < ?3 AND to_offset = ?4 AND key = ?5",
        carry: "INSERT INTO anew (owner, stretch, from_offset, to_offset, key)
            SELECT owner, ?3, ?3, to_offset, key FROM anew WHERE owner = ?1 AND stretch = ?2 AND to_offset = ?4",
        carried: Carried::Anew {
            end: "UPDATE anew SET to_offset = ?3 WHERE owner = ?1 AND stretch = ?2 AND to_offset = ?4",
            forget: "DELETE FROM anew WHERE owner = ?1 AND stretch = ?2 AND from_offset = ?3",
            erase: "DELETE FROM anew
                WHERE owner = ?1 AND stretch = ?2 AND from_offset = ?3 AND to_offset = ?4 AND key = ?5",
        },
    };

    const UNCHANGED: SegmentTable = SegmentTable {
        name: "unchanged",
        last: "SELECT s.start, s.taken AS first_count, 0 AS ended_count,
                (SELECT count(*) FROM unchanged WHERE stretch = s.start) AS row_count
            FROM segment s WHERE ?1 = 0 ORDER BY s.start DESC LIMIT 1",
        open: "INSERT OR REPLACE INTO unchanged (stretch, from_offset, to_offset, key) VALUES (?2, ?3, ?4, ?5)",
        close: "UPDATE unchanged SET to_offset = ?3 WHERE stretch = ?2 AND key = ?5 AND to_offset = ?4",
        carry: "INSERT INTO unchanged SELECT ?3, from_offset, to_offset, key FROM unchanged
            WHERE stretch = ?2 AND to_offset = ?4",
        carried: Carried::Unchanged { begin: "INSERT INTO segment (start, taken) VALUES (?3, ?5)", rows: 3 },
    };

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let tables = "CREATE TABLE anew (owner INTEGER, stretch INTEGER, from_offset INTEGER, to_offset INTEGER, key INTEGER);
            CREATE TABLE unchanged (stretch INTEGER, from_offset INTEGER, to_offset INTEGER, key INTEGER,
                PRIMARY KEY (stretch, key, from_offset));
            CREATE TABLE segment (start INTEGER, taken INTEGER)";
        connection.execute_batch(tables).unwrap();
        connection
    }

    /// What a table holds at an offset, by its segment of that time.
    fn keys(connection: &Connection, table: &str, offset: i64) -> Vec<i64> {
        let sql = format!(
            "SELECT key FROM {table} WHERE stretch = (SELECT max(stretch) FROM {table} WHERE stretch <= ?1)
                AND from_offset <= ?1 AND to_offset > ?1 ORDER BY key"
        );
        let mut statement = connection.prepare(&sql).unwrap();
        statement.query_map([offset], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn segments_hold_what_was_open_at_each_offset_and_are_found_again() {
        for table in [&ANEW, &UNCHANGED] {
            let connection = database();
            let mut segments = Segments::new(3);
            let mut wanted: Vec<Vec<i64>> = Vec::new();
            for offset in 1..=40 {
                let now = Now { connection: &connection, offset: Offset::new(offset) };
                let key = i64::try_from(offset % 4).unwrap();
                let remembered = segments.last(&connection, table, 0).unwrap();
                segments.clear();
                assert_eq!(
                    segments.last(&connection, table, 0).unwrap(),
                    remembered,
                    "{} at {offset}",
                    table.name
                );
                let mut open = wanted.last().cloned().unwrap_or_default();
                if let Some(at) = open.iter().position(|open| *open == key) {
                    segments.close(now, table, 0, &[&key]).unwrap();
                    open.remove(at);
                } else {
                    segments.open(now, table, 0, &[&key]).unwrap();
                    open.push(key);
                    open.sort_unstable();
                }
                wanted.push(open);
            }
            for (offset, wanted) in (1..).zip(&wanted) {
                assert_eq!(&keys(&connection, table.name, offset), wanted, "{} at {offset}", table.name);
            }
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "one row of anew is open for a key, not 2")]
    fn a_key_with_two_open_rows_is_noticed() {
        let connection = database();
        let mut segments = Segments::new(3);
        let at = |offset| Now { connection: &connection, offset: Offset::new(offset) };
        segments.open(at(1), &ANEW, 0, &[&7]).unwrap();
        segments.open(at(2), &ANEW, 0, &[&7]).unwrap();
        segments.close(at(3), &ANEW, 0, &[&7]).unwrap();
    }
}
