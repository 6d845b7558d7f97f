//! The rows of the health of environments: what holds at each offset, by time, and what showed, by environment.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::columns::{COUNTS, MemberHealth, OPEN, read_counts, write_counts};
use super::super::context::Apply;
use super::super::segment::{Carried, SegmentTable, Segments};
use super::super::several::Several;
use super::state::{EnvironmentStates, OpenRow, UnwrittenMove};
use super::{Grace, HealthRow};
use strandline_model::{Stored, Timestamp};
use strandline_sqlite::column::{Count, VIEW};

/// What holds, by time: a question about all environments at one time finds a row of each in few pages. Its only owner is
/// the log, and a segment is noted with what it took over.
const HEALTH_BY_TIME: SegmentTable = SegmentTable {
    name: "stretch_health",
    last: "SELECT s.from_offset AS start, s.taken AS first_count, 0 AS ended_count,
            (SELECT count(*) FROM stretch_health h WHERE h.stretch = s.from_offset) AS row_count
        FROM stretch s WHERE ?1 = 0 ORDER BY s.from_offset DESC LIMIT 1",
    open: "",
    close: "UPDATE stretch_health SET to_offset = ?3 WHERE stretch = ?2 AND environment_id = ?5 AND to_offset = ?4",
    carry: "INSERT INTO stretch_health
        SELECT ?3, environment_id, from_offset, to_offset, state, since, known, known_after,
            grace_state, grace_since, grace_until, rule_set_id,
            healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM stretch_health WHERE stretch = ?2 AND to_offset = ?4",
    carried: Carried::Unchanged {
        begin: "INSERT INTO stretch (from_offset, taken) VALUES (?3, ?5)",
        rows: 32,
    },
};

/// Who owns that.
const LOG: i64 = 0;

/// Its columns, as a row has them.
const COLUMNS: usize = 19;
pub(super) type Columns = [Option<i64>; COLUMNS];

/// Its rows.
static HEALTH: Several<COLUMNS> = Several::new(
    "INSERT OR REPLACE INTO stretch_health (stretch, from_offset, to_offset, environment_id, state, since,
        known, known_after, grace_state, grace_since, grace_until, rule_set_id,
        healthy, suspended, progressing, missing, degraded, unknown, no_health)",
);

/// Rows that have ended and are not written yet, at most.
const ENDED_MAX: usize = 1_024;

/// The newest row of the environment `?1` that `$from` finds, which ends with the order of segments.
macro_rules! select_row {
    ($from:literal) => {
        concat!(
            "SELECT h.from_offset, h.to_offset, state, since, known, since + known_after AS known_since,
                grace_state, grace_since, grace_until,
                healthy, suspended, progressing, missing, degraded, unknown, no_health
            FROM ",
            $from,
            " DESC, h.from_offset DESC LIMIT 1"
        )
    };
}

/// The row of an environment that holds at present.
pub(super) fn current(connection: &Connection, environment: i64) -> rusqlite::Result<Option<OpenRow>> {
    let sql = select_row!(
        "stretch_health h WHERE h.stretch = (SELECT max(from_offset) FROM stretch) AND h.environment_id = ?1
            AND h.to_offset = ?2 ORDER BY h.stretch"
    );
    read(connection, sql, environment, OPEN)
}

/// The last row by which the health was not known since a time, be it of an earlier segment; none where the environment was
/// gone after it.
pub(super) fn before(
    connection: &Connection,
    environment: i64,
    time: Timestamp,
) -> rusqlite::Result<Option<HealthRow>> {
    let sql = concat!(
        "SELECT h.* FROM (",
        select_row!(
            "stretch s CROSS JOIN stretch_health h ON h.stretch = s.from_offset AND h.environment_id = ?1
                WHERE since + known_after <> ?2 ORDER BY s.from_offset"
        ),
        ") h WHERE EXISTS (SELECT 1 FROM environment e WHERE e.id = ?1
            AND e.from_offset <= h.to_offset AND e.to_offset > h.to_offset)"
    );
    Ok(read(connection, sql, environment, time.as_micros())?.map(|found| found.row))
}

fn read(
    connection: &Connection,
    sql: &str,
    environment: i64,
    bound: i64,
) -> rusqlite::Result<Option<OpenRow>> {
    let row = connection.prepare_cached(sql)?.query_row(params![environment, bound], |row| {
        let grace = match (row.get("grace_since")?, row.get("grace_until")?) {
            (Some(since), Some(until)) => {
                Some(Grace { state: VIEW.get(row, "stretch_health.grace_state")?, since, until })
            }
            _ => None,
        };
        let from = VIEW.get(row, "stretch_health.from_offset")?;
        let row = HealthRow {
            state: VIEW.get(row, "stretch_health.state")?,
            since: row.get("since")?,
            known: VIEW.get(row, "stretch_health.known")?,
            known_since: row.get("known_since")?,
            grace,
            counts: read_counts(row, &COUNTS)?,
        };
        Ok(OpenRow { row, from, is_written: true })
    });
    row.optional()
}

