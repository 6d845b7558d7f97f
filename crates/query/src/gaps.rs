//! What was not watched, as an answer names it.
//!
//! An offset lies in the gaps that were recorded by then, for ever the same. A time lies in the gaps whose span holds it,
//! whenever they were recorded.

use rusqlite::{Connection, Row, named_params};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::scope::{ResolvedScope, clusters_asked_about, concerned, looked_at};
use strandline_log::WriterProblem;
use strandline_model::{Offset, Timestamp};
use strandline_protocol::{Gap, Snapshot};

/// Gaps named in one answer.
pub(super) const LIMIT: usize = 100;

/// What `missed_to` is while a gap is open.
pub(super) const OPEN: i64 = i64::MAX;

/// Times, both included. Now reaches as far as there are times: a gap that is open now is one, whatever its clock said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// SQL that holds where a gap `g` of the cluster `c` concerns what is asked about and may be seen: also of a whole cluster,
/// unless a watch of a target's own namespace went on.
macro_rules! narrowed {
    () => {
        concerned!(
            " AND (g.namespace IN ('', t.value ->> '$.namespace') OR t.value ->> '$.namespace' = '')
                AND (g.namespace <> '' OR NOT EXISTS (SELECT 1 FROM coverage w WHERE w.kind_id = g.kind_id
                    AND w.namespace = t.value ->> '$.namespace' AND w.state = 0
                    AND w.from_offset <= :at AND w.to_offset > :at))",
            looked_at!(namespace)
        )
    };
}

/// SQL that holds where a gap of the cluster `c` is anybody's: of one that the catalog does not hold, as it was imported or
/// taken from the configuration, where it is asked about or an environment looks there still. Before the first change all count:
/// wrong clocks may have dated it.
macro_rules! counts {
    () => {
        "(:environment IS NOT NULL OR :cluster IS NOT NULL
            OR EXISTS (SELECT 1 FROM cluster_spec s
                WHERE s.cluster_id = c.id AND (s.from_offset <= :at OR :at = 0) AND s.to_offset > :at)
            OR EXISTS (SELECT 1 FROM environment_place p
                WHERE p.cluster_id = c.id AND p.from_offset <= :at AND p.to_offset > :at))"
    };
}
pub(super) use counts;

