//! How fresh the record of each cluster is, as its watches know it.

use std::collections::HashMap;
use std::sync::Arc;

use strandline_model::CoverageState;
use strandline_query::{Confirmed, Freshness};
use strandline_watch::ClusterStats;

/// What the watches of all clusters know.
pub(super) struct ClustersFreshness {
    stats: HashMap<String, Arc<ClusterStats>>,
}

impl ClustersFreshness {
    pub(super) fn new(clusters: &[(String, Arc<ClusterStats>)]) -> Self {
        ClustersFreshness { stats: clusters.iter().cloned().collect() }
    }
}

impl Freshness for ClustersFreshness {
    fn confirmed(&self, cluster: &str) -> Confirmed {
        let Some(stats) = self.stats.get(cluster) else { return Confirmed::Unknown };
        if let Some(until) = stats.confirmed_until() {
            return Confirmed::Until(until);
        }
        let statuses = stats.statuses();
        let in_gap = |state: Option<CoverageState>| state == Some(CoverageState::Gap);
        if !statuses.is_empty() && statuses.iter().all(|(_, status)| in_gap(status.state)) {
            return Confirmed::InGaps;
        }
        Confirmed::Unknown
    }
}
