//! Links to whatever carries labels that match.
//!
//! A selector is filed under the places of its anchor, the label by which all that it selects can be found, and every
//! label under its own place: so whichever of the two changes finds the other without looking at the rest.
//!
//! Why: docs/decisions/0013-each-object-declares-its-own-edges.md.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::addresses::address;
use super::columns::OPEN;
use super::context::Apply;
use super::labels::{self, ANY, Ground, SERIES};
use super::segment::{Carried, SegmentTable};
use strandline_model::ResourceId;
use strandline_relations::{Direction, EdgeKind, EdgeRef, Far};
use strandline_sqlite::column::{Json, VIEW};
use strandline_syntax::{Condition, LabelSelector, Requirement};

/// What selectors selected, by who declares them.
const SELECTED: SegmentTable = SegmentTable {
    name: "selected",
    last: "SELECT stretch AS start, count(*) AS row_count, sum(from_offset = stretch) AS first_count,
            sum(to_offset < 140737488355327) AS ended_count FROM selected
        WHERE declared_by = ?1 AND stretch = (SELECT max(stretch) FROM selected WHERE declared_by = ?1)
        GROUP BY stretch",
    open: "INSERT INTO selected
            (declared_by, stretch, from_offset, to_offset, resource_id, kind, outward)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    close: "UPDATE selected SET to_offset = ?3
        WHERE declared_by = ?1 AND stretch = ?2 AND from_offset < ?3 AND to_offset = ?4
            AND resource_id = ?5 AND kind = ?6 AND outward = ?7",
    carry: "INSERT INTO selected
            (declared_by, stretch, from_offset, to_offset, resource_id, kind, outward)
        SELECT declared_by, ?3, ?3, to_offset, resource_id, kind, outward FROM selected
        WHERE declared_by = ?1 AND stretch = ?2 AND to_offset = ?4",
    carried: Carried::Anew {
        end: "UPDATE selected SET to_offset = ?3 WHERE declared_by = ?1 AND stretch = ?2 AND to_offset = ?4",
        forget: "DELETE FROM selected WHERE declared_by = ?1 AND stretch = ?2 AND from_offset = ?3",
        erase: "DELETE FROM selected
            WHERE declared_by = ?1 AND stretch = ?2 AND from_offset = ?3 AND to_offset = ?4
                AND resource_id = ?5 AND kind = ?6 AND outward = ?7",
    },
};

/// A selector's columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    kind: EdgeKind,
    outward: bool,
    far_kind: i64,
    far_namespace: String,
    selector: LabelSelector,
}

/// One selected resource, as one of its two ends sees it: the other end, the kind of edge, and its direction.
type Selected = (ResourceId, EdgeKind, bool);

/// Makes a resource declare exactly these selectors; returns what it came to own, or owns no longer, by them.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    edges: &[EdgeRef],
) -> rusqlite::Result<Vec<ResourceId>> {
    let mut wanted = BTreeSet::new();
    if edges.iter().any(|edge| matches!(edge.far, Far::Matching { .. } | Far::Numbered { .. })) {
        let cluster = address(at, id)?.cluster;
        for edge in edges {
            wanted.extend(row(at, cluster, edge)?);
        }
    }
    let current = at.had(id, |at| declared_by(at, id))?;
    if current.iter().map(|(_, row)| row).eq(&wanted) {
        return Ok(Vec::new());
    }
    for (number, _) in &current {
        at.connection.prepare_cached("DELETE FROM selector WHERE id = ?1")?.execute([number])?;
        at.connection
            .prepare_cached("DELETE FROM selector_anchor WHERE selector_id = ?1")?
            .execute([number])?;
    }
    let mut selected = BTreeSet::new();
    for row in &wanted {
        insert(at, id, row)?;
        selected.extend(matching(at, row)?.into_iter().map(|far| (far, row.kind, row.outward)));
    }
    // What does not link to itself does not select itself.
    selected.retain(|(far, ..)| *far != id);
    replace(at, Side::Declarer(id), &selected)
}

