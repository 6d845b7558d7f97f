//! The health of environments once more, kept together by stretches of the log.
//!
//! A question about all environments at one moment has to find a row of each. Where rows stand by environment, each is
//! in a page of its own; within a stretch they stand in few pages, at its cost of taking over at its start what holds
//! then. A stretch lasts for some rows of each environment, so that this adds less than half to what is written.
//!
//! Why: docs/decisions/0015-segments-keep-one-time-together.md.

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use super::environment_health::Row;
use super::{OPEN, counts_to_i64};
use strandline_model::Stored;

/// Rows that a stretch takes for each that it took over.
const ROWS_EACH: i64 = 2;

/// Rows that it takes besides, so that few environments make no short stretches.
const ROWS_BESIDES: i64 = 32;

/// The stretch that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    from_offset: i64,
    /// Rows that it still takes.
    room: i64,
}

/// The stretch that goes on, which the view's writer remembers: each change of health asks for it.
fn current(at: &mut Apply<'_>) -> rusqlite::Result<Option<Current>> {
    if at.ids.stretch.is_none() {
        let sql = "SELECT s.from_offset, s.taken,
                (SELECT count(*) FROM stretch_health h WHERE h.stretch = s.from_offset)
            FROM stretch s ORDER BY s.from_offset DESC LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| {
            let (taken, held): (i64, i64) = (row.get(1)?, row.get(2)?);
            Ok(Current { from_offset: row.get(0)?, room: room(taken) - (held - taken) })
        };
        at.ids.stretch = at.connection.prepare_cached(sql)?.query_row([], read).optional()?;
    }
    Ok(at.ids.stretch)
}

/// How many rows a stretch takes that took over so many.
const fn room(taken: i64) -> i64 {
    ROWS_BESIDES + ROWS_EACH * taken
}

/// Ends what holds of an environment.
pub(super) fn close(at: &mut Apply<'_>, environment: i64) -> rusqlite::Result<()> {
    let Some(Current { from_offset, .. }) = current(at)? else { return Ok(()) };
    let sql = "UPDATE stretch_health SET to_offset = ?3 WHERE stretch = ?1 AND environment_id = ?2 AND to_offset = ?4";
    let row = params![from_offset, environment, at.offset.as_i64(), OPEN];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// Takes in what holds of an environment from here on, after what held before was closed.
pub(super) fn open(at: &mut Apply<'_>, environment: i64, row: &Row) -> rusqlite::Result<()> {
    let stretch = match current(at)? {
        // A stretch begins with an offset, and the offset with it.
        Some(current) if current.room > 0 || current.from_offset == at.offset.as_i64() => current,
        last => begin(at, last)?,
    };
    at.ids.stretch = Some(Current { room: stretch.room - 1, ..stretch });
    let sql = "INSERT OR REPLACE INTO stretch_health (stretch, environment_id, from_offset, to_offset, state, since,
        grace_state, grace_since, grace_until, healthy, suspended, progressing, missing, degraded, unknown, no_health)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let [healthy, suspended, progressing, missing, degraded, unknown, no_health] = counts_to_i64(row.counts);
    at.connection.prepare_cached(sql)?.execute(params![
        stretch.from_offset,
        environment,
        at.offset.as_i64(),
        OPEN,
        row.state.map(Stored::number),
        row.since.as_micros(),
        row.grace.and_then(|grace| grace.state).map(Stored::number),
        row.grace.map(|grace| grace.since.as_micros()),
        row.grace.map(|grace| grace.until.as_micros()),
        healthy,
        suspended,
        progressing,
        missing,
        degraded,
        unknown,
        no_health,
    ])?;
    Ok(())
}

/// Begins a stretch with what holds at the end of the last.
fn begin(at: &Apply<'_>, last: Option<Current>) -> rusqlite::Result<Current> {
    let from_offset = at.offset.as_i64();
    let sql = "INSERT INTO stretch_health SELECT ?1, environment_id, from_offset, to_offset, state, since, grace_state,
        grace_since, grace_until, healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM stretch_health WHERE stretch = ?2 AND to_offset = ?3";
    let last = last.map(|last| last.from_offset);
    let taken = at.connection.prepare_cached(sql)?.execute(params![from_offset, last, OPEN])?;
    let taken = i64::try_from(taken).unwrap_or(0);
    let sql = "INSERT INTO stretch (from_offset, taken) VALUES (?1, ?2)";
    at.connection.prepare_cached(sql)?.execute([from_offset, taken])?;
    Ok(Current { from_offset, room: room(taken) })
}
