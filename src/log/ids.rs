//! The numbers under which the log knows kinds, subjects and managers.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::{ChangedBy, Kind};

type Result<T> = rusqlite::Result<T>;

/// Kinds and managers already looked up; few and small, so that they are kept for good.
#[derive(Debug, Default)]
pub(super) struct Ids {
    kinds: HashMap<(String, Kind), i64>,
    managers: HashMap<[String; 3], i64>,
}

impl Ids {
    /// Forgets everything, after a transaction that may have assigned numbers was rolled back.
    pub(super) fn clear(&mut self) {
        *self = Ids::default();
    }

    pub(super) fn kind(&mut self, connection: &Connection, cluster: &str, kind: &Kind) -> Result<i64> {
        let key = (cluster.to_owned(), kind.clone());
        if let Some(id) = self.kinds.get(&key) {
            return Ok(*id);
        }
        let select = r#"SELECT id FROM kind WHERE cluster = ?1 AND "group" = ?2 AND kind = ?3"#;
        let insert = r#"INSERT INTO kind (cluster, "group", kind) VALUES (?1, ?2, ?3)"#;
        let id = find_or_insert(connection, select, insert, params![cluster, kind.group, kind.kind])?;
        self.kinds.insert(key, id);
        Ok(id)
    }

    pub(super) fn manager(&mut self, connection: &Connection, by: &ChangedBy) -> Result<i64> {
        let key = [by.manager.clone(), by.operation.clone(), by.subresource.clone()];
        if let Some(id) = self.managers.get(&key) {
            return Ok(*id);
        }
        let select = "SELECT id FROM manager WHERE manager = ?1 AND operation = ?2 AND subresource = ?3";
        let insert = "INSERT INTO manager (manager, operation, subresource) VALUES (?1, ?2, ?3)";
        let id = find_or_insert(connection, select, insert, params![key[0], key[1], key[2]])?;
        self.managers.insert(key, id);
        Ok(id)
    }
}

/// The number of an incarnation, a fact or a watch.
pub(super) fn subject(
    connection: &Connection,
    kind: i64,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<i64> {
    let select = "SELECT id FROM subject WHERE kind_id = ?1 AND namespace = ?2 AND name = ?3 AND uid = ?4";
    let insert = "INSERT INTO subject (kind_id, namespace, name, uid) VALUES (?1, ?2, ?3, ?4)";
    find_or_insert(connection, select, insert, params![kind, namespace, name, uid])
}

fn find_or_insert(
    connection: &Connection,
    select: &str,
    insert: &str,
    key: &[&dyn rusqlite::ToSql],
) -> Result<i64> {
    let found = connection.prepare_cached(select)?.query_row(key, |row| row.get(0)).optional()?;
    match found {
        Some(id) => Ok(id),
        None => connection.prepare_cached(insert)?.insert(key),
    }
}
