//! What REST and pages ask of the running service; it implements these, tests give their own.

use strandline_model::{KindName, WatchKey};
use strandline_protocol::{Check, RebuildReport, RelistReport};

/// Builds the view anew.
pub trait Rebuilding: Send + Sync {
    /// Begins, unless a build is going on.
    fn begin(&self);

    /// How the last build stands.
    fn report(&self) -> RebuildReport;
}

/// Which watches are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelistFilter {
    /// Only of these clusters; empty for all.
    pub clusters: Vec<String>,
    /// Only of these kinds; empty for all.
    pub kinds: Vec<KindName>,
}

impl RelistFilter {
    /// Whether a watch is one of them.
    pub fn matches(&self, watch: &WatchKey) -> bool {
        let cluster = self.clusters.is_empty() || self.clusters.contains(&watch.cluster);
        cluster && (self.kinds.is_empty() || self.kinds.iter().any(|name| name.means(&watch.kind)))
    }
}

/// Compares the record with clusters.
pub trait Relisting: Send + Sync {
    /// Makes the watches that are meant compare now.
    fn begin(&self, filter: &RelistFilter);

    /// How they stand.
    fn report(&self, filter: &RelistFilter) -> RelistReport;
}

/// How the recording of a cluster stands. Readiness does not depend on it: what was recorded can be asked for even
/// while a cluster is away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterLists {
    /// Its name.
    pub cluster: String,
    /// Kinds that are followed, as far as they are known.
    pub kinds: usize,
    /// Those whose first list is complete.
    pub listed: usize,
    /// Those whose first list is due and not complete.
    pub unlisted: Vec<String>,
    /// Whether all first lists are complete that can be: kinds that may not be listed or are not served are not waited for.
    pub complete: bool,
    /// What is in a gap now, each with its reason.
    pub gaps: Vec<(String, &'static str)>,
}

/// Whether the service can answer.
pub trait Readiness: Send + Sync {
    /// Every check, in the order in which they are shown; ready when all are in order.
    fn checks(&self) -> Vec<Check>;

    /// The state of the recording of each cluster.
    fn clusters(&self) -> Vec<ClusterLists> {
        Vec::new()
    }
}

/// The service's numbers.
pub trait Metrics: Send + Sync {
    /// All of them, in the text of OpenMetrics.
    ///
    /// # Errors
    /// When they cannot be written.
    fn text(&self) -> Result<String, std::fmt::Error>;
}

#[cfg(test)]
mod tests {
    use strandline_model::Kind;

    use super::*;

    #[test]
    fn watches_are_named_by_any_name_of_their_kind() {
        let watch = |group: &str, kind: &str| WatchKey {
            cluster: "eu".to_owned(),
            kind: Kind::new(group, kind),
            namespace: String::new(),
        };
        let filter = |kind: &str| RelistFilter {
            clusters: vec!["eu".to_owned()],
            kinds: kind.parse().ok().into_iter().collect(),
        };
        for name in ["Deployment", "deployments", "deploy", "deployment.apps", "deployments.v1.apps"] {
            assert!(filter(name).matches(&watch("apps", "Deployment")), "{name}");
            assert!(!filter(name).matches(&watch("", "Pod")), "{name}");
        }
        assert!(!filter("deployments.example.dev").matches(&watch("apps", "Deployment")));
        let elsewhere = RelistFilter { clusters: vec!["us".to_owned()], ..filter("deploy") };
        assert!(!elsewhere.matches(&watch("apps", "Deployment")));
    }
}
