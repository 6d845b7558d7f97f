//! Environments that resources of clusters declare.

use crate::model::ResourceKey;

use super::super::context::Apply;
use super::environments::from_json;

/// What a resource declares of an environment.
pub(super) struct Declaration {
    /// The resource.
    pub(super) origin: ResourceKey,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) namespace: String,
    /// Projects and groups whose members may see it.
    pub(super) viewers: Vec<String>,
}

/// What present resources declare of an environment, in the order in which they came.
pub(super) fn of_environment(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Vec<Declaration>> {
    let sql = "SELECT origin, project, name, namespace, viewers FROM declaration
        WHERE environment_id = ?1 ORDER BY resource_id";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([environment], |row| {
        let (origin, viewers): (String, String) = (row.get(0)?, row.get(4)?);
        Ok(Declaration {
            origin: from_json(&origin)?,
            project: row.get(1)?,
            name: row.get(2)?,
            namespace: row.get(3)?,
            viewers: from_json(&viewers)?,
        })
    })?;
    rows.collect()
}
