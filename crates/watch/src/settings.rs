//! How one cluster is followed.

use std::sync::Arc;
use std::time::Duration;

use super::backoff::{Spread, random_seed};
use super::connect::ClusterConnection;
use super::discovery::Selection;
use super::limits::Limits;
use super::stats::ClusterStats;
use strandline_model::WatchKey;
use strandline_redact::Rules;

/// How one cluster is followed.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// The cluster's name in the log.
    pub name: String,
    /// What is redacted, and what does not count as a change.
    pub rules: Arc<Rules>,
    /// Which kinds are watched.
    pub selection: Selection,
    /// How often the cluster is asked for its kinds.
    pub rediscover: Duration,
    /// How many kinds are listed at the same time.
    pub concurrent_lists: usize,
    /// How many batches are read and recorded at the same time.
    pub concurrent_batches: usize,
    /// Whether lists are asked for as streams, where the server offers that.
    pub streaming_lists: bool,
    /// Sizes and times.
    pub limits: Limits,
    /// From which waits are spread; the same seed spreads them the same way.
    pub seed: u64,
    /// Counters, shared with those that show them.
    pub stats: Arc<ClusterStats>,
}

impl ClusterSettings {
    /// The whole cluster with the usual limits.
    pub fn new(name: impl Into<String>, rules: Arc<Rules>) -> Self {
        ClusterSettings {
            name: name.into(),
            rules,
            selection: Selection::default(),
            rediscover: Duration::from_secs(30),
            concurrent_lists: 8,
            concurrent_batches: 4,
            streaming_lists: true,
            limits: Limits::default(),
            seed: random_seed(),
            stats: Arc::default(),
        }
    }

    /// Spreads the waits of one watch unlike those of another.
    pub(super) fn spread(&self, watch: &WatchKey) -> Spread {
        let name = blake3::hash(watch.to_string().as_bytes());
        let bytes = name.as_bytes().first_chunk().copied().unwrap_or_default();
        Spread::new(self.seed ^ u64::from_le_bytes(bytes))
    }
}

/// A connection to a cluster: credentials, and what they are for. A cluster may have several.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// The connection.
    pub connection: ClusterConnection,
    /// The only namespaces it looks into; with any, kinds outside namespaces are not followed by it. Empty for the
    /// whole cluster.
    pub namespaces: Vec<String>,
}
