//! The numbers of kinds, subjects and managers in the log.

use std::collections::HashMap;
use std::hash::Hash;

use rusqlite::{Connection, OptionalExtension, params};

use strandline_model::{ChangedBy, Kind};
use strandline_sqlite::column::PackedUid;

type Result<T> = rusqlite::Result<T>;

/// Numbers of one sort that are kept; usually there are a few dozens.
const KEPT_MAX: usize = 4096;

/// The longest names that are kept, in bytes; Kubernetes allows a manager 128 characters.
const NAMES_MAX: usize = 1024;

/// Kinds and managers already looked up, as many as may be kept: clusters name them, and one may name them without end.
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
        let bytes = cluster.len() + kind.group.len() + kind.kind.len();
        keep(&mut self.kinds, key, bytes, id);
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
        let bytes = key.iter().map(String::len).sum();
        keep(&mut self.managers, key, bytes, id);
        Ok(id)
    }
}

/// Keeps a number, unless its names of so many bytes are too long; a full store begins anew, for what is in use is soon
/// looked up again.
fn keep<K: Eq + Hash>(numbers: &mut HashMap<K, i64>, key: K, bytes: usize, id: i64) {
    if bytes > NAMES_MAX {
        return;
    }
    if numbers.len() >= KEPT_MAX {
        numbers.clear();
    }
    numbers.insert(key, id);
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
    find_or_insert(connection, select, insert, params![kind, namespace, name, PackedUid(uid)])
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_keep_their_numbers_and_take_no_memory_without_end() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../../../schema/log/V1__log.sql")).unwrap();
        let mut ids = Ids::default();
        let mut number = |name: String| {
            let by = ChangedBy {
                manager: name.clone(),
                operation: String::new(),
                subresource: String::new(),
                time: None,
            };
            let numbers = (
                ids.manager(&connection, &by).unwrap(),
                ids.kind(&connection, "c", &Kind::new("", name)).unwrap(),
            );
            assert!(ids.managers.len() <= KEPT_MAX && ids.kinds.len() <= KEPT_MAX);
            numbers
        };
        let (first, long) = (number("first".to_owned()), number("x".repeat(NAMES_MAX + 1)));
        for n in 0..=KEPT_MAX {
            number(n.to_string());
        }
        assert_eq!((number("first".to_owned()), number("x".repeat(NAMES_MAX + 1))), (first, long));
        assert!(ids.managers.keys().all(|names| names[0].len() <= NAMES_MAX));
        assert!(ids.kinds.keys().all(|(_, kind)| kind.kind.len() <= NAMES_MAX));
    }
}
