//! How every kind of every cluster was followed: what the watches saw, and when they saw nothing.

mod sight;

use std::collections::HashMap;

use rusqlite::{Connection, Row, named_params};
use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::{CoverageFilter, PageRequest};
use crate::kept::Kept;
use crate::kinds::Known;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, looked_at, one_of};
use crate::words::{Of, Words};
use crate::{gaps, kinds};
use strandline_log::{Cursor, LogReader};
use strandline_model::{CoverageState, Kind, Offset, Stored, Timestamp, WatchKey, reason};
use strandline_protocol::{LastChange, Page, WatchCoverage, WatchGap};
use strandline_sqlite::column::{Count, VIEW};

/// How each kind of each cluster was watched, by cluster, group, kind and namespace.
#[derive(Clone, Debug, Serialize)]
pub struct ListCoverage {
    /// Which watches.
    pub filter: CoverageFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListCoverage {
    /// The question with these parts.
    pub fn new(filter: &CoverageFilter, page: &PageRequest) -> Self {
        ListCoverage { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListCoverage {
    const NAME: &'static str = "coverage";
    type Answer = Page<WatchCoverage>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, kept, start } = context;
        list((view, kept), log, &moment, scope, &self.filter, &start)
    }
}

/// In a page's token: that the list was asked for as it is now.
const NOW: &str = "now";

/// A page of watches.
fn list(
    (view, kept): (&Connection, &Kept),
    log: &mut LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    filter: &CoverageFilter,
    start: &Start,
) -> Result<Page<WatchCoverage>> {
    let now = moment.asked_for_now || start.after(4) == NOW;
    let kinds = kinds::numbers(&mut Known { view, log, moment, scope }, &filter.kinds)?;
    let mut items = watches(view, moment.offset, scope, (filter, kinds), start)?;
    let next = start.finish(moment.offset, &mut items, |(_, item)| {
        let WatchKey { cluster, kind, namespace } = &item.watch;
        let mark = if now { NOW } else { "" };
        [cluster, &kind.group, &kind.kind, namespace, mark].map(str::to_owned).into()
    });
    let in_sight = if scope.is_everything() {
        None
    } else {
        let watches = items.iter().map(|(kind, item)| (*kind, item.watch.namespace.clone())).collect();
        Some(sight::held((view, kept), moment, scope, watches)?)
    };
    for (kind, item) in &mut items {
        item.gaps = gaps_of_watch(view, moment, *kind, &item.watch.namespace)?;
        // That a first look and a first list took their time is no error.
        let is_error = |gap: &&WatchGap| ![reason::NOT_WATCHED, reason::LISTING].contains(&&*gap.reason);
        item.last_error = item.gaps.iter().find(is_error).cloned();
        let namespace = &item.watch.namespace;
        let held = match &in_sight {
            None => held(view, moment, *kind, namespace)?,
            Some(all) => all.get(&(*kind, namespace.clone())).copied().unwrap_or(Held::NONE),
        };
        item.resources = held.total;
        item.last_change = match held.last {
            Some(offset) => log.observed_at(offset)?.map(|observed_at| LastChange { offset, observed_at }),
            None => None,
        };
    }
    let mut items: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
    if now {
        hear(log, moment.now, &mut items)?;
    }
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    start.page(items, (snapshot, next), |found| {
        let words = Words::default().names("cluster", Of::Cluster, &filter.clusters);
        let words = kinds::words(&mut Known { view, log, moment, scope }, words, &filter.kinds)?;
        words.unknown(view, moment, scope, found)
    })
}

/// What was marked of each watch, with the view's number of its kind.
fn watches(
    view: &Connection,
    at: Offset,
    scope: &ResolvedScope,
    (filter, kinds): (&CoverageFilter, Option<String>),
    start: &Start,
) -> Result<Vec<(i64, WatchCoverage)>> {
    let sql = concat!(
        r#"SELECT g.kind_id, c.name, k."group", k.kind, g.namespace, g.state, g.since, g.reason, g.message
        FROM coverage g INDEXED BY coverage_by_end
            JOIN kind k ON k.id = g.kind_id JOIN cluster c ON c.id = g.cluster_id
            JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at
        WHERE g.to_offset > :at AND g.from_offset <= :at
          AND (:clusters IS NULL OR c.name IN (SELECT value FROM json_each(:clusters)))
          AND (:kinds IS NULL OR g.kind_id IN (SELECT value FROM json_each(:kinds)))
          AND (:states IS NULL OR g.state IN (SELECT value FROM json_each(:states)))
          AND "#,
        looked_at!(namespace),
        r#" AND (c.name, k."group", k.kind, g.namespace) > (:cluster, :group, :kind, :namespace)
        ORDER BY c.name, k."group", k.kind, g.namespace LIMIT :limit"#
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":at": at.as_i64(), ":scope": scope.with_places(view, at)?,
        ":clusters": one_of(&filter.clusters, String::as_str),
        ":kinds": kinds,
        ":states": one_of(&filter.states, |state| state.number()),
        ":cluster": start.after(0), ":group": start.after(1), ":kind": start.after(2),
        ":namespace": start.after(3), ":limit": start.rows(),
    };
    let rows = statement.query_map(params, |row| Ok((row.get(0)?, watch(row)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn watch(row: &Row<'_>) -> rusqlite::Result<WatchCoverage> {
    let kind = Kind::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?);
    Ok(WatchCoverage {
        watch: WatchKey { cluster: row.get(1)?, kind, namespace: row.get(4)? },
        state: VIEW.get_at(row, 5, "coverage.state")?,
        since: Timestamp::from_micros(row.get(6)?),
        reason: row.get(7)?,
        message: row.get(8)?,
        resources: 0,
        last_change: None,
        last_seen: None,
        lag_ms: None,
        last_error: None,
        gaps: Vec::new(),
    })
}

/// The newest gaps of a watch up to a moment, the newest first: of an offset those that were recorded by then, of a time
/// those that began by then and in which something may have been missed.
fn gaps_of_watch(view: &Connection, moment: &Moment, kind: i64, namespace: &str) -> Result<Vec<WatchGap>> {
    let limit = WatchCoverage::GAPS as i64;
    let from_row = |row: &Row<'_>| {
        Ok(WatchGap {
            since: Timestamp::from_micros(row.get(0)?),
            until: row.get::<_, Option<i64>>(1)?.map(Timestamp::from_micros),
            reason: row.get(2)?,
            message: row.get(3)?,
        })
    };
    let at_offset = "SELECT since, CASE WHEN to_offset <= :at THEN until END, reason, message FROM coverage
        WHERE kind_id = :kind AND namespace = :namespace AND state = 1 AND from_offset <= :at
        ORDER BY from_offset DESC LIMIT :limit";
    let at_time = "SELECT missed_from, nullif(missed_to, :open), reason, message FROM coverage
        WHERE kind_id = :kind AND namespace = :namespace AND missed_from <= :time
        ORDER BY missed_from DESC, from_offset DESC LIMIT :limit";
    if moment.by_time().is_none() {
        let mut statement = view.prepare_cached(at_offset)?;
        let at = moment.offset.as_i64();
        let params = named_params! { ":at": at, ":kind": kind, ":namespace": namespace, ":limit": limit };
        let rows = statement.query_map(params, from_row)?;
        return Ok(rows.collect::<rusqlite::Result<_>>()?);
    }
    let mut statement = view.prepare_cached(at_time)?;
    let params = named_params! {
        ":time": moment.times(None).to.as_micros(), ":open": gaps::OPEN, ":kind": kind, ":namespace": namespace,
        ":limit": limit,
    };
    let rows = statement.query_map(params, from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What there is of a kind.
#[derive(Clone, Copy)]
struct Held {
    total: u64,
    /// The newest change.
    last: Option<Offset>,
}

impl Held {
    const NONE: Held = Held { total: 0, last: None };

    fn sum<'a>(all: impl Iterator<Item = &'a Held>) -> Self {
        all.fold(Held::NONE, |sum, one| Held { total: sum.total + one.total, last: sum.last.max(one.last) })
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let total = VIEW.get_at::<Count>(row, 0, "resource")?.0;
        Ok(Held { total, last: row.get::<_, Option<i64>>(1)?.map(Offset::from_i64) })
    }
}

/// The resources of a kind that were there, and their newest change.
fn held(view: &Connection, moment: &Moment, kind: i64, namespace: &str) -> Result<Held> {
    if moment.is_newest() {
        let sql = "SELECT coalesce(sum(total), 0), max(last_offset) FROM resource_count
            WHERE kind_id = :kind AND (:namespace = '' OR namespace = :namespace)";
        let params = named_params! { ":kind": kind, ":namespace": namespace };
        return Ok(view.prepare_cached(sql)?.query_row(params, Held::from_row)?);
    }
    let sql = "SELECT coalesce(sum(deleted = 0), 0), max(last) FROM (SELECT v.deleted, v.from_offset AS last
        FROM resource r JOIN version v ON v.resource_id = r.id AND v.from_offset =
            (SELECT max(from_offset) FROM version WHERE resource_id = r.id AND from_offset <= :at)
        WHERE r.kind_id = :kind AND (:namespace = '' OR r.namespace = :namespace))";
    let params = named_params! { ":kind": kind, ":namespace": namespace, ":at": moment.offset.as_i64() };
    Ok(view.prepare_cached(sql)?.query_row(params, Held::from_row)?)
}

/// Adds when each watch last heard of its cluster, which only the log's cursors know and only for now.
fn hear(log: &LogReader, now: Timestamp, items: &mut [WatchCoverage]) -> Result<()> {
    let mut heard: HashMap<String, HashMap<(Kind, String), Timestamp>> = HashMap::new();
    for item in items {
        let WatchKey { cluster, kind, namespace } = &item.watch;
        if !heard.contains_key(cluster) {
            let seen = |cursor: Cursor| Some(((cursor.kind, cursor.namespace), cursor.last_seen?));
            heard.insert(cluster.clone(), log.cursors(cluster)?.into_iter().filter_map(seen).collect());
        }
        let of = (kind.clone(), namespace.clone());
        item.last_seen = heard.get(cluster).and_then(|heard| heard.get(&of)).copied();
        let watched = item.last_seen.filter(|_| item.state == CoverageState::Watched);
        item.lag_ms = watched.map(|seen| u64::try_from(now.since(seen).as_millis()).unwrap_or(u64::MAX));
    }
    Ok(())
}
