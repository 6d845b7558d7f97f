//! The peer of what stores changes: a plain SQLite table of bodies with one index, each commit safe on disk.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{BATCH, Seen};

/// A plain table.
pub(crate) struct Plain(Connection);

impl Plain {
    /// Makes the table in a new file.
    pub(crate) fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = wal; PRAGMA synchronous = full;
                 CREATE TABLE change
                    (id INTEGER PRIMARY KEY, uid TEXT NOT NULL, version TEXT NOT NULL, body TEXT NOT NULL);
                 CREATE INDEX change_by_uid ON change (uid);",
            )
            .unwrap();
        Plain(connection)
    }

    /// Inserts the bodies, a batch in each transaction.
    pub(crate) fn insert(&mut self, seen: &[Seen]) {
        for chunk in seen.chunks(BATCH) {
            let transaction = self.0.transaction().unwrap();
            {
                let sql = "INSERT INTO change (uid, version, body) VALUES (?1, ?2, ?3)";
                let mut statement = transaction.prepare_cached(sql).unwrap();
                for Seen { observation, .. } in chunk {
                    let (uid, version) = (observation.uid.as_str(), observation.resource_version.as_str());
                    statement.execute(params![uid, version, observation.body]).unwrap();
                }
            }
            transaction.commit().unwrap();
        }
    }
}
