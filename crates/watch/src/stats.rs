//! What a cluster's watches have done so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use strandline_log::Appended;
use strandline_model::{CoverageState, Kind, Timestamp, WatchKey};

/// Counters of one cluster, counted by its watches and read by anyone.
#[derive(Debug, Default)]
pub struct ClusterStats {
    received: AtomicU64,
    written: AtomicU64,
    unchanged: AtomicU64,
    noise: AtomicU64,
    stale: AtomicU64,
    undecodable: AtomicU64,
    relists: AtomicU64,
    missed: AtomicU64,
    requests: AtomicU64,
    watches: AtomicU64,
    last_confirmed: AtomicI64,
    statuses: Mutex<BTreeMap<WatchKey, WatchStatus>>,
    checks: Mutex<BTreeMap<WatchKey, Arc<Notify>>>,
}

/// The state of one watch, as its task last reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchStatus {
    /// As last recorded; none before the first mark.
    pub state: Option<CoverageState>,
    /// Why it is a gap; empty while it is none.
    pub reason: &'static str,
    /// Since when it is a gap; none while it is none.
    pub gap_since: Option<Timestamp>,
    /// Up to then all that happened is recorded, as a list, a bookmark or an object's own time proved.
    pub confirmed_until: Option<Timestamp>,
    /// When the last bookmark came.
    pub bookmark_at: Option<Timestamp>,
    /// When a consistency list last compared the record with what the cluster has.
    pub verified_at: Option<Timestamp>,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterCounts {
    /// Objects and deletions that the cluster sent.
    pub received: u64,
    /// Changes the log wrote because of them.
    pub written: u64,
    /// Those that changed nothing.
    pub unchanged: u64,
    /// Those of the unchanged that came under a new token and differed in noise only.
    pub noise: u64,
    /// Those older than what is recorded.
    pub stale: u64,
    /// What could not be read as an object.
    pub undecodable: u64,
    /// Differences from the cluster that no event reported and a comparison found.
    pub missed: u64,
    /// Lists that were begun.
    pub relists: u64,
    /// List and watch requests sent.
    pub requests: u64,
    /// Watches that run now.
    pub watches: u64,
    /// Up to when the cluster is recorded, by the watch that is furthest; none while nothing is.
    pub last_confirmed: Option<Timestamp>,
}

impl ClusterStats {
    /// The counters now.
    pub fn counts(&self) -> ClusterCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let last_confirmed = self.last_confirmed.load(Ordering::Relaxed);
        ClusterCounts {
            received: of(&self.received),
            written: of(&self.written),
            unchanged: of(&self.unchanged),
            noise: of(&self.noise),
            stale: of(&self.stale),
            undecodable: of(&self.undecodable),
            missed: of(&self.missed),
            relists: of(&self.relists),
            requests: of(&self.requests),
            watches: of(&self.watches),
            last_confirmed: (last_confirmed != 0).then(|| Timestamp::from_micros(last_confirmed)),
        }
    }

    pub(super) fn appended(&self, received: usize, appended: Appended) {
        self.received.fetch_add(received as u64, Ordering::Relaxed);
        self.written.fetch_add(appended.written as u64, Ordering::Relaxed);
        self.unchanged.fetch_add(appended.unchanged as u64, Ordering::Relaxed);
        self.noise.fetch_add(appended.noise as u64, Ordering::Relaxed);
        self.stale.fetch_add(appended.stale as u64, Ordering::Relaxed);
    }

    pub(super) fn undecodable(&self) {
        self.undecodable.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn missed(&self, differences: u64) {
        self.missed.fetch_add(differences, Ordering::Relaxed);
    }

    /// Wakes a watch for comparing what is recorded with what the cluster has.
    pub(super) fn check_of(&self, watch: &WatchKey) -> Arc<Notify> {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(checks.entry(watch.clone()).or_default())
    }

    /// Asks the watches of a kind, or all of them, to compare what is recorded with what the cluster has as soon as
    /// they can; returns how many are asked. Each reports when it did as [`WatchStatus::verified_at`].
    pub fn request_checks(&self, kind: Option<&Kind>) -> usize {
        let checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = checks.iter().filter(|(watch, _)| kind.is_none_or(|kind| watch.kind == *kind));
        asked.map(|(_, check)| check.notify_one()).count()
    }

    pub(super) fn relist(&self) {
        self.relists.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn record_confirmed(&self, at: Timestamp) {
        self.last_confirmed.fetch_max(at.as_micros(), Ordering::Relaxed);
    }

    /// The state of each watch, in the order of kinds and namespaces.
    pub fn statuses(&self) -> Vec<(WatchKey, WatchStatus)> {
        let statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        statuses.iter().map(|(watch, status)| (watch.clone(), status.clone())).collect()
    }

    /// Up to when everything that happened in the cluster is recorded, save for what is in a gap; none while nothing is
    /// watched.
    pub fn confirmed_until(&self) -> Option<Timestamp> {
        let statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = statuses
            .iter()
            .filter(|(watch, status)| !watch.is_discovery() && status.state == Some(CoverageState::Watched));
        watched.filter_map(|(_, status)| status.confirmed_until).min()
    }

    /// Changes the state of a watch.
    pub fn update(&self, watch: &WatchKey, change: impl FnOnce(&mut WatchStatus)) {
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        change(statuses.entry(watch.clone()).or_default());
    }

    /// Forgets a watch that has ended for good.
    pub(super) fn forget(&self, watch: &WatchKey) {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner).remove(watch);
        self.checks.lock().unwrap_or_else(PoisonError::into_inner).remove(watch);
    }

    pub(super) fn set_watches(&self, watches: usize) {
        self.watches.store(watches as u64, Ordering::Relaxed);
    }
}
