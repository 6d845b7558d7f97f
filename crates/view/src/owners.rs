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

/// What owns a resource and what it owns, as far as both have arrived: by edges of kind 0, which own, that it declares and
/// that are declared to it, each by uid and by address; and by what is selected. `?1` is the resource, `?2` the end of what is
/// open, and `?3` to `?7` are its cluster, uid, kind, namespace and name. The order of joins is given: no statistics tell SQLite
/// that a far end has few edges.
const AROUND: &str = "SELECT far.id, e.outward AS is_owned FROM edge e
            CROSS JOIN far f ON f.id = e.far_id AND f.uid <> ''
            CROSS JOIN resource far ON far.uid = f.uid AND far.cluster_id = ?3
        WHERE e.declared_by = ?1 AND e.stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
            AND e.to_offset = ?2 AND e.kind = 0
    UNION ALL SELECT far.id, e.outward FROM edge e CROSS JOIN far f ON f.id = e.far_id AND f.uid = ''
            CROSS JOIN resource far ON far.kind_id = f.kind_id AND far.namespace = f.namespace AND far.name = f.name
        WHERE e.declared_by = ?1 AND e.stretch = (SELECT max(stretch) FROM edge WHERE declared_by = ?1)
            AND e.to_offset = ?2 AND e.kind = 0
    UNION ALL SELECT it.id, e.outward = 0 FROM far f CROSS JOIN edge e ON e.far_id = f.id AND e.kind = 0
            CROSS JOIN resource it ON it.id = e.declared_by AND it.cluster_id = ?3
        WHERE f.uid = ?4 AND f.uid <> '' AND e.to_offset = ?2
    UNION ALL SELECT e.declared_by, e.outward = 0 FROM far f CROSS JOIN edge e ON e.far_id = f.id AND e.kind = 0
        WHERE f.kind_id = ?5 AND f.namespace = ?6 AND f.name = ?7 AND f.uid = '' AND e.to_offset = ?2
    UNION ALL SELECT s.declared_by, 0 FROM selected s
        WHERE s.resource_id = ?1 AND s.to_offset = ?2 AND s.kind = 0 AND s.outward = 1
    UNION ALL SELECT s.resource_id, 1 FROM selected s
        WHERE s.declared_by = ?1 AND s.stretch = (SELECT max(stretch) FROM selected WHERE declared_by = ?1)
            AND s.to_offset = ?2 AND s.kind = 0 AND s.outward = 1";

/// What owns a resource and what it owns.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub(super) owners: BTreeSet<ResourceId>,
    pub(super) owned: BTreeSet<ResourceId>,
}

/// What owns a resource and what it owns, as far as it has arrived. Whoever asks for one mostly needs the other too, and both stand
/// in the same places.
pub(super) fn around(at: &Apply<'_>, it: ResourceId) -> rusqlite::Result<Around> {
    let Address { cluster, uid, kind_id, namespace, name, .. } = &*address(at, it)?;
    let mut statement = at.connection.prepare_cached(AROUND)?;
    let mut rows = statement.query(params![it, OPEN, cluster, PackedUid(uid), kind_id, namespace, name])?;
    let mut around = Around::default();
    while let Some(row) = rows.next()? {
        let (other, is_owned) = (row.get("id")?, row.get("is_owned")?);
        // Nothing owns itself, whatever selects it.
        if other != it {
            if is_owned {
                around.owned.insert(other)
            } else {
                around.owners.insert(other)
            };
        }
    }
    Ok(around)
}
