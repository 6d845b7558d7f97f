//! Who owns whom at present: as the owned declares it, as the owner declares it, and by what owners select.
//!
//! UNION would sort into a temporary table at every call, and UNION ALL does not. Both ends are in one cluster.

use std::collections::BTreeSet;

use rusqlite::params;

use super::addresses::{Address, address};
use super::columns::OPEN;
use super::context::Apply;
use strandline_model::ResourceId;
use strandline_sqlite::column::PackedUid;

/// What owns a resource, as far as it has arrived: by edges of kind 0, which own, that it declares to its owner and that
/// its owner declares to it, each by uid and by address; and by what its owner selects. `?1` is the resource, `?2` the end of
/// what is open, and `?3` to `?7` are its cluster, uid, kind, namespace and name. The order of joins is given: no statistics
/// tell SQLite that a far end has few edges.
const OWNERS: &str = "SELECT far.id FROM edge e CROSS JOIN far f ON f.id = e.far_id AND f.uid <> ''
            CROSS JOIN resource far ON far.uid = f.uid AND far.cluster_id = ?3
        WHERE e.declared_by = ?1 AND e.stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
            AND e.to_offset = ?2 AND e.kind = 0 AND e.outward = 0
    UNION ALL SELECT far.id FROM edge e CROSS JOIN far f ON f.id = e.far_id AND f.uid = ''
            CROSS JOIN resource far ON far.kind_id = f.kind_id AND far.namespace = f.namespace AND far.name = f.name
        WHERE e.declared_by = ?1 AND e.stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
            AND e.to_offset = ?2 AND e.kind = 0 AND e.outward = 0
    UNION ALL SELECT it.id FROM far f CROSS JOIN edge e ON e.far_id = f.id AND e.kind = 0 AND e.outward = 1
            CROSS JOIN resource it ON it.id = e.declared_by AND it.cluster_id = ?3
        WHERE f.uid = ?4 AND f.uid <> '' AND e.to_offset = ?2
    UNION ALL SELECT e.declared_by FROM far f CROSS JOIN edge e ON e.far_id = f.id AND e.kind = 0 AND e.outward = 1
        WHERE f.kind_id = ?5 AND f.namespace = ?6 AND f.name = ?7 AND f.uid = '' AND e.to_offset = ?2
    UNION ALL SELECT s.declared_by FROM selected s
        WHERE s.resource_id = ?1 AND s.to_offset = ?2 AND s.kind = 0 AND s.outward = 1";

/// What a resource owns, by the same from the other end.
const OWNED: &str = "SELECT it.id FROM far f CROSS JOIN edge e ON e.far_id = f.id AND e.kind = 0 AND e.outward = 0
            CROSS JOIN resource it ON it.id = e.declared_by AND it.cluster_id = ?3
        WHERE f.uid = ?4 AND f.uid <> '' AND e.to_offset = ?2
    UNION ALL SELECT e.declared_by FROM far f CROSS JOIN edge e ON e.far_id = f.id AND e.kind = 0 AND e.outward = 0
        WHERE f.kind_id = ?5 AND f.namespace = ?6 AND f.name = ?7 AND f.uid = '' AND e.to_offset = ?2
    UNION ALL SELECT far.id FROM edge e CROSS JOIN far f ON f.id = e.far_id AND f.uid <> ''
            CROSS JOIN resource far ON far.uid = f.uid AND far.cluster_id = ?3
        WHERE e.declared_by = ?1 AND e.stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
            AND e.to_offset = ?2 AND e.kind = 0 AND e.outward = 1
    UNION ALL SELECT far.id FROM edge e CROSS JOIN far f ON f.id = e.far_id AND f.uid = ''
            CROSS JOIN resource far ON far.kind_id = f.kind_id AND far.namespace = f.namespace AND far.name = f.name
        WHERE e.declared_by = ?1 AND e.stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
            AND e.to_offset = ?2 AND e.kind = 0 AND e.outward = 1
    UNION ALL SELECT s.resource_id FROM selected s
        WHERE s.declared_by = ?1 AND s.stretch = (SELECT max(stretch) FROM selected WHERE declared_by = ?1)
            AND s.to_offset = ?2 AND s.kind = 0 AND s.outward = 1";

/// What owns a resource, as far as it has arrived.
pub(super) fn owners(at: &Apply<'_>, of: ResourceId) -> rusqlite::Result<BTreeSet<ResourceId>> {
    all(at, of, OWNERS)
}

/// What a resource owns.
pub(super) fn owned(at: &Apply<'_>, by: ResourceId) -> rusqlite::Result<BTreeSet<ResourceId>> {
    all(at, by, OWNED)
}

fn all(at: &Apply<'_>, of: ResourceId, sql: &str) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let Address { cluster, uid, kind_id, namespace, name, .. } = &*address(at, of)?;
    let mut statement = at.connection.prepare_cached(sql)?;
    let of_it = params![of, OPEN, cluster, PackedUid(uid), kind_id, namespace, name];
    let rows = statement.query_map(of_it, |row| row.get(0))?;
    let mut found: BTreeSet<ResourceId> = rows.collect::<rusqlite::Result<_>>()?;
    // Nothing owns itself, whatever selects it.
    found.remove(&of);
    Ok(found)
}
