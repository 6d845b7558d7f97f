//! The labels of what is there, and the places under which selectors look for them.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use crate::model::ResourceId;

/// The label that everything carries, so that what asks for no value finds all of a place.
pub(super) const ANY: (&str, &str) = ("", "");

/// Where in the world a label is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    /// The kind, which is one of a cluster.
    pub(super) kind: i64,
    /// The namespace.
    pub(super) namespace: &'a str,
}

impl Ground<'_> {
    /// The number under which a label stands here; two labels that share one are told apart by their words.
    pub(super) fn place(self, (name, value): (&str, &str)) -> i64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.kind.to_le_bytes());
        for part in [self.namespace, name, value] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        i64::from_le_bytes(first)
    }
}

/// Makes a resource carry exactly these labels; tells whether any changed.
pub(super) fn declare(
    at: &Apply<'_>,
    id: ResourceId,
    labels: &BTreeMap<String, String>,
) -> rusqlite::Result<bool> {
    let held = of(at, id)?;
    if held.as_ref() == Some(labels) {
        return Ok(false);
    }
    if held.is_some() {
        withdraw(at, id)?;
    }
    let (kind, namespace) = ground(at, id)?;
    let ground = Ground { kind, namespace: &namespace };
    let sql = "INSERT OR REPLACE INTO label (resource_id, name, value, place) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = at.connection.prepare_cached(sql)?;
    insert.execute(params![id.0, ANY.0, ANY.1, ground.place(ANY)])?;
    // An empty name is none in Kubernetes, and would be taken for the label that all carry.
    for (name, value) in labels.iter().filter(|(name, _)| !name.is_empty()) {
        insert.execute(params![id.0, name, value, ground.place((name, value))])?;
    }
    Ok(true)
}

/// Takes all labels from a resource.
pub(super) fn withdraw(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<()> {
    at.connection.prepare_cached("DELETE FROM label WHERE resource_id = ?1")?.execute([id.0])?;
    Ok(())
}

/// The labels of a resource; none where it is not there.
pub(super) fn of(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Option<BTreeMap<String, String>>> {
    let mut statement =
        at.connection.prepare_cached("SELECT name, value FROM label WHERE resource_id = ?1")?;
    let rows = statement.query_map([id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut labels: BTreeMap<String, String> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(labels.remove(ANY.0).map(|_| labels))
}

/// The kind and namespace of a resource.
pub(super) fn ground(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<(i64, String)> {
    let sql = "SELECT kind_id, namespace FROM resource WHERE id = ?1";
    at.connection.prepare_cached(sql)?.query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// What stands under a place and may carry its label.
pub(super) fn at_place(at: &Apply<'_>, place: i64) -> rusqlite::Result<Vec<ResourceId>> {
    let mut statement = at.connection.prepare_cached("SELECT resource_id FROM label WHERE place = ?1")?;
    let rows = statement.query_map([place], |row| row.get(0).map(ResourceId))?;
    rows.collect()
}

/// The namespaces in which there are resources of a kind.
pub(super) fn namespaces(at: &Apply<'_>, kind: i64) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT DISTINCT namespace FROM resource_count WHERE kind_id = ?1";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([kind], |row| row.get(0))?;
    rows.collect()
}

/// Whether a resource is of a kind and, unless that is empty, in a namespace.
pub(super) fn stands_on(
    at: &Apply<'_>,
    id: ResourceId,
    kind: i64,
    namespace: &str,
) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM resource WHERE id = ?1 AND kind_id = ?2 AND ?3 IN ('', namespace)";
    let found = at.connection.prepare_cached(sql)?.query_row(params![id.0, kind, namespace], |_| Ok(()));
    Ok(found.optional()?.is_some())
}