fn row(at: &mut Apply<'_>, cluster: i64, edge: &EdgeRef) -> rusqlite::Result<Option<Row>> {
    let (kind, namespace, selector) = match &edge.far {
        Far::Matching { kind, namespace, selector } => (kind, namespace, selector.clone()),
        Far::Numbered { kind, namespace, stem } => (kind, namespace, of_series(stem)),
        _ => return Ok(None),
    };
    Ok(Some(Row {
        kind: edge.kind,
        outward: edge.direction == Direction::ToFar,
        far_kind: at.ids.kind(at.connection, cluster, kind)?,
        far_namespace: namespace.clone(),
        selector,
    }))
}

/// What selects all whose names go on from a stem with a number.
fn of_series(stem: &str) -> LabelSelector {
    let condition = Condition::In(BTreeSet::from([stem.to_owned()]));
    LabelSelector::new([Requirement { name: SERIES.to_owned(), condition }])
}

/// The selectors a resource declares, in their order, each with its number.
fn declared_by(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Vec<(i64, Row)>> {
    let sql = "SELECT id, kind, outward, far_kind_id, far_namespace, requirements FROM selector WHERE declared_by = ?1";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([id], |row| Ok((row.get("id")?, read(row)?)))?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    rows.sort_by(|(_, a), (_, b)| a.cmp(b));
    Ok(rows)
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let Json(selector) = VIEW.get(row, "selector.requirements")?;
    Ok(Row {
        kind: VIEW.get(row, "selector.kind")?,
        outward: row.get("outward")?,
        far_kind: row.get("far_kind_id")?,
        far_namespace: row.get("far_namespace")?,
        selector,
    })
}

fn insert(at: &Apply<'_>, id: ResourceId, row: &Row) -> rusqlite::Result<()> {
    let sql = "INSERT INTO selector (declared_by, kind, outward, far_kind_id, far_namespace, requirements)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let Row { kind, outward, far_kind, far_namespace, selector } = row;
    labels::file(at, *far_kind, selector.anchor().map_or(ANY.0, |(name, _)| name))?;
    let columns = params![id, kind, outward, far_kind, far_namespace, Json(selector)];
    let number = at.connection.prepare_cached(sql)?.insert(columns)?;
    let sql = "INSERT OR IGNORE INTO selector_anchor (place, selector_id) VALUES (?1, ?2)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for place in places(*far_kind, far_namespace, selector) {
        insert.execute(params![place, number])?;
    }
    Ok(())
}

/// The places of a selector's anchor in one namespace, or under the empty one for selectors of all namespaces.
fn places(kind: i64, namespace: &str, selector: &LabelSelector) -> Vec<i64> {
    let ground = Ground { kind, namespace };
    match selector.anchor() {
        Some((name, values)) => values.iter().map(|value| ground.place((name, value))).collect(),
        None => vec![ground.place(ANY)],
    }
}

/// The resources that a selector selects.
fn matching(at: &Apply<'_>, row: &Row) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let namespaces = match row.far_namespace.as_str() {
        "" => at.tallies.namespaces(at.connection, row.far_kind)?,
        one => BTreeSet::from([one.to_owned()]),
    };
    let mut found = BTreeSet::new();
    for namespace in &namespaces {
        for place in places(row.far_kind, namespace, &row.selector) {
            for id in labels::resources_at(at, place)? {
                let is_there = labels::is_at(at, id, row.far_kind, &row.far_namespace)?;
                if is_there && selects(&row.selector, labels::searchable(at, id)?.as_ref()) {
                    found.insert(id);
                }
            }
        }
    }
    Ok(found)
}

/// What is gone carries no labels, and is not selected.
fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    labels.is_some_and(|labels| selector.matches(|name| labels.get(name).map(String::as_str)))
}

