//! The inventories whose marks are carried by what is there.
//!
//! Marks are found by cluster and mark, and are part of the digest by which a resource's links are found again, so that
//! one that comes or goes alone is noticed.

use std::collections::BTreeSet;

use rusqlite::params;

use super::context::Apply;
use strandline_model::ResourceId;

/// Finds a resource by exactly these marks from here on; the digest of its links tells whether they changed.
pub(super) fn declare(at: &Apply<'_>, id: ResourceId, marks: &BTreeSet<String>) -> rusqlite::Result<()> {
    let held: BTreeSet<String> = {
        let sql = "SELECT mark FROM inventory_mark WHERE resource_id = ?1";
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], |row| row.get("mark"))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    let delete = "DELETE FROM inventory_mark WHERE resource_id = ?1 AND mark = ?2";
    let insert = "INSERT INTO inventory_mark (cluster_id, mark, resource_id)
        SELECT cluster_id, ?2, id FROM resource WHERE id = ?1";
    for (sql, marks) in [(delete, held.difference(marks)), (insert, marks.difference(&held))] {
        let mut statement = at.connection.prepare_cached(sql)?;
        for mark in marks {
            statement.execute(params![id, mark])?;
        }
    }
    Ok(())
}
