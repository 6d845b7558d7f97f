//! The inventories whose marks are carried by what is there.
//!
//! Marks are found by cluster and mark, and are part of the digest by which a resource's links are found again, so that
//! one that is added or removed alone is noticed.

use std::collections::BTreeSet;

use rusqlite::params;

use super::context::Apply;
use strandline_model::ResourceId;

/// Finds a resource by exactly these marks from here on; whether they changed is known from the digest of its links.
pub(super) fn declare(at: &Apply<'_>, id: ResourceId, marks: &BTreeSet<String>) -> rusqlite::Result<()> {
    let current = at.had(id, |at| current(at, id))?;
    if current == *marks {
        return Ok(());
    }
    let delete = "DELETE FROM inventory_mark WHERE resource_id = ?1 AND mark = ?2";
    let insert = "INSERT INTO inventory_mark (cluster_id, mark, resource_id)
        SELECT cluster_id, ?2, id FROM resource WHERE id = ?1";
    for (sql, marks) in [(delete, current.difference(marks)), (insert, marks.difference(&current))] {
        let mut statement = at.connection.prepare_cached(sql)?;
        for mark in marks {
            statement.execute(params![id, mark])?;
        }
    }
    Ok(())
}

/// The marks by which a resource is found at present.
fn current(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement =
        at.connection.prepare_cached("SELECT mark FROM inventory_mark WHERE resource_id = ?1")?;
    let rows = statement.query_map([id], |row| row.get("mark"))?;
    rows.collect()
}
