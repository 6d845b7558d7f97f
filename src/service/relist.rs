//! Comparisons of the record with clusters, when somebody asks for them.

use std::sync::Arc;

use super::clusters::Clusters;
use crate::app::{RelistFilter, Relisting};
use strandline_clock::Clock;
use strandline_model::WatchKey;
use strandline_protocol::{RelistReport, VerifiedWatch};
use strandline_watch::{ClusterStats, WatchStatus};

/// The watches of all clusters.
pub(super) struct Relist {
    clusters: Clusters,
    clock: Arc<dyn Clock>,
}

impl Relist {
    pub(super) fn new(clusters: &Clusters, clock: Arc<dyn Clock>) -> Self {
        Relist { clusters: clusters.clone(), clock }
    }

    fn watches(&self, filter: &RelistFilter) -> Vec<(Arc<ClusterStats>, WatchKey, WatchStatus)> {
        let clusters = self.clusters.all();
        let of = |stats: &Arc<ClusterStats>| {
            let stats = Arc::clone(stats);
            stats.statuses().into_iter().map(move |(watch, status)| (Arc::clone(&stats), watch, status))
        };
        let watches = clusters.iter().flat_map(|cluster| of(&cluster.stats));
        watches.filter(|(_, watch, _)| !watch.is_discovery() && filter.matches(watch)).collect()
    }
}

impl Relisting for Relist {
    fn begin(&self, filter: &RelistFilter) {
        for (stats, watch, _) in self.watches(filter) {
            stats.request_checks(Some(&watch.kind));
        }
    }

    fn report(&self, filter: &RelistFilter) -> RelistReport {
        let concerned = |name: &String| filter.clusters.is_empty() || filter.clusters.contains(name);
        let clusters = self.clusters.all();
        let concerned = clusters.iter().filter(|cluster| concerned(&cluster.name));
        let differences = concerned.map(|cluster| cluster.stats.counts().missed).sum();
        let watches = self.watches(filter).into_iter().map(|(_, watch, status)| VerifiedWatch {
            cluster: watch.cluster,
            group: watch.kind.group,
            kind: watch.kind.kind,
            namespace: watch.namespace,
            state: status.state,
            verified_at: status.verified_at,
        });
        RelistReport { now: self.clock.now(), differences, watches: watches.collect() }
    }
}
