//! Where environments look, as the view's writer remembers it: whatever comes asks in its namespace.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::super::labels;
use strandline_model::Labels;
use strandline_sqlite::column::{Json, VIEW};

/// The most targets that are kept in memory, and as many namespaces.
const TARGETS_MAX: usize = 65_536;

/// The targets in one namespace of a cluster that ask for no inventory.
#[derive(Debug, Default)]
struct Anchored {
    /// The names of the labels that are their anchors, which are few.
    names: BTreeSet<String>,
    by_anchor: HashMap<i64, Vec<(i64, Labels)>>,
}

/// Targets by cluster and namespace, as far as they were asked for.
#[derive(Debug, Default)]
pub(in super::super) struct Targets(RefCell<Known>);

#[derive(Debug, Default)]
struct Known {
    by_place: HashMap<i64, HashMap<String, Arc<Anchored>>>,
    size: usize,
}

impl Targets {
    /// Asks anew, as the catalog changes what they are.
    pub(in super::super) fn forget(&self) {
        *self.0.borrow_mut() = Known::default();
    }

    /// Passes the environments of which a target in this namespace asks for no labels but these.
    pub(super) fn matching(
        &self,
        connection: &Connection,
        (cluster, namespace): (i64, &str),
        own: &Labels,
        mut pass: impl FnMut(i64),
    ) -> rusqlite::Result<()> {
        let targets = self.at(connection, cluster, namespace)?;
        if targets.by_anchor.is_empty() {
            return Ok(());
        }
        let own_anchors = own.iter().filter(|(name, _)| targets.names.contains(*name));
        for anchor in own_anchors.map(|(name, value)| labels::anchor((name, value))).chain([0]) {
            for (environment, wanted) in targets.by_anchor.get(&anchor).into_iter().flatten() {
                if wanted.iter().all(|(name, value)| own.get(name) == Some(value)) {
                    pass(*environment);
                }
            }
        }
        Ok(())
    }

    fn at(&self, connection: &Connection, cluster: i64, namespace: &str) -> rusqlite::Result<Arc<Anchored>> {
        let mut known = self.0.borrow_mut();
        if let Some(targets) = known.by_place.get(&cluster).and_then(|places| places.get(namespace)) {
            return Ok(targets.clone());
        }
        let sql = "SELECT environment_id, labels, anchor FROM target
            WHERE cluster_id = ?1 AND inventory = '' AND namespace = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![cluster, namespace])?;
        let (mut targets, mut size) = (Anchored::default(), 1);
        while let Some(row) = rows.next()? {
            let Json(wanted): Json<Labels> = VIEW.get(row, "target.labels")?;
            targets.names.extend(wanted.keys().next().cloned());
            targets
                .by_anchor
                .entry(row.get("anchor")?)
                .or_default()
                .push((row.get("environment_id")?, wanted));
            size += 1;
        }
        if known.size + size > TARGETS_MAX {
            *known = Known::default();
        }
        known.size += size;
        let targets = Arc::new(targets);
        known.by_place.entry(cluster).or_default().insert(namespace.to_owned(), targets.clone());
        Ok(targets)
    }
}
