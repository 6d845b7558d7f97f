//! Edges as resources declare them.

use std::collections::BTreeSet;

use rusqlite::params;

use super::OPEN;
use super::context::Apply;
use crate::edges::{Direction, EdgeKind, EdgeRef, Far};
use crate::model::ResourceId;

/// An edge's columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    kind: String,
    outward: bool,
    far_kind: i64,
    far_uid: String,
    far_namespace: String,
    far_name: String,
}

impl Row {
    /// Of edges to selected resources there is none.
    fn of(at: &mut Apply<'_>, cluster: i64, edge: &EdgeRef) -> rusqlite::Result<Option<Self>> {
        let (far, uid, namespace, name) = match &edge.far {
            Far::Uid { uid, kind, name } => (kind, uid.as_str(), "", name.as_str()),
            Far::Key { kind, namespace, name } => (kind, "", namespace.as_str(), name.as_str()),
            Far::Every { kind } => (kind, "", "", ""),
            Far::Matching { .. } => return Ok(None),
        };
        Ok(Some(Row {
            kind: edge.kind.as_str().to_owned(),
            outward: edge.direction == Direction::ToFar,
            far_kind: at.ids.kind(at.connection, cluster, far)?,
            far_uid: uid.to_owned(),
            far_namespace: namespace.to_owned(),
            far_name: name.to_owned(),
        }))
    }

    fn owns_far(&self) -> bool {
        self.outward && self.kind == EdgeKind::Owns.as_str()
    }
}

/// Makes a resource declare exactly these edges from here on; tells what it came to own, or owns no longer, by them.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    edges: &[EdgeRef],
) -> rusqlite::Result<Vec<ResourceId>> {
    let cluster = cluster_of(at, id)?;
    let mut wanted = BTreeSet::new();
    for edge in edges {
        wanted.extend(Row::of(at, cluster, edge)?);
    }
    let mut owned = Vec::new();
    for (rowid, row) in held(at, id)? {
        if !wanted.remove(&row) {
            let sql = "UPDATE edge SET to_offset = ?2 WHERE rowid = ?1";
            at.connection.prepare_cached(sql)?.execute(params![rowid, at.offset.as_i64()])?;
            owned.extend(far_owned(at, cluster, &row)?);
        }
    }
    let sql = "INSERT INTO edge (declared_by, kind, outward, far_kind_id, far_uid, far_namespace, far_name,
        from_offset, to_offset) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for row in wanted {
        let Row { kind, outward, far_kind, far_uid, far_namespace, far_name } = &row;
        let from = at.offset.as_i64();
        insert.execute(params![
            id.0,
            kind,
            outward,
            far_kind,
            far_uid,
            far_namespace,
            far_name,
            from,
            OPEN
        ])?;
        owned.extend(far_owned(at, cluster, &row)?);
    }
    Ok(owned)
}

/// The cluster of a resource.
pub(super) fn cluster_of(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<i64> {
    let sql = "SELECT cluster_id FROM resource WHERE id = ?1";
    at.connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0))
}

fn held(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Vec<(i64, Row)>> {
    let sql = "SELECT rowid, kind, outward, far_kind_id, far_uid, far_namespace, far_name
        FROM edge WHERE declared_by = ?1 AND to_offset = ?2";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![id.0, OPEN], |row| {
        let columns = Row {
            kind: row.get(1)?,
            outward: row.get(2)?,
            far_kind: row.get(3)?,
            far_uid: row.get(4)?,
            far_namespace: row.get(5)?,
            far_name: row.get(6)?,
        };
        Ok((row.get(0)?, columns))
    })?;
    rows.collect()
}

/// What stands at the far end of an edge by which the declarer owns it.
fn far_owned(at: &Apply<'_>, cluster: i64, row: &Row) -> rusqlite::Result<Vec<ResourceId>> {
    if !row.owns_far() {
        return Ok(Vec::new());
    }
    let by_uid = "SELECT id FROM resource WHERE uid = ?1 AND cluster_id = ?2";
    let by_address = "SELECT id FROM resource WHERE kind_id = ?1 AND namespace = ?2 AND name = ?3";
    let id = |row: &rusqlite::Row<'_>| row.get(0).map(ResourceId);
    if row.far_uid.is_empty() {
        let mut statement = at.connection.prepare_cached(by_address)?;
        let rows = statement.query_map(params![row.far_kind, row.far_namespace, row.far_name], id)?;
        rows.collect()
    } else {
        let mut statement = at.connection.prepare_cached(by_uid)?;
        let rows = statement.query_map(params![row.far_uid, cluster], id)?;
        rows.collect()
    }
}
