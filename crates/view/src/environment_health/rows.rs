//! The rows of the health of environments, by environment and once more by time.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::columns::{ENVIRONMENT_COUNTS, MemberHealth, OPEN, read_counts, write_counts};
use super::super::context::Apply;
use super::super::segment::{Carried, SegmentTable, Segments};
use super::state::{EnvironmentStates, OpenRow, Unwritten};
use super::{Grace, HealthRow};
use strandline_sqlite::column::VIEW;

/// The same once more by time: a question about all environments at one time finds a row of each in few pages. Its only
/// owner is the log, and a segment is noted with what it took over.
const HEALTH_BY_TIME: SegmentTable = SegmentTable {
    name: "stretch_health",
    last: "SELECT s.from_offset AS start, s.taken AS first_count,
            (SELECT count(*) FROM stretch_health h WHERE h.stretch = s.from_offset) AS row_count
        FROM stretch s WHERE ?1 = 0 ORDER BY s.from_offset DESC LIMIT 1",
    open: "INSERT OR REPLACE INTO stretch_health (stretch, from_offset, to_offset, environment_id, state, since,
            grace_state, grace_since, grace_until,
            healthy, suspended, progressing, missing, degraded, unknown, no_health)
        VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    close: "UPDATE stretch_health SET to_offset = ?3 WHERE stretch = ?2 AND environment_id = ?5 AND to_offset = ?4",
    carry: "INSERT INTO stretch_health
        SELECT ?3, environment_id, from_offset, to_offset, state, since, grace_state, grace_since, grace_until,
            healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM stretch_health WHERE stretch = ?2 AND to_offset = ?4",
    carried: Carried::Unchanged { begin: "INSERT INTO stretch (from_offset, taken) VALUES (?3, ?5)", rows: 32 },
};

/// Who owns that.
const LOG: i64 = 0;

/// The row of an environment that holds at present.
pub(super) fn current(connection: &Connection, environment: i64) -> rusqlite::Result<Option<OpenRow>> {
    let sql = "SELECT from_offset, state, since, known, known_since, grace_state, grace_since, grace_until,
            healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM environment_health WHERE environment_id = ?1 AND to_offset = ?2 ORDER BY from_offset DESC LIMIT 1";
    let row = connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| {
        let grace = match (row.get("grace_since")?, row.get("grace_until")?) {
            (Some(since), Some(until)) => {
                Some(Grace { state: VIEW.get(row, "environment_health.grace_state")?, since, until })
            }
            _ => None,
        };
        let from = VIEW.get(row, "environment_health.from_offset")?;
        let row = HealthRow {
            state: VIEW.get(row, "environment_health.state")?,
            since: row.get("since")?,
            known: VIEW.get(row, "environment_health.known")?,
            known_since: row.get("known_since")?,
            grace,
            counts: read_counts(row, &ENVIRONMENT_COUNTS)?,
        };
        Ok(OpenRow { row, from, unwritten: None })
    });
    row.optional()
}

/// Lets a row hold from here on; the one before is closed.
pub(super) fn open(
    at: &mut Apply<'_>,
    environment: i64,
    row: HealthRow,
    moved: bool,
) -> rusqlite::Result<()> {
    if at.segments.is_full(at.now(), &HEALTH_BY_TIME, LOG)? {
        // What the next segment takes over is read from the table.
        write_open(at.connection, at.environments, at.segments, at.rules.id)?;
    }
    at.segments.reserve(at.now(), &HEALTH_BY_TIME, LOG)?;
    let unwritten = Some(Unwritten { observed_at: at.observed_at, moved });
    at.environments.get_mut(at.connection, environment)?.open =
        Some(OpenRow { row, from: at.offset, unwritten });
    Ok(())
}

