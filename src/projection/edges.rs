//! Edges as resources declare them.

use std::collections::BTreeSet;

use rusqlite::params;

use super::OPEN;
use super::context::Apply;
use crate::edges::{Direction, EdgeKind, EdgeRef, Far};
use crate::model::ResourceId;

/// The columns of an edge, in their order.
type Columns = (String, bool, String, String, String, String, String);

fn columns(edge: &EdgeRef) -> Option<Columns> {
    let outward = edge.direction == Direction::ToFar;
    let kind = edge.kind.as_str().to_owned();
    Some(match &edge.far {
        Far::Uid { uid, kind: far, name } => {
            let (group, far) = (far.group.clone(), far.kind.clone());
            (kind, outward, uid.as_str().to_owned(), group, far, String::new(), name.clone())
        }
        Far::Key { kind: far, namespace, name } => (
            kind,
            outward,
            String::new(),
            far.group.clone(),
            far.kind.clone(),
            namespace.clone(),
            name.clone(),
        ),
        Far::Matching { .. } | Far::Every { .. } => return None,
    })
}

/// Makes a resource declare exactly these edges from here on; tells whether any changed.
pub(super) fn declare(at: &mut Apply<'_>, id: ResourceId, edges: &[EdgeRef]) -> rusqlite::Result<bool> {
    let mut wanted: BTreeSet<Columns> = edges.iter().filter_map(columns).collect();
    let held = {
        let sql = "SELECT rowid, kind, outward, far_uid, far_group, far_kind, far_namespace, far_name
            FROM edge WHERE declared_by = ?1 AND to_offset = ?2";
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![id.0, OPEN], |row| {
            let columns: Columns =
                (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?);
            Ok((row.get::<_, i64>(0)?, columns))
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()?
    };
    let mut changed = false;
    for (rowid, columns) in held {
        if !wanted.remove(&columns) {
            changed = true;
            let sql = "UPDATE edge SET to_offset = ?2 WHERE rowid = ?1";
            at.connection.prepare_cached(sql)?.execute(params![rowid, at.offset.as_i64()])?;
        }
    }
    if wanted.is_empty() {
        return Ok(changed);
    }
    let sql =
        "INSERT INTO edge (declared_by, kind, outward, far_uid, far_group, far_kind, far_namespace, far_name,
        from_offset, to_offset) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for (kind, outward, uid, group, far, namespace, name) in wanted {
        let from = at.offset.as_i64();
        insert.execute(params![id.0, kind, outward, uid, group, far, namespace, name, from, OPEN])?;
    }
    Ok(true)
}

/// What owns a resource, as far as it has arrived; in the same cluster only.
pub(super) fn owners(at: &Apply<'_>, of: ResourceId) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let by_uid = "SELECT far.id FROM edge e JOIN resource me ON me.id = e.declared_by
        JOIN resource far ON far.uid = e.far_uid AND far.cluster_id = me.cluster_id
        WHERE e.declared_by = ?1 AND e.to_offset = ?2 AND e.kind = ?3 AND e.outward = 0 AND e.far_uid <> ''";
    let by_address = r#"SELECT far.id FROM edge e JOIN resource me ON me.id = e.declared_by
        JOIN kind k ON k.cluster_id = me.cluster_id AND k."group" = e.far_group AND k.kind = e.far_kind
        JOIN resource far ON far.kind_id = k.id AND far.namespace = e.far_namespace AND far.name = e.far_name
        WHERE e.declared_by = ?1 AND e.to_offset = ?2 AND e.kind = ?3 AND e.outward = 0 AND e.far_uid = ''"#;
    both(at, of, by_uid, by_address)
}

/// What a resource owns.
pub(super) fn owned(at: &Apply<'_>, by: ResourceId) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let by_uid = "SELECT it.id FROM resource me JOIN edge e ON e.far_uid = me.uid AND e.far_uid <> ''
        JOIN resource it ON it.id = e.declared_by AND it.cluster_id = me.cluster_id
        WHERE me.id = ?1 AND e.to_offset = ?2 AND e.kind = ?3 AND e.outward = 0";
    let by_address = r#"SELECT it.id FROM resource me JOIN kind k ON k.id = me.kind_id
        JOIN edge e ON e.far_uid = '' AND e.far_name = me.name AND e.far_kind = k.kind
            AND e.far_namespace = me.namespace AND e.far_group = k."group"
        JOIN resource it ON it.id = e.declared_by AND it.cluster_id = me.cluster_id
        WHERE me.id = ?1 AND e.to_offset = ?2 AND e.kind = ?3 AND e.outward = 0"#;
    both(at, by, by_uid, by_address)
}

/// Two statements instead of one with UNION, which would sort into a temporary table at every call.
fn both(
    at: &Apply<'_>,
    of: ResourceId,
    by_uid: &str,
    by_address: &str,
) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let mut found = BTreeSet::new();
    for sql in [by_uid, by_address] {
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![of.0, OPEN, EdgeKind::Owns.as_str()], |row| row.get(0))?;
        for id in rows {
            found.insert(ResourceId(id?));
        }
    }
    Ok(found)
}