/// Brings up to date what selects a resource, after its labels changed.
pub(super) fn settle(at: &mut Apply<'_>, id: ResourceId) -> rusqlite::Result<()> {
    let address = address(at, id)?;
    let (kind, namespace) = (address.kind_id, address.namespace.as_str());
    if !labels::is_sought(at, kind)? {
        return Ok(());
    }
    let labels = labels::searchable(at, id)?;
    let mut selected = BTreeSet::new();
    for (declarer, row) in candidates(at, kind, namespace, labels.as_ref())? {
        let reaches = row.far_kind == kind && ["", namespace].contains(&row.far_namespace.as_str());
        if reaches && declarer != id && selects(&row.selector, labels.as_ref()) {
            selected.insert((declarer, row.kind, row.outward));
        }
    }
    replace(at, Side::Selected(id), &selected)?;
    Ok(())
}

/// The selectors of which an anchor is among these labels.
fn candidates(
    at: &Apply<'_>,
    kind: i64,
    namespace: &str,
    labels: Option<&BTreeMap<String, String>>,
) -> rusqlite::Result<Vec<(ResourceId, Row)>> {
    let Some(labels) = labels else { return Ok(Vec::new()) };
    let mut places = BTreeSet::new();
    for namespace in ["", namespace] {
        let ground = Ground { kind, namespace };
        places.insert(ground.place(ANY));
        places.extend(labels.iter().map(|(name, value)| ground.place((name, value))));
    }
    let sql = "SELECT s.declared_by, s.kind, s.outward, s.far_kind_id, s.far_namespace, s.requirements
        FROM json_each(?1) p JOIN selector_anchor a ON a.place = p.value JOIN selector s ON s.id = a.selector_id";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([Json(places)], |row| Ok((row.get("declared_by")?, read(row)?)))?;
    rows.collect()
}

/// From which end a selection is seen.
#[derive(Clone, Copy)]
enum Side {
    Declarer(ResourceId),
    Selected(ResourceId),
}

impl Side {
    fn id(self) -> ResourceId {
        match self {
            Side::Declarer(id) | Side::Selected(id) => id,
        }
    }

    /// The open rows of this end: the other end first.
    fn current(self, at: &Apply<'_>) -> rusqlite::Result<BTreeSet<Selected>> {
        let (id, sql) = match self {
            Side::Declarer(id) => (
                id,
                "SELECT resource_id AS other, kind, outward FROM selected WHERE declared_by = ?1 AND to_offset = ?2
                    AND stretch = (SELECT max(stretch) FROM selected WHERE declared_by = ?1)",
            ),
            Side::Selected(id) => (
                id,
                "SELECT declared_by AS other, kind, outward FROM selected WHERE resource_id = ?1 AND to_offset = ?2",
            ),
        };
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![id, OPEN], |row| {
            Ok((row.get("other")?, VIEW.get(row, "selected.kind")?, row.get("outward")?))
        })?;
        rows.collect()
    }

    /// Declarer and selected, whichever of them this end is.
    fn ends(self, other: ResourceId) -> (ResourceId, ResourceId) {
        match self {
            Side::Declarer(id) => (id, other),
            Side::Selected(id) => (other, id),
        }
    }
}

/// Makes these the selections of one end; returns whose owners that changed.
fn replace(at: &mut Apply<'_>, side: Side, wanted: &BTreeSet<Selected>) -> rusqlite::Result<Vec<ResourceId>> {
    let current = at.had(side.id(), |at| side.current(at))?;
    for (other, kind, outward) in current.difference(wanted) {
        let (declarer, resource) = side.ends(*other);
        at.segments.close(at.now(), &SELECTED, declarer.0, &[&resource, kind, outward])?;
    }
    for (other, kind, outward) in wanted.difference(&current) {
        let (declarer, resource) = side.ends(*other);
        at.segments.open(at.now(), &SELECTED, declarer.0, &[&resource, kind, outward])?;
    }
    let owning = |(_, kind, outward): &&Selected| *kind == EdgeKind::Owns && *outward;
    let moved = current.symmetric_difference(wanted).filter(owning);
    Ok(moved.map(|(other, ..)| side.ends(*other).1).collect())
}
