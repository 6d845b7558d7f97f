//! The cursors of watches, which the log's writer keeps beside the changes.

use rusqlite::Connection;

use super::columns;
use super::error::LogError;
use super::reader::LogReader;
use strandline_model::{Kind, ResourceVersion, Timestamp, WatchKey};

/// The cursor of one watch of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// What it follows.
    pub kind: Kind,
    /// The only namespace it follows; empty for all of them.
    pub namespace: String,
    /// From where it would resume; none until a list is complete.
    pub resource_version: Option<ResourceVersion>,
    /// The time up to which the watch is complete, by our clock.
    pub last_seen: Option<Timestamp>,
}

impl LogReader {
    /// The cursors of all watches of a cluster.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn cursors(&self, cluster: &str) -> Result<Vec<Cursor>, LogError> {
        let mut statement = self.connection().prepare_cached(
            r#"SELECT k."group", k.kind, c.namespace, c.resource_version, c.seen_at
               FROM cursor c JOIN kind k ON k.id = c.kind_id WHERE k.cluster = ?1"#,
        )?;
        let rows = statement.query_map([cluster], |row| {
            Ok(Cursor {
                kind: columns::kind(row)?,
                namespace: row.get("namespace")?,
                resource_version: row.get("resource_version")?,
                last_seen: row.get("seen_at")?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Every watch of every cluster, with the time up to which it is complete.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn watches(&self) -> Result<Vec<(WatchKey, Option<Timestamp>)>, LogError> {
        every_watch(self.connection())
    }

    /// Up to when the log is a record: its newest change was observed then, or a watch was last known to be complete. None
    /// of an empty log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn recorded_until(&self) -> Result<Option<Timestamp>, LogError> {
        let sql = "SELECT max(seen_at) FROM cursor";
        let seen: Option<Timestamp> =
            self.connection().prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(self.observed_at(self.head()?)?.max(seen))
    }
}

/// The same over any connection, in the order of cluster, kind and namespace.
pub(super) fn every_watch(connection: &Connection) -> Result<Vec<(WatchKey, Option<Timestamp>)>, LogError> {
    let mut statement = connection.prepare_cached(
        r#"SELECT k.cluster, k."group", k.kind, c.namespace, c.seen_at
           FROM cursor c JOIN kind k ON k.id = c.kind_id ORDER BY 1, 2, 3, 4"#,
    )?;
    let rows = statement.query_map([], |row| {
        let (cluster, namespace) = (row.get("cluster")?, row.get("namespace")?);
        Ok((WatchKey { cluster, kind: columns::kind(row)?, namespace }, row.get("seen_at")?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
