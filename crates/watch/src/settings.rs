//! What one cluster's watching can be told.

use std::sync::Arc;
use std::time::Duration;

use super::backoff::{Spread, random_seed};
use super::{ClusterConnection, ClusterStats, Selection, ServerTime};
use strandline_model::WatchKey;
use strandline_redact::Rules;

/// How one cluster is followed.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// The cluster's name in the log.
    pub name: String,
    /// What is hidden, and what is no change.
    pub rules: Arc<Rules>,
    /// Which kinds are watched.
    pub selection: Selection,
    /// How often the cluster is asked for its kinds.
    pub rediscover: Duration,
    /// How many kinds are listed at the same time.
    pub concurrent_lists: usize,
    /// How many batches of what the cluster tells are read and recorded at the same time.
    pub concurrent_batches: usize,
    /// Whether lists are asked for as streams, where the server offers that.
    pub streaming_lists: bool,
    /// Sizes and times.
    pub limits: Limits,
    /// From which waits are spread; the same seed spreads them the same way.
    pub seed: u64,
    /// Counters, shared with whoever shows them.
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

/// Bounds of what a watch takes in and of how long it waits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Objects asked for in one page of a list.
    pub page_objects: usize,
    /// The largest page taken in; a larger one is asked for again with fewer objects.
    pub page_bytes: usize,
    /// The most objects that a list may have; one that goes on for longer is broken off.
    pub list_objects: usize,
    /// The longest line of a watch, that is, the largest object.
    pub line_bytes: usize,
    /// Lines appended together at most.
    pub batch_lines: usize,
    /// Bytes of lines appended together, more or less.
    pub batch_bytes: usize,
    /// How long a line waits for others to be recorded with it.
    pub linger: Duration,
    /// How long the server may leave a request unanswered.
    pub response: Duration,
    /// How long a connection may stay silent.
    pub idle: Duration,
    /// How long a streaming list may stay silent before its end is told; after that the kind is listed in pages.
    pub streaming_silence: Duration,
    /// How long a kind that is no longer discovered is watched on, for the deletions of its objects to arrive.
    pub farewell: Duration,
    /// How long a kind must be absent from complete discoveries before it counts as removed.
    pub removal: Duration,
    /// How long changes of what tells the kinds are gathered before the cluster is asked for them.
    pub gather: Duration,
    /// How long being without a connection goes unmentioned.
    pub patience: Duration,
    /// How long the server is asked to keep a watch open, at least; up to a quarter is added at random.
    pub watch: Duration,
    /// The first and shortest wait after a failure.
    pub backoff_least: Duration,
    /// The longest wait after a failure.
    pub backoff_most: Duration,
    /// The least time between two openings of the same watch.
    pub pace: Duration,
    /// Where the servers' own time is taken down, with every answer.
    pub server_time: ServerTime,
    /// How many watches in a row may close at once and silently before the kind is listed afresh.
    pub empty_watches: u32,
    /// How often what is recorded of a kind is compared with all that the cluster has; spread over the second half.
    pub consistency: Duration,
    /// How soon that is done once something may have been missed; spread over the second half.
    pub consistency_soon: Duration,
    /// The least time between two such comparisons of a kind for that reason.
    pub consistency_apart: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            page_objects: 500,
            page_bytes: 32 << 20,
            list_objects: 5_000_000,
            line_bytes: 16 << 20,
            batch_lines: 500,
            batch_bytes: 4 << 20,
            linger: Duration::from_millis(5),
            response: Duration::from_secs(65),
            idle: Duration::from_secs(120),
            streaming_silence: Duration::from_secs(10),
            farewell: Duration::from_secs(10),
            removal: Duration::from_secs(20),
            gather: Duration::from_millis(300),
            patience: Duration::from_secs(5),
            watch: Duration::from_secs(240),
            backoff_least: Duration::from_millis(500),
            backoff_most: Duration::from_secs(30),
            pace: Duration::from_secs(1),
            server_time: ServerTime::default(),
            empty_watches: 5,
            consistency: Duration::from_secs(24 * 60 * 60),
            consistency_soon: Duration::from_secs(60),
            consistency_apart: Duration::from_secs(10 * 60),
        }
    }
}

/// A way into a cluster: credentials, and what they are for. Several may lead into the same cluster.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// The way.
    pub connection: ClusterConnection,
    /// The only namespaces it looks into; with any, kinds outside namespaces are not followed by it. Empty for the
    /// whole cluster.
    pub namespaces: Vec<String>,
}
