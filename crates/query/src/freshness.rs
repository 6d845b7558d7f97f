//! What only the running program knows of the moment of an answer.

use std::fmt;
use std::sync::Arc;

use strandline_log::WriterProblem;
use strandline_model::Timestamp;

/// Up to when what a cluster holds is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// Everything that happened until then is recorded, save for what lies in a gap.
    Until(Timestamp),
    /// All of the cluster lies in gaps, which answers name.
    InGaps,
    /// Nobody has looked at the cluster yet.
    Unknown,
}

/// Tells how fresh the record of each cluster is.
pub trait Freshness: Send + Sync {
    /// Up to when what the cluster of this name holds is recorded.
    fn confirmed(&self, cluster: &str) -> Confirmed;
}

/// What an answer says besides what view and log hold.
#[derive(Clone, Default)]
pub(super) struct Live {
    /// What keeps the log from being written.
    pub(super) problem: Option<WriterProblem>,
    pub(super) freshness: Option<Arc<dyn Freshness>>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("problem", &self.problem).finish_non_exhaustive()
    }
}

impl Live {
    /// Whether it says something of the clusters that an answer speaks of.
    pub(super) fn needs_clusters(&self) -> bool {
        self.problem.is_some() || self.freshness.is_some()
    }

    /// Up to when all that these clusters hold is recorded; none where that is not known of one of them, or all of them
    /// lie in gaps.
    pub(super) fn confirmed_until(&self, clusters: &[String]) -> Option<Timestamp> {
        let freshness = self.freshness.as_ref()?;
        let mut least: Option<Timestamp> = None;
        for cluster in clusters {
            match freshness.confirmed(cluster) {
                Confirmed::Until(time) => least = Some(least.map_or(time, |least| least.min(time))),
                Confirmed::InGaps => {}
                Confirmed::Unknown => return None,
            }
        }
        least
    }
}
