//! Edges as resources declare them.

use std::collections::BTreeSet;

use rusqlite::params;

use super::addresses::address;
use super::columns::OPEN;
use super::context::Apply;
use super::ids::FarEnd;
use super::segment::{Carried, SegmentTable};
use super::several::Several;
use strandline_model::{ResourceId, Stored};
use strandline_relations::{Direction, EdgeKind, EdgeRef, Far};
use strandline_sqlite::column::VIEW;

/// Links as one end declares them, by that end.
const EDGE: SegmentTable = SegmentTable {
    name: "edge",
    last: "SELECT stretch AS start, count(*) AS row_count, sum(from_offset = stretch) AS first_count,
            sum(to_offset < 140737488355327) AS ended_count FROM edge
        WHERE declared_by = ?1 AND stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
        GROUP BY stretch",
    open: "",
    close: "UPDATE edge SET to_offset = ?3
        WHERE declared_by = ?1 AND stretch = ?2 AND from_offset < ?3 AND to_offset = ?4
            AND far_id = ?5 AND kind = ?6 AND outward = ?7",
    carry: "INSERT INTO edge
            (declared_by, stretch, from_offset, to_offset, far_id, kind, outward)
        SELECT declared_by, ?3, ?3, to_offset, far_id, kind, outward FROM edge
        WHERE declared_by = ?1 AND stretch = ?2 AND to_offset = ?4",
    carried: Carried::Anew {
        end: "UPDATE edge SET to_offset = ?3 WHERE declared_by = ?1 AND stretch = ?2 AND to_offset = ?4",
        forget: "DELETE FROM edge WHERE declared_by = ?1 AND stretch = ?2 AND from_offset = ?3",
        erase: "DELETE FROM edge
            WHERE declared_by = ?1 AND stretch = ?2 AND from_offset = ?3 AND to_offset = ?4
                AND far_id = ?5 AND kind = ?6 AND outward = ?7",
    },
};

/// Its rows.
static EDGES: Several<7> = Several::new(
    "INSERT OR FAIL INTO edge (declared_by, stretch, from_offset, to_offset, far_id, kind, outward)",
);

/// An edge's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    far: i64,
    kind: EdgeKind,
    outward: bool,
}

impl Row {
    /// Of edges to selected resources there is none.
    fn of(at: &mut Apply<'_>, cluster: i64, edge: &EdgeRef) -> rusqlite::Result<Option<Self>> {
        let (kind, uid, namespace, name) = match &edge.far {
            Far::Uid { uid, kind, name } => (kind, uid.as_str(), "", name.as_str()),
            Far::Key { kind, namespace, name } => (kind, "", namespace.as_str(), name.as_str()),
            Far::Every { kind } => (kind, "", "", ""),
            Far::Matching { .. } | Far::Numbered { .. } => return Ok(None),
        };
        let kind = at.ids.kind(at.connection, cluster, kind)?;
        let far = FarEnd { kind, uid: uid.into(), namespace: namespace.into(), name: name.into() };
        Ok(Some(Row {
            far: at.ids.far(at.connection, far)?,
            kind: edge.kind,
            outward: edge.direction == Direction::ToFar,
        }))
    }

    fn owns_far(self) -> bool {
        self.outward && self.kind == EdgeKind::Owns
    }
}

/// Makes a resource declare exactly these edges from here on; returns what it came to own, or owns no longer, by them.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    edges: &[EdgeRef],
) -> rusqlite::Result<Vec<ResourceId>> {
    let cluster = address(at, id)?.cluster;
    let mut wanted = BTreeSet::new();
    for edge in edges {
        wanted.extend(Row::of(at, cluster, edge)?);
    }
    let current = at.had(id, |at| current(at, id))?;
    if at.is_new(id) && !wanted.is_empty() {
        at.segments.begin_first(at.now(), &EDGE, id.0)?;
    }
    for row in current.difference(&wanted) {
        at.segments.close(at.now(), &EDGE, id.0, &[&row.far, &row.kind, &row.outward])?;
    }
    let mut rows = Vec::new();
    for Row { far, kind, outward } in wanted.difference(&current) {
        if at.segments.is_full(at.now(), &EDGE, id.0)? {
            // What the next segment takes over is read from the table.
            EDGES.write(at.connection, &std::mem::take(&mut rows))?;
        }
        let start = at.segments.reserve(at.now(), &EDGE, id.0)?;
        let place = [id.0, start, at.offset.as_i64(), OPEN, *far, kind.number(), i64::from(*outward)];
        rows.push(place.map(Some));
    }
    EDGES.write(at.connection, &rows)?;
    let mut owned = Vec::new();
    for row in current.symmetric_difference(&wanted).filter(|row| row.owns_far()) {
        owned.extend(resources_at(at, cluster, row.far)?);
    }
    Ok(owned)
}

/// The edges that a resource declares at present.
fn current(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<BTreeSet<Row>> {
    let sql = "SELECT far_id, kind, outward FROM edge WHERE declared_by = ?1 AND to_offset = ?2
        AND stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![id, OPEN], |row| {
        let kind = VIEW.get(row, "edge.kind")?;
        Ok(Row { far: row.get("far_id")?, kind, outward: row.get("outward")? })
    })?;
    rows.collect()
}

/// The resources to which a far end points, as far as they have arrived.
fn resources_at(at: &Apply<'_>, cluster: i64, far: i64) -> rusqlite::Result<Vec<ResourceId>> {
    let sql = "SELECT r.id FROM far f JOIN resource r ON r.uid = f.uid AND r.cluster_id = ?2
            WHERE f.id = ?1 AND f.uid <> ''
        UNION ALL SELECT r.id FROM far f JOIN resource r
            ON r.kind_id = f.kind_id AND r.namespace = f.namespace AND r.name = f.name
            WHERE f.id = ?1 AND f.uid = ''";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([far, cluster], |row| row.get("id"))?;
    rows.collect()
}
