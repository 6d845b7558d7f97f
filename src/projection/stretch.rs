//! The health of environments once more, kept together by stretches of the log.
//!
//! A question about all environments at one moment has to find a row of each. Where rows stand by environment, each is
//! in a page of its own; within a stretch they stand in few pages, at its cost of taking over at its start what holds
//! then. A stretch lasts for some rows of each environment, so that this adds less than half to what is written.

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use super::environment_health::Row;
use super::{OPEN, health_to_i64};

/// Rows that a stretch takes for each that it took over.
const ROWS_EACH: i64 = 2;

/// Rows that it takes besides, so that few environments make no short stretches.
const ROWS_BESIDES: i64 = 32;

/// The stretch that goes on.
struct Current {
    from_offset: i64,
    room: i64,
}

fn current(at: &Apply<'_>) -> rusqlite::Result<Option<Current>> {
    let sql = "SELECT from_offset, room FROM stretch ORDER BY from_offset DESC LIMIT 1";
    let found = at
        .connection
        .prepare_cached(sql)?
        .query_row([], |row| Ok(Current { from_offset: row.get(0)?, room: row.get(1)? }));
    found.optional()
}

/// Ends what holds of an environment.
pub(super) fn close(at: &Apply<'_>, environment: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE stretch_health SET to_offset = ?2 WHERE environment_id = ?1 AND to_offset = ?3
        AND stretch = (SELECT max(from_offset) FROM stretch)";
    at.connection.prepare_cached(sql)?.execute(params![environment, at.offset.as_i64(), OPEN])?;
    Ok(())
}

/// Takes in what holds of an environment from here on, after what held before was closed.
pub(super) fn open(at: &Apply<'_>, environment: i64, row: &Row) -> rusqlite::Result<()> {
    let stretch = match current(at)? {
        // A stretch begins with an offset, and the offset with it.
        Some(current) if current.room > 0 || current.from_offset == at.offset.as_i64() => current.from_offset,
        last => begin(at, last)?,
    };
    let sql = "INSERT OR REPLACE INTO stretch_health (stretch, environment_id, from_offset, to_offset, state, since,
        grace_state, grace_since, grace_until, healthy, suspended, progressing, missing, degraded, unknown, no_health)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let (counts, number) = (row.counts, |count: u64| i64::try_from(count).unwrap_or(i64::MAX));
    at.connection.prepare_cached(sql)?.execute(params![
        stretch,
        environment,
        at.offset.as_i64(),
        OPEN,
        row.state.map(health_to_i64),
        row.since.as_micros(),
        row.grace.and_then(|grace| grace.state).map(health_to_i64),
        row.grace.map(|grace| grace.since.as_micros()),
        row.grace.map(|grace| grace.until.as_micros()),
        number(counts.healthy),
        number(counts.suspended),
        number(counts.progressing),
        number(counts.missing),
        number(counts.degraded),
        number(counts.unknown),
        number(counts.none),
    ])?;
    let taken = "UPDATE stretch SET room = room - 1 WHERE from_offset = ?1";
    at.connection.prepare_cached(taken)?.execute([stretch])?;
    Ok(())
}

/// Begins a stretch with what holds at the end of the last.
fn begin(at: &Apply<'_>, last: Option<Current>) -> rusqlite::Result<i64> {
    let from_offset = at.offset.as_i64();
    let sql = "INSERT INTO stretch_health SELECT ?1, environment_id, from_offset, to_offset, state, since, grace_state,
        grace_since, grace_until, healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM stretch_health WHERE stretch = ?2 AND to_offset = ?3";
    let last = last.map(|last| last.from_offset);
    let taken = at.connection.prepare_cached(sql)?.execute(params![from_offset, last, OPEN])?;
    let room = ROWS_BESIDES + ROWS_EACH * i64::try_from(taken).unwrap_or(0);
    let sql = "INSERT INTO stretch (from_offset, room) VALUES (?1, ?2)";
    at.connection.prepare_cached(sql)?.execute([from_offset, room])?;
    Ok(from_offset)
}
