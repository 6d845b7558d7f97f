//! How fresh the record of each cluster is, as its watches know it.

use super::clusters::Clusters;
use strandline_model::CoverageState;
use strandline_query::{Confirmed, Freshness};

/// What the watches of all clusters know.
pub(super) struct ClustersFreshness(pub(super) Clusters);

impl Freshness for ClustersFreshness {
    fn confirmed(&self, cluster: &str) -> Confirmed {
        let clusters = self.0.all();
        let known = clusters.iter().find(|known| known.name == cluster);
        let Some(stats) = known.map(|known| &known.stats) else { return Confirmed::Unknown };
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
