//! What was watched, from when to when.

use rusqlite::params;

use super::columns::OPEN;
use super::context::Apply;
use super::environment_health;
use strandline_model::{ClockMark, CoverageMark, CoverageState, InexactTimes, Timestamp};

/// Takes over a mark; the environments that it concerns are settled by the caller.
pub(super) fn mark(at: &mut Apply<'_>, mark: &CoverageMark) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, &mark.watch.cluster)?;
    let kind = at.ids.kind(at.connection, cluster, &mark.watch.kind)?;
    if let Some(until) = mark.until {
        return insert(at, mark, (cluster, kind), at.offset.as_i64(), Some(until));
    }
    at.gaps.forget(cluster);
    let close = "UPDATE coverage SET to_offset = ?3, until = ?4, missed_to = ?4,
            missed_from = CASE WHEN ?6 THEN NULL ELSE missed_from END
        WHERE kind_id = ?1 AND namespace = ?2 AND to_offset = ?5";
    let closed = at.connection.prepare_cached(close)?.execute(params![
        kind,
        mark.watch.namespace,
        at.offset,
        at.observed_at,
        OPEN,
        mark.nothing_missed
    ])?;
    debug_assert!(closed <= 1, "one row of coverage is open for a watch");
    insert(at, mark, (cluster, kind), OPEN, None)?;
    environment_health::write_counts_of_members(at.connection, at.environments)?;
    // Discovery concerns all that a cluster holds; a group's own discovery concerns nothing by itself, for the
    // watches of its known kinds have marks of their own.
    let concerned = "SELECT DISTINCT t.environment_id FROM target t WHERE t.cluster_id = ?1 AND (?3 OR EXISTS (
        SELECT 1 FROM member_count c WHERE c.environment_id = t.environment_id AND c.kind_id = ?2 AND c.total > 0))";
    let mut statement = at.connection.prepare_cached(concerned)?;
    let rows = statement
        .query_map(params![cluster, kind, mark.watch.is_discovery()], |row| row.get("environment_id"))?;
    for environment in rows {
        at.touched.environments.insert(environment?);
    }
    Ok(())
}

/// Where recorded time went back, a gap that is open began at the latest when the wrong times did.
pub(super) fn clock(at: &Apply<'_>, mark: &ClockMark) -> rusqlite::Result<()> {
    let Some(InexactTimes { since, .. }) = mark.inexact else { return Ok(()) };
    let sql =
        "UPDATE coverage SET missed_from = min(missed_from, ?1) WHERE to_offset = ?2 AND missed_from > ?1";
    at.connection.prepare_cached(sql)?.execute(params![since, OPEN])?;
    Ok(())
}

/// Adds a row that holds up to an offset: of a gap that was over when it was recorded it holds at none.
fn insert(
    at: &Apply<'_>,
    mark: &CoverageMark,
    (cluster, kind): (i64, i64),
    to_offset: i64,
    until: Option<Timestamp>,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO coverage (kind_id, namespace, from_offset, to_offset, cluster_id, state, since, until,
            reason, message, missed_from, missed_to)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let missed_from = (mark.state == CoverageState::Gap).then_some(mark.since);
    at.connection.prepare_cached(sql)?.execute(params![
        kind,
        mark.watch.namespace,
        at.offset,
        to_offset,
        cluster,
        mark.state,
        mark.since,
        until,
        mark.reason,
        mark.message,
        missed_from,
        missed_from.map(|_| until.map_or(i64::MAX, Timestamp::as_micros))
    ])?;
    Ok(())
}
