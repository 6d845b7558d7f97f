//! Who owns whom at present: by the word of the owned, by the word of the owner, and by what owners select.
//!
//! Several statements instead of one with UNION, which would sort into a temporary table at every call. Both ends
//! are in one cluster.

use std::collections::BTreeSet;

use rusqlite::params;

use super::OPEN;
use super::context::Apply;
use crate::model::ResourceId;

/// What owns a resource, as far as it has arrived.
const OWNERS: [&str; 5] = [
    "SELECT far.id FROM edge e JOIN resource me ON me.id = e.declared_by
        JOIN resource far ON far.uid = e.far_uid AND far.cluster_id = me.cluster_id
        WHERE e.declared_by = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 0 AND e.far_uid <> ''",
    "SELECT far.id FROM edge e JOIN resource far
            ON far.kind_id = e.far_kind_id AND far.namespace = e.far_namespace AND far.name = e.far_name
        WHERE e.declared_by = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 0 AND e.far_uid = ''",
    "SELECT it.id FROM resource me JOIN edge e ON e.far_uid = me.uid AND e.far_uid <> ''
        JOIN resource it ON it.id = e.declared_by AND it.cluster_id = me.cluster_id
        WHERE me.id = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 1",
    "SELECT e.declared_by FROM resource me JOIN edge e ON e.far_uid = '' AND e.far_kind_id = me.kind_id
            AND e.far_name = me.name AND e.far_namespace = me.namespace
        WHERE me.id = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 1",
    "SELECT s.declared_by FROM selected s
        WHERE s.resource_id = ?1 AND s.to_offset = ?2 AND s.kind = 'owns' AND s.outward = 1",
];

/// What a resource owns.
const OWNED: [&str; 5] = [
    "SELECT it.id FROM resource me JOIN edge e ON e.far_uid = me.uid AND e.far_uid <> ''
        JOIN resource it ON it.id = e.declared_by AND it.cluster_id = me.cluster_id
        WHERE me.id = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 0",
    "SELECT e.declared_by FROM resource me JOIN edge e ON e.far_uid = '' AND e.far_kind_id = me.kind_id
            AND e.far_name = me.name AND e.far_namespace = me.namespace
        WHERE me.id = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 0",
    "SELECT far.id FROM edge e JOIN resource me ON me.id = e.declared_by
        JOIN resource far ON far.uid = e.far_uid AND far.cluster_id = me.cluster_id
        WHERE e.declared_by = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 1 AND e.far_uid <> ''",
    "SELECT far.id FROM edge e JOIN resource far
            ON far.kind_id = e.far_kind_id AND far.namespace = e.far_namespace AND far.name = e.far_name
        WHERE e.declared_by = ?1 AND e.to_offset = ?2 AND e.kind = 'owns' AND e.outward = 1 AND e.far_uid = ''",
    "SELECT s.resource_id FROM selected s
        WHERE s.declared_by = ?1 AND s.to_offset = ?2 AND s.kind = 'owns' AND s.outward = 1",
];

/// What owns a resource, as far as it has arrived.
pub(super) fn owners(at: &Apply<'_>, of: ResourceId) -> rusqlite::Result<BTreeSet<ResourceId>> {
    all(at, of, &OWNERS)
}

/// What a resource owns.
pub(super) fn owned(at: &Apply<'_>, by: ResourceId) -> rusqlite::Result<BTreeSet<ResourceId>> {
    all(at, by, &OWNED)
}

fn all(at: &Apply<'_>, of: ResourceId, statements: &[&str]) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let mut found = BTreeSet::new();
    for sql in statements {
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![of.0, OPEN], |row| row.get(0).map(ResourceId))?;
        for id in rows {
            found.insert(id?);
        }
    }
    // Nothing owns itself, whatever selects it.
    found.remove(&of);
    Ok(found)
}