/// The gaps at an offset, the oldest first.
pub(super) fn at_offset(
    view: &Connection,
    scope: &ResolvedScope,
    at: Offset,
    concerns: &Concerns<'_>,
) -> Result<Vec<Gap>> {
    let (environment, cluster) = concerns.as_sql();
    let sql = concat!(
        r#"SELECT c.name, k."group", k.kind, g.namespace, g.since, g.reason, g.message, NULL
        FROM "#,
        clusters_asked_about!(),
        r#" c CROSS JOIN coverage g ON g.cluster_id = c.id AND g.state = 1 AND g.from_offset <= :at AND g.to_offset > :at
        JOIN kind k ON k.id = g.kind_id
        WHERE "#,
        counts!(),
        " AND ",
        narrowed!(),
        r#" ORDER BY g.since, c.name, k."group", k.kind, g.namespace LIMIT :limit"#
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":at": at.as_i64(), ":cluster": cluster, ":environment": environment,
        ":scope": concerns.scope(view, scope, at)?, ":limit": LIMIT as i64,
    };
    let rows = statement.query_map(params, from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// SQL of the gaps `g` of the clusters `c` asked about whose span holds one of the times.
macro_rules! spans {
    () => {
        concat!(
            clusters_asked_about!(),
            " c CROSS JOIN coverage g INDEXED BY coverage_missed ON g.cluster_id = c.id
                AND g.missed_from IS NOT NULL AND g.missed_to > :from AND g.missed_from <= :to
                AND g.missed_from < g.missed_to"
        )
    };
}

/// The gaps that hold one of some times, whenever they were recorded, the oldest first; who sees what is as it was at the
/// offset.
pub(super) const AT_TIMES: &str = concat!(
    r#"SELECT c.name, k."group", k.kind, g.namespace, g.missed_from, g.reason, g.message, nullif(g.missed_to, :open)
    FROM "#,
    spans!(),
    r#" JOIN kind k ON k.id = g.kind_id
    WHERE "#,
    counts!(),
    " AND ",
    narrowed!(),
    r#" ORDER BY g.missed_from, c.name, k."group", k.kind, g.namespace, g.from_offset LIMIT :limit"#
);

/// As [`AT_TIMES`] says.
pub(super) fn at_times(
    view: &Connection,
    scope: &ResolvedScope,
    at: Offset,
    times: Times,
    concerns: &Concerns<'_>,
) -> Result<Vec<Gap>> {
    let (environment, cluster) = concerns.as_sql();
    // Most of the time there are none for anybody, and every answer asks.
    let sql = concat!("SELECT 1 FROM ", spans!());
    let (from, to) = (times.from.as_micros(), times.to.as_micros());
    let any = named_params! {
        ":at": at.as_i64(), ":cluster": cluster, ":environment": environment, ":scope": scope.as_sql(),
        ":from": from, ":to": to,
    };
    if !view.prepare_cached(sql)?.exists(any)? {
        return Ok(Vec::new());
    }
    let mut statement = view.prepare_cached(AT_TIMES)?;
    let params = named_params! {
        ":at": at.as_i64(), ":cluster": cluster, ":environment": environment, ":scope": concerns.scope(view, scope, at)?,
        ":from": from, ":to": to, ":open": OPEN, ":limit": LIMIT as i64,
    };
    let rows = statement.query_map(params, from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Gap> {
    Ok(Gap {
        cluster: row.get(0)?,
        group: row.get(1)?,
        kind: row.get(2)?,
        namespace: row.get(3)?,
        since: Timestamp::from_micros(row.get(4)?),
        reason: row.get(5)?,
        message: row.get(6)?,
        until: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
    })
}

/// The clusters that an answer speaks of and the catalog holds, as far as the caller may see them.
pub(super) fn clusters(
    view: &Connection,
    scope: &ResolvedScope,
    at: Offset,
    concerns: &Concerns<'_>,
) -> Result<Vec<String>> {
    let (environment, cluster) = concerns.as_sql();
    let sql = concat!(
        "SELECT c.name FROM ",
        clusters_asked_about!(),
        " c JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at
        WHERE :environment IS NOT NULL OR ",
        looked_at!(cluster),
        " ORDER BY c.name"
    );
    let params = named_params! {
        ":at": at.as_i64(), ":cluster": cluster, ":environment": environment,
        ":scope": concerns.scope(view, scope, at)?,
    };
    Ok(view.prepare_cached(sql)?.query_map(params, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// That nothing is recorded, as a gap of each of these clusters.
pub(super) fn unrecorded(problem: &WriterProblem, clusters: &[String]) -> impl Iterator<Item = Gap> {
    clusters.iter().map(|cluster| Gap {
        cluster: cluster.clone(),
        group: String::new(),
        kind: String::new(),
        namespace: String::new(),
        since: problem.since,
        reason: problem.reason.to_owned(),
        message: problem.message.clone(),
        until: None,
    })
}

/// Names the gaps of another moment or place too, as far as they are not named yet.
pub(super) fn add_gaps(snapshot: &mut Snapshot, more: Vec<Gap>) {
    let gaps = &mut snapshot.coverage.gaps;
    for gap in more {
        // One of them may have been asked for by offset, where no end is known.
        let same = |one: &Gap| Gap { until: gap.until, ..one.clone() } == gap;
        if !gaps.iter().any(same) {
            gaps.push(gap);
        }
    }
    gaps.sort_by_key(|gap| gap.since);
    gaps.truncate(LIMIT);
    snapshot.coverage.complete = gaps.is_empty();
}
