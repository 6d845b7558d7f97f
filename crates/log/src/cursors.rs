//! Where watches stand, as the log's writer keeps it beside the changes.

use rusqlite::Connection;

use super::error::LogError;
use super::reader::LogReader;
use strandline_model::{Kind, ResourceVersion, Timestamp, WatchKey};

/// Where one watch of a cluster stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// What it follows.
    pub kind: Kind,
    /// The only namespace it follows; empty for all of them.
    pub namespace: String,
    /// From where it would resume; none until a list is complete.
    pub resource_version: Option<ResourceVersion>,
    /// When the cluster was last heard of, by our clock.
    pub last_seen: Option<Timestamp>,
}

impl LogReader {
    /// Where every watch of a cluster stands.
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
                kind: Kind::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?),
                namespace: row.get(2)?,
                resource_version: row.get::<_, Option<String>>(3)?.map(ResourceVersion::new),
                last_seen: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_micros),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Every watch of every cluster, with up to when it had told all that happened.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn watches(&self) -> Result<Vec<(WatchKey, Option<Timestamp>)>, LogError> {
        every_watch(self.connection())
    }
}

/// The same over any connection, in the order of cluster, kind and namespace.
pub(super) fn every_watch(connection: &Connection) -> Result<Vec<(WatchKey, Option<Timestamp>)>, LogError> {
    let mut statement = connection.prepare_cached(
        r#"SELECT k.cluster, k."group", k.kind, c.namespace, c.seen_at
           FROM cursor c JOIN kind k ON k.id = c.kind_id ORDER BY 1, 2, 3, 4"#,
    )?;
    let rows = statement.query_map([], |row| {
        let kind = Kind::new(row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        let watch = WatchKey { cluster: row.get(0)?, kind, namespace: row.get(3)? };
        Ok((watch, row.get::<_, Option<i64>>(4)?.map(Timestamp::from_micros)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
