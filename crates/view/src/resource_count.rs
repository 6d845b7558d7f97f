//! How many resources there are of each kind, and when one of them changed last.
//!
//! The count is exact at the checkpoint alone and costs one small write for each change; for a past time, or a scope,
//! versions are counted. A test compares both with the same fold.

use rusqlite::params;

use super::context::Apply;
use super::presence::Presence;
use strandline_model::ResourceKey;

/// Updates the count of a resource's kind after the resource came, went, or changed.
pub(super) fn update(
    at: &mut Apply<'_>,
    key: &ResourceKey,
    before: Presence,
    after: Presence,
) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, &key.cluster)?;
    let kind = at.ids.kind(at.connection, cluster, &key.kind)?;
    let by = match (before, after) {
        (Presence::Absent, Presence::Present(_)) => 1,
        (Presence::Present(_), Presence::Absent) => -1,
        _ => 0,
    };
    let sql = "INSERT INTO resource_count (kind_id, namespace, total, last_offset) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO UPDATE SET total = total + excluded.total, last_offset = excluded.last_offset";
    let row = params![kind, key.namespace, by, at.offset];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}