/// Ends the row that holds.
pub(super) fn close(at: &mut Apply<'_>, environment: i64) -> rusqlite::Result<()> {
    let open = at.environments.get_mut(at.connection, environment)?.open.take();
    let Some(open) = open else { return Ok(()) };
    debug_assert!(open.from < at.offset, "an environment is settled once at an offset");
    if open.unwritten.is_some() {
        return insert(at.connection, at.segments, at.rules.id, environment, &open, at.offset.as_i64());
    }
    let sql = "UPDATE environment_health SET to_offset = ?3 WHERE environment_id = ?1 AND from_offset = ?2";
    let closed = at.connection.prepare_cached(sql)?.execute(params![environment, open.from, at.offset])?;
    debug_assert!(closed == 1, "a row that holds is in the view once it is written");
    at.segments.close(at.now(), &HEALTH_BY_TIME, LOG, &[&environment])
}

/// Writes counts and the rows that hold, as far as the view does not have them.
pub(in super::super) fn write(
    connection: &Connection,
    environments: &mut EnvironmentStates,
    segments: &mut Segments,
    rule_set: i64,
) -> rusqlite::Result<()> {
    write_open(connection, environments, segments, rule_set)?;
    write_counts_of_members(connection, environments)?;
    environments.written();
    Ok(())
}

/// Writes how many members there are, as far as the view has other numbers.
pub(in super::super) fn write_counts_of_members(
    connection: &Connection,
    environments: &mut EnvironmentStates,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO member_count (environment_id, kind_id, health, total, counted)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut statement = connection.prepare_cached(sql)?;
    for (environment, state) in environments.unwritten() {
        for ((kind, health), tally) in state.tallies.iter_mut().filter(|(_, tally)| tally.moved) {
            statement.execute(params![
                environment,
                kind,
                MemberHealth(*health),
                tally.total,
                tally.counted
            ])?;
            tally.moved = false;
        }
    }
    Ok(())
}

fn write_open(
    connection: &Connection,
    environments: &mut EnvironmentStates,
    segments: &mut Segments,
    rule_set: i64,
) -> rusqlite::Result<()> {
    for (environment, state) in environments.unwritten() {
        if let Some(open) = state.open.as_mut().filter(|open| open.unwritten.is_some()) {
            insert(connection, segments, rule_set, environment, open, OPEN)?;
            open.unwritten = None;
        }
    }
    Ok(())
}

/// Writes a row, by environment and by time.
fn insert(
    connection: &Connection,
    segments: &mut Segments,
    rule_set: i64,
    environment: i64,
    open: &OpenRow,
    to: i64,
) -> rusqlite::Result<()> {
    let OpenRow { row, from, unwritten: Some(Unwritten { observed_at, moved }) } = open else {
        return Ok(());
    };
    let sql =
        "INSERT OR REPLACE INTO environment_health (environment_id, from_offset, to_offset, observed_at,
            state, since, known, known_since, grace_state, grace_since, grace_until, moved, rule_set_id,
            healthy, suspended, progressing, missing, degraded, unknown, no_health)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    let HealthRow { state, since, known, known_since, grace, counts } = row;
    let grace_state = grace.and_then(|grace| grace.state);
    let (grace_since, grace_until) = grace.map(|grace| (grace.since, grace.until)).unzip();
    let [healthy, suspended, progressing, missing, degraded, unknown, no_health] = write_counts(*counts);
    connection.prepare_cached(sql)?.execute(params![
        environment,
        from,
        to,
        observed_at,
        state,
        since,
        known,
        known_since,
        grace_state,
        grace_since,
        grace_until,
        moved,
        rule_set,
        healthy,
        suspended,
        progressing,
        missing,
        degraded,
        unknown,
        no_health,
    ])?;
    let by_time = params![
        environment,
        state,
        since,
        grace_state,
        grace_since,
        grace_until,
        healthy,
        suspended,
        progressing,
        missing,
        degraded,
        unknown,
        no_health,
    ];
    segments.write(connection, &HEALTH_BY_TIME, LOG, (*from, to), by_time)
}
