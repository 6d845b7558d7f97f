//! When something that a timeline tells of was not being watched.

use rusqlite::{Connection, Row, ToSql};

use crate::error::Result;
use crate::moment::Moment;
use crate::scope::{ResolvedScope, reads};
use crate::spans::Span;
use strandline_model::Timestamp;
use strandline_protocol::{Timeline, TimelineGap};

/// A gap, and where it stands in the log.
pub(super) struct Found {
    pub(super) offset: i64,
    pub(super) kind: i64,
    pub(super) gap: TimelineGap,
}

/// Gaps of the places that `$places` selects, each a cluster with a namespace or an empty one for all, where a gap
/// concerns the kind `g.kind_id` as `$concerned` says.
///
/// Where a whole cluster may not be watched, a watch of the place's own namespace will do: the gap ends with it.
macro_rules! select_gaps {
    (at offset: $places:expr, $concerned:expr) => {
        select_gaps!(@ $places, $concerned, "g.since", "CASE WHEN g.to_offset <= :at THEN g.until END",
            "coverage g", "g.state = 1 AND g.from_offset <= :at AND g.since <= :end
                AND (g.to_offset > :at OR g.until >= :begin)", " AND w.from_offset <= :at")
    };
    // A time lies in gaps that were recorded later, too.
    (at time: $places:expr, $concerned:expr) => {
        select_gaps!(@ $places, $concerned, "g.missed_from", "nullif(g.missed_to, 9223372036854775807)",
            "coverage g INDEXED BY coverage_missed", "g.missed_from IS NOT NULL AND g.missed_to >= :begin
                AND g.missed_from <= :end AND g.missed_from < g.missed_to", "")
    };
    (@ $places:expr, $concerned:expr, $since:literal, $until:literal, $coverage:literal, $touches:literal, $known:literal) => {
        concat!(
            "WITH place AS (",
            $places,
            "), gap AS (
                SELECT g.from_offset, g.kind_id, g.cluster_id, g.namespace, ",
            $since,
            " AS since, g.reason, g.message, ",
            $until,
            " AS until,
                    CASE WHEN g.namespace = '' AND p.namespace <> '' THEN (SELECT min(w.since) FROM coverage w
                        WHERE w.kind_id = g.kind_id AND w.namespace = p.namespace AND w.state = 0",
            $known,
            " AND w.from_offset < g.to_offset AND w.to_offset > g.from_offset
                    ) END AS relieved
                FROM place p JOIN ",
            $coverage,
            " ON g.cluster_id = p.cluster_id AND (g.namespace IN ('', p.namespace) OR p.namespace = '')
                JOIN kind k ON k.id = g.kind_id
                WHERE ",
            $touches,
            r#" AND ((k.kind = '' AND k."group" = '') OR "#,
            $concerned,
            r#"))
            SELECT g.from_offset, g.kind_id, c.name, k."group", k.kind, g.namespace, g.since,
                CASE WHEN count(g.relieved) = count(*)
                    THEN min(coalesce(g.until, max(g.relieved)), max(g.relieved)) ELSE g.until END,
                g.reason, g.message
            FROM gap g JOIN kind k ON k.id = g.kind_id JOIN cluster c ON c.id = g.cluster_id
            WHERE g.relieved IS NULL OR g.relieved > g.since
            GROUP BY g.from_offset ORDER BY g.since DESC, g.from_offset DESC LIMIT :limit"#
        )
    };
}

/// Where an environment's targets are.
macro_rules! places_of_environment {
    () => {
        concat!(
            "SELECT DISTINCT c.id AS cluster_id, coalesce(t.value ->> '$.namespace', '') AS namespace
            FROM environment e, json_each(e.targets) t JOIN cluster c ON c.name = t.value ->> '$.cluster'
            WHERE e.id = :of AND e.from_offset <= :at AND ",
            reads!()
        )
    };
}

/// Where resources are, as a JSON array of their numbers.
macro_rules! places_of_resources {
    () => {
        "SELECT DISTINCT r.cluster_id, r.namespace FROM json_each(:of) i JOIN resource r ON r.id = i.value"
    };
}

/// The statements for one subject: asked by offset and by time.
pub(super) struct Statements {
    at_offset: &'static str,
    pub(super) at_time: &'static str,
}

/// An environment is concerned by the kinds of which it held something meanwhile. A gap that was found out later began before
/// its offset, so of a time it is whatever kinds the environment had held until its end.
pub(super) const OF_ENVIRONMENT: Statements = Statements {
    at_offset: select_gaps!(at offset: places_of_environment!(),
        "(EXISTS (SELECT 1 FROM member_count n WHERE n.environment_id = :of AND n.kind_id = g.kind_id)
            AND EXISTS (SELECT 1 FROM membership m WHERE m.environment_id = :of AND m.kind_id = g.kind_id
                AND m.from_offset <= :at AND m.from_offset < g.to_offset AND m.to_offset > g.from_offset))"),
    at_time: select_gaps!(at time: places_of_environment!(),
        "(EXISTS (SELECT 1 FROM member_count n WHERE n.environment_id = :of AND n.kind_id = g.kind_id)
            AND EXISTS (SELECT 1 FROM membership m WHERE m.environment_id = :of AND m.kind_id = g.kind_id
                AND m.from_offset <= g.to_offset))"),
};

pub(super) const OF_RESOURCES: Statements = Statements {
    at_offset: select_gaps!(at offset: places_of_resources!(),
        "g.kind_id IN (SELECT r.kind_id FROM json_each(:of) i JOIN resource r ON r.id = i.value)"),
    at_time: select_gaps!(at time: places_of_resources!(),
        "g.kind_id IN (SELECT r.kind_id FROM json_each(:of) i JOIN resource r ON r.id = i.value)"),
};

/// The gaps of an environment that touch a span, the newest first; one more than is told where there are too many.
pub(super) fn of_environment(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    environment: i64,
    span: Span,
) -> Result<Vec<Found>> {
    let scope = scope.as_sql();
    let of: &[(&str, &dyn ToSql)] =
        &[(":at", &moment.offset.as_i64()), (":of", &environment), (":scope", &scope)];
    select(view, &OF_ENVIRONMENT, moment, span, of)
}

/// The gaps of resources, a JSON array of their numbers: those of their kinds where they are.
pub(super) fn of_resources(
    view: &Connection,
    moment: &Moment,
    resources: &str,
    span: Span,
) -> Result<Vec<Found>> {
    let (at, of): (_, (&str, &dyn ToSql)) = (moment.offset.as_i64(), (":of", &resources));
    match moment.by_time() {
        Some(_) => select(view, &OF_RESOURCES, moment, span, &[of]),
        None => select(view, &OF_RESOURCES, moment, span, &[(":at", &at), of]),
    }
}

fn select(
    view: &Connection,
    statements: &Statements,
    moment: &Moment,
    span: Span,
    of: &[(&str, &dyn ToSql)],
) -> Result<Vec<Found>> {
    let by_time = moment.by_time().is_some();
    let mut statement =
        view.prepare_cached(if by_time { statements.at_time } else { statements.at_offset })?;
    let (begin, end) = (span.since.as_micros(), span.until.as_micros());
    let limit = Timeline::GAPS as i64 + 1;
    let mut params: Vec<(&str, &dyn ToSql)> = vec![(":begin", &begin), (":end", &end), (":limit", &limit)];
    params.extend_from_slice(of);
    let rows = statement.query_map(params.as_slice(), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Found> {
    let gap = TimelineGap {
        cluster: row.get(2)?,
        group: row.get(3)?,
        kind: row.get(4)?,
        namespace: row.get(5)?,
        since: Timestamp::from_micros(row.get(6)?),
        until: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
        reason: row.get(8)?,
        message: row.get(9)?,
    };
    Ok(Found { offset: row.get(0)?, kind: row.get(1)?, gap })
}
