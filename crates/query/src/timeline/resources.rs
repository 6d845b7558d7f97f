//! What happened to one resource, or to it and all below it over time.

use std::collections::HashSet;

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::event_audience::told_of_resources;
use crate::history::told;
use crate::moment::Moment;
use crate::scope::{ResolvedScope, belonged, reads};
use crate::spans::Span;
use crate::timeline::place::{Place, What};
use strandline_log::LogReader;
use strandline_model::{Offset, Timestamp};
use strandline_protocol::{Timeline, TimelineBelow};
use strandline_sqlite::column::VIEW;

/// The most things that are looked at for one answer.
const LOOKED_AT_MAX: usize = 500_000;

/// The most resources that are met on the way down.
const MET_MAX: usize = 100_000;

/// Everything that happened to resources within a span up to an offset, the earliest first, and whether there was more of it.
pub(super) fn happened(
    view: &Connection,
    log: &mut LogReader,
    at: Offset,
    scope: &ResolvedScope,
    resources: &str,
    top: i64,
    span: Span,
) -> Result<(Vec<Place>, bool)> {
    let before = Timestamp::from_micros(span.since.as_micros().saturating_sub(1));
    let from = super::offset_at(log, before, at)?;
    let sources =
        [(CHANGED, resources.to_owned()), (SAID, resources.to_owned()), (DEPLOYED, top.to_string())];
    let (mut places, mut cut) = (Vec::new(), false);
    for (sql, of) in sources {
        let mut statement = view.prepare_cached(sql)?;
        let mut rows = statement.query(named_params! {
            ":of": of, ":at": at.as_i64(), ":from": from.as_i64(), ":scope": scope.as_sql(),
            ":limit": LOOKED_AT_MAX as i64,
        })?;
        let held = places.len();
        while let Some(row) = rows.next()? {
            let (offset, time): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            let time = match time {
                Some(time) => Timestamp::from_micros(time),
                None => log.observed_at(Offset::from_i64(offset))?.unwrap_or_default(),
            };
            if span.since <= time && time <= span.until {
                let what = What::Happened(VIEW.get_at(row, 2, "happening.what")?);
                places.push(Place { time, offset, what, subject: row.get(3)? });
            }
        }
        cut |= places.len() - held >= LOOKED_AT_MAX;
    }
    places.sort_unstable();
    Ok((places, cut))
}

/// States and ends: the first state of a life is its creation.
const CHANGED: &str = concat!(
    "SELECT v.from_offset, v.observed_at, CASE WHEN v.deleted THEN 3 WHEN (SELECT p.deleted FROM version p
            WHERE p.resource_id = v.resource_id AND p.from_offset < v.from_offset
            ORDER BY p.from_offset DESC LIMIT 1) IS NOT 0 THEN 1 ELSE 0 END, v.resource_id
    FROM json_each(:of) i JOIN version v ON v.resource_id = i.value
    WHERE v.from_offset > :from AND v.from_offset <= :at AND ",
    told!(),
    " ORDER BY v.from_offset DESC LIMIT :limit"
);

/// What Events said, as far as it is told to the caller.
const SAID: &str = concat!(
    "WITH ",
    told_of_resources!(),
    " SELECT n.from_offset, NULL, CASE k.type WHEN 'Normal' THEN 5 ELSE 6 END, k.id
    FROM told_of s JOIN kube_event k ON k.id = s.id
    JOIN kube_event_count n ON n.event_id = k.id AND n.from_offset BETWEEN s.since AND s.until
    WHERE n.from_offset > :from
    GROUP BY n.event_id, n.from_offset ORDER BY n.from_offset DESC LIMIT :limit"
);

/// Deployments to the environments that the resource belongs to.
const DEPLOYED: &str = concat!(
    "SELECT d.from_offset, d.observed_at, CASE WHEN p.status IS NULL THEN 7 ELSE 8 END, d.id
    FROM (SELECT DISTINCT environment_id FROM membership WHERE resource_id = :of AND from_offset <= :at
            AND to_offset > :from) m
        JOIN deployment d ON d.environment_id = m.environment_id
        LEFT JOIN deployment p ON p.id = d.id AND p.from_offset =
            (SELECT max(from_offset) FROM deployment WHERE id = d.id AND from_offset < d.from_offset)
    WHERE d.from_offset > :from AND d.from_offset <= :at AND p.status IS NOT d.status
        AND EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = d.environment_id
            AND e.from_offset <= d.from_offset AND e.to_offset > d.from_offset AND ",
    reads!(),
    ") ORDER BY d.from_offset DESC LIMIT :limit"
);