/// Lets a row hold from here on, after the one before was closed; `moved` says whether it shows something else.
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
    let state = at.environments.get_mut(at.connection, environment)?;
    if moved {
        state.unwritten_move = Some(UnwrittenMove { from: at.offset, observed_at: at.observed_at });
    }
    state.open = Some(OpenRow { row, from: at.offset, is_written: false });
    Ok(())
}

/// Ends the row that holds; `moved` says whether something else shows from here on.
pub(super) fn close(at: &mut Apply<'_>, environment: i64, moved: bool) -> rusqlite::Result<()> {
    let state = at.environments.get_mut(at.connection, environment)?;
    let Some(open) = state.open.take() else { return Ok(()) };
    debug_assert!(open.from < at.offset, "an environment is settled once at an offset");
    if moved {
        let end = at.offset.as_i64();
        match state.unwritten_move.take() {
            Some(unwritten) => {
                insert_move(at.connection, at.rules.id, (environment, unwritten), &open.row, end)?;
            }
            None => {
                let sql =
                    "UPDATE environment_health SET to_offset = ?2 WHERE environment_id = ?1 AND from_offset =
                    (SELECT max(from_offset) FROM environment_health WHERE environment_id = ?1)";
                let closed = at.connection.prepare_cached(sql)?.execute(params![environment, end])?;
                debug_assert!(closed == 1, "what shows is in the view once it is written");
            }
        }
    }
    if open.is_written {
        at.segments.close(at.now(), &HEALTH_BY_TIME, LOG, &[&environment])
    } else {
        let start = at.segments.start(at.connection, &HEALTH_BY_TIME, LOG)?;
        let row = columns(start, at.rules.id, environment, &open, at.offset.as_i64());
        at.environments.ended.push(row);
        if at.environments.ended.len() < ENDED_MAX {
            Ok(())
        } else {
            write_ended(at.connection, at.environments)
        }
    }
}

/// Writes counts and the rows that hold, as far as the view does not have them.
pub(in super::super) fn write(
    connection: &Connection,
    environments: &mut EnvironmentStates,
    segments: &mut Segments,
    rule_set: i64,
) -> rusqlite::Result<()> {
    write_open(connection, environments, segments, rule_set)?;
    for (environment, state) in environments.unwritten() {
        if let (Some(open), Some(unwritten)) = (&state.open, state.unwritten_move.take()) {
            insert_move(connection, rule_set, (environment, unwritten), &open.row, OPEN)?;
        }
    }
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

/// Writes the rows that have ended, in the order of their table.
fn write_ended(connection: &Connection, environments: &mut EnvironmentStates) -> rusqlite::Result<()> {
    let mut rows = std::mem::take(&mut environments.ended);
    rows.sort_unstable_by_key(|[stretch, from, _, environment, ..]| (*stretch, *environment, *from));
    HEALTH.write(connection, &rows)
}

fn write_open(
    connection: &Connection,
    environments: &mut EnvironmentStates,
    segments: &mut Segments,
    rule_set: i64,
) -> rusqlite::Result<()> {
    write_ended(connection, environments)?;
    let mut rows = Vec::new();
    for (environment, state) in environments.unwritten() {
        if let Some(open) = state.open.as_mut().filter(|open| !open.is_written) {
            let start = segments.start(connection, &HEALTH_BY_TIME, LOG)?;
            rows.push(columns(start, rule_set, environment, open, OPEN));
            open.is_written = true;
        }
    }
    HEALTH.write(connection, &rows)
}

/// Writes what an environment showed from a move on, as any row says that held since.
fn insert_move(
    connection: &Connection,
    rule_set: i64,
    (environment, UnwrittenMove { from, observed_at }): (i64, UnwrittenMove),
    HealthRow { state, grace, .. }: &HealthRow,
    to: i64,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO environment_health
            (environment_id, from_offset, to_offset, observed_at, state, grace_state, grace_until, rule_set_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let (grace_state, grace_until) = (grace.and_then(|grace| grace.state), grace.map(|grace| grace.until));
    let row = params![environment, from, to, observed_at, state, grace_state, grace_until, rule_set];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// A row that held or holds.
fn columns(
    stretch: Option<i64>,
    rule_set: i64,
    environment: i64,
    OpenRow { row, from, .. }: &OpenRow,
    to: i64,
) -> Columns {
    let HealthRow { state, since, known, known_since, grace, counts } = row;
    let grace_state = grace.and_then(|grace| grace.state);
    let (grace_since, grace_until) = grace.map(|grace| (grace.since, grace.until)).unzip();
    let [state, known, grace_state] = [*state, *known, grace_state].map(|health| health.map(Stored::number));
    let [grace_since, grace_until] = [grace_since, grace_until].map(|time| time.map(Timestamp::as_micros));
    let counts = write_counts(*counts).map(|Count(count)| Some(i64::try_from(count).unwrap_or(i64::MAX)));
    let [healthy, suspended, progressing, missing, degraded, unknown, no_health] = counts;
    [
        stretch,
        Some(from.as_i64()),
        Some(to),
        Some(environment),
        state,
        Some(since.as_micros()),
        known,
        Some(known_since.as_micros() - since.as_micros()),
        grace_state,
        grace_since,
        grace_until,
        Some(rule_set),
        healthy,
        suspended,
        progressing,
        missing,
        degraded,
        unknown,
        no_health,
    ]
}
