//! The gaps that are open, as the health of environments asks for them with every change.

use std::collections::hash_map::{Entry, HashMap};

use rusqlite::{Connection, params};

use super::columns::OPEN;
use strandline_model::{CoverageState, Timestamp};
use strandline_sqlite::column::VIEW;

/// Those of the clusters that were asked for, as they stand in the view. They move with marks alone, and these are few.
#[derive(Debug, Default)]
pub(super) struct OpenGaps(HashMap<i64, ClusterGaps>);

/// What is not watched of a cluster.
#[derive(Debug, Default)]
pub(super) struct ClusterGaps {
    pub(super) open: Vec<OpenGap>,
    pub(super) watched: WatchedNamespaces,
}

/// Whether watches of one namespace see all that happens there, by kind and namespace, as far as that was asked for.
#[derive(Debug, Default)]
pub(super) struct WatchedNamespaces(HashMap<i64, HashMap<String, bool>>);

/// A watch that does not see all that happens.
#[derive(Clone, Debug)]
pub(super) struct OpenGap {
    pub(super) kind: i64,
    /// Empty for a watch of all namespaces.
    pub(super) namespace: String,
    pub(super) since: Timestamp,
    /// Whether it is the discovery of the whole cluster, so that it concerns every kind.
    pub(super) is_discovery: bool,
}

impl OpenGaps {
    /// The gaps of a cluster.
    pub(super) fn of(&mut self, connection: &Connection, cluster: i64) -> rusqlite::Result<&mut ClusterGaps> {
        Ok(match self.0.entry(cluster) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(ClusterGaps { open: read(connection, cluster)?, ..ClusterGaps::default() })
            }
        })
    }

    /// Asks for those of a cluster again, as a mark may have moved them.
    pub(super) fn forget(&mut self, cluster: i64) {
        self.0.remove(&cluster);
    }
}

fn read(connection: &Connection, cluster: i64) -> rusqlite::Result<Vec<OpenGap>> {
    let sql = r#"SELECT g.kind_id, g.namespace, g.since, k.kind = '' AND k."group" = '' AS is_discovery
        FROM coverage g JOIN kind k ON k.id = g.kind_id
        WHERE g.cluster_id = ?1 AND g.state = 1 AND g.to_offset = ?2"#;
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![cluster, OPEN], |row| {
        Ok(OpenGap {
            kind: row.get("kind_id")?,
            namespace: row.get("namespace")?,
            since: VIEW.get(row, "coverage.since")?,
            is_discovery: row.get("is_discovery")?,
        })
    })?;
    rows.collect()
}

impl WatchedNamespaces {
    /// Whether a watch of one namespace sees all that happens there.
    pub(super) fn has(
        &mut self,
        connection: &Connection,
        kind: i64,
        namespace: &str,
    ) -> rusqlite::Result<bool> {
        let of_kind = self.0.entry(kind).or_default();
        if let Some(is_watched) = of_kind.get(namespace) {
            return Ok(*is_watched);
        }
        let is_watched = is_watched(connection, kind, namespace)?;
        of_kind.insert(namespace.to_owned(), is_watched);
        Ok(is_watched)
    }
}

fn is_watched(connection: &Connection, kind: i64, namespace: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM coverage
        WHERE kind_id = ?1 AND namespace = ?2 AND state = ?3 AND to_offset = ?4)";
    let row = params![kind, namespace, CoverageState::Watched, OPEN];
    connection.prepare_cached(sql)?.query_row(row, |row| row.get(0))
}
