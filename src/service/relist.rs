//! Comparisons of the record with clusters, when somebody asks for them.

use std::sync::Arc;

use crate::app::{RelistFilter, Relisting};
use strandline_clock::Clock;
use strandline_model::WatchKey;
use strandline_protocol::{RelistReport, VerifiedWatch};
use strandline_watch::{ClusterStats, WatchStatus};

/// The watches of all clusters.
pub(super) struct Relist {
    clusters: Vec<(String, Arc<ClusterStats>)>,
    clock: Arc<dyn Clock>,
}

impl Relist {
    pub(super) fn new(clusters: &[(String, Arc<ClusterStats>)], clock: Arc<dyn Clock>) -> Self {
        Relist { clusters: clusters.to_vec(), clock }
    }

    fn watches(&self, filter: &RelistFilter) -> Vec<(&ClusterStats, WatchKey, WatchStatus)> {
        let of = |(_, stats): &'_ (String, Arc<ClusterStats>)| stats.statuses();
        let clusters = self
            .clusters
            .iter()
            .flat_map(|cluster| of(cluster).into_iter().map(|(watch, status)| (&*cluster.1, watch, status)));
        clusters.filter(|(_, watch, _)| !watch.is_discovery() && filter.matches(watch)).collect()
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
        let clusters = self.clusters.iter().filter(|(name, _)| concerned(name));
        let differences = clusters.map(|(_, stats)| stats.counts().missed).sum();
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
