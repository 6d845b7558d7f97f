//! The view's numbers for clusters and kinds.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::Kind;

/// The most kinds kept in memory. Objects can claim owners of any kind, so their number is not ours to trust.
const KINDS_MAX: usize = 100_000;

/// Numbers already looked up.
#[derive(Debug, Default)]
pub(super) struct Ids {
    clusters: HashMap<String, i64>,
    kinds: HashMap<(i64, Kind), i64>,
}

impl Ids {
    pub(super) fn cluster(&mut self, connection: &Connection, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.clusters.get(name) {
            return Ok(*id);
        }
        let select = "SELECT id FROM cluster WHERE name = ?1";
        let found = connection.prepare_cached(select)?.query_row([name], |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached("INSERT INTO cluster (name) VALUES (?1)")?.insert([name])?,
        };
        self.clusters.insert(name.to_owned(), id);
        Ok(id)
    }

    pub(super) fn kind(
        &mut self,
        connection: &Connection,
        cluster: i64,
        kind: &Kind,
    ) -> rusqlite::Result<i64> {
        if let Some(id) = self.kinds.get(&(cluster, kind.clone())) {
            return Ok(*id);
        }
        let key = params![cluster, kind.group, kind.kind];
        let select = r#"SELECT id FROM kind WHERE cluster_id = ?1 AND "group" = ?2 AND kind = ?3"#;
        let insert = r#"INSERT INTO kind (cluster_id, "group", kind) VALUES (?1, ?2, ?3)"#;
        let found = connection.prepare_cached(select)?.query_row(key, |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached(insert)?.insert(key)?,
        };
        if self.kinds.len() >= KINDS_MAX {
            self.kinds.clear();
        }
        self.kinds.insert((cluster, kind.clone()), id);
        Ok(id)
    }
}