/// What any of `:of` owned at some time of the span, as the projection finds it for now.
const OWNED: &str = "
    SELECT it.id FROM json_each(:of) i JOIN resource me ON me.id = i.value
        JOIN far f ON f.uid = me.uid AND f.uid <> ''
        JOIN edge e ON e.far_id = f.id AND e.kind = 0 AND e.outward = 0
        JOIN resource it ON it.id = e.declared_by AND it.cluster_id = me.cluster_id
        WHERE e.from_offset <= :at AND e.to_offset > :from
    UNION SELECT e.declared_by FROM json_each(:of) i JOIN resource me ON me.id = i.value
        JOIN far f ON f.kind_id = me.kind_id AND f.name = me.name AND f.namespace = me.namespace AND f.uid = ''
        JOIN edge e ON e.far_id = f.id AND e.kind = 0 AND e.outward = 0
        WHERE e.from_offset <= :at AND e.to_offset > :from
    UNION SELECT it.id FROM json_each(:of) i JOIN resource me ON me.id = i.value
        JOIN edge e ON e.declared_by = me.id AND e.kind = 0 AND e.outward = 1
        JOIN far f ON f.id = e.far_id AND f.uid <> ''
        JOIN resource it ON it.uid = f.uid AND it.cluster_id = me.cluster_id
        WHERE e.from_offset <= :at AND e.to_offset > :from
    UNION SELECT it.id FROM json_each(:of) i JOIN edge e ON e.declared_by = i.value AND e.kind = 0 AND e.outward = 1
        JOIN far f ON f.id = e.far_id AND f.uid = ''
        JOIN resource it ON it.kind_id = f.kind_id AND it.namespace = f.namespace AND it.name = f.name
        WHERE e.from_offset <= :at AND e.to_offset > :from
    UNION SELECT s.resource_id FROM json_each(:of) i
        JOIN selected s ON s.declared_by = i.value AND s.kind = 0 AND s.outward = 1
        WHERE s.from_offset <= :at AND s.to_offset > :from";

/// A resource and what was below it along *owns* at some time of the span, be it there or gone.
pub(super) fn below(
    view: &Connection,
    log: &mut LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    top: i64,
    span: Span,
) -> Result<(Vec<i64>, TimelineBelow)> {
    let from = super::offset_at(log, span.since, moment.offset)?;
    let (mut met, mut edge) = (HashSet::from([top]), vec![top]);
    let mut statement = view.prepare_cached(OWNED)?;
    while !edge.is_empty() && met.len() < MET_MAX {
        let of = serde_json::json!(edge).to_string();
        let params = named_params! { ":of": of, ":at": moment.offset.as_i64(), ":from": from.as_i64() };
        let mut rows = statement.query(params)?;
        let mut next = Vec::new();
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if met.insert(id) {
                next.push(id);
            }
        }
        edge = next;
    }
    met.remove(&top);
    let mut found = seen(view, moment.offset, scope, &met)?;
    // The newest numbers came last.
    found.sort_unstable_by(|a, b| b.cmp(a));
    let all = found.len();
    found.truncate(Timeline::BELOW - 1);
    let told = TimelineBelow { resources: found.len() as u64 + 1, left_out: (all - found.len()) as u64 };
    Ok((std::iter::once(top).chain(found).collect(), told))
}

/// Those of which the scope ever saw something.
fn seen(view: &Connection, at: Offset, scope: &ResolvedScope, met: &HashSet<i64>) -> Result<Vec<i64>> {
    let sql = concat!(
        "SELECT i.value FROM json_each(:of) i WHERE :scope IS NULL OR EXISTS (
            SELECT 1 FROM membership m CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
            WHERE m.resource_id = i.value AND ",
        belonged!(),
        " AND ",
        reads!(),
        ")"
    );
    let mut statement = view.prepare_cached(sql)?;
    let of = serde_json::json!(met).to_string();
    let params = named_params! { ":of": of, ":at": at.as_i64(), ":scope": scope.as_sql() };
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
