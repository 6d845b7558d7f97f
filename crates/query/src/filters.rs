//! What narrows, orders and pages answers.

use serde::Serialize;

use strandline_model::{
    At, CoverageState, DeploymentStatus, EnvironmentFilter, EnvironmentId, Health, KindName, Tier, Uid,
};
use strandline_protocol::{Collapse, Graph, HealthHistory};
use strandline_syntax::{Glob, ImagePattern, keywords};

/// The resource that a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceRef {
    /// Its uid.
    pub uid: Uid,
    /// Its cluster, where several clusters have the uid.
    pub cluster: Option<String>,
}

impl ResourceRef {
    /// Of this uid, in this cluster if one is named.
    pub fn new(uid: &Uid, cluster: Option<&str>) -> Self {
        ResourceRef { uid: uid.clone(), cluster: cluster.map(str::to_owned) }
    }
}

/// Which resources of an environment a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResourceFilter {
    /// Only these kinds; empty for all.
    pub kinds: Vec<KindName>,
    /// Only these healths; empty for all.
    pub healths: Vec<Health>,
    /// Only what stands directly below the resource of this uid in the environment's tree.
    pub owner: Option<Uid>,
    /// In which order.
    pub order: ResourceOrder,
}

/// In which order a list of resources is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ResourceOrder {
    /// By kind, namespace and name.
    #[default]
    Name,
    /// What needs attention first, then as they came into being.
    Health,
}

keywords!(
    ResourceOrder, "order", Exact,
    Name => "name",
    Health => "health",
);

/// Which watches a list of coverage holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CoverageFilter {
    /// Only these clusters; empty for all.
    pub clusters: Vec<String>,
    /// Only these kinds; empty for all.
    pub kinds: Vec<KindName>,
    /// Only these states; empty for all.
    pub states: Vec<CoverageState>,
}

/// Which deployments a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeploymentFilter {
    /// Only those to this environment.
    pub environment: Option<EnvironmentId>,
    /// Only those to environments that this lets through at the moment; their health is not looked at.
    pub environments: EnvironmentFilter,
    /// Only those of jobs of projects whose paths match one of these; empty for all.
    pub projects: Vec<Glob>,
    /// Only those that stand like this; empty for all.
    pub statuses: Vec<DeploymentStatus>,
    /// Only those of branches and tags that match one of these; empty for all.
    pub refs: Vec<Glob>,
    /// Only those that somebody began whose name matches one of these; empty for all.
    pub by: Vec<Glob>,
    /// Only those that took their status at this time or later, a duration being one before the moment.
    pub since: Option<At>,
    /// Only those that took it at this time or before.
    pub until: Option<At>,
}

/// Which uses of images a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageFilter {
    /// Only images that match one of these; empty for all.
    pub images: Vec<ImagePattern>,
    /// Only in this environment.
    pub environment: Option<EnvironmentId>,
    /// Only in environments of these tiers; empty for all.
    pub tiers: Vec<Tier>,
    /// Only in these regions; empty for all.
    pub regions: Vec<String>,
    /// Where the span begins; without it the list is of one moment.
    pub from: Option<At>,
    /// Where the span ends; without it at the moment of the question.
    pub to: Option<At>,
}

/// What a graph shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphFilter {
    /// Only the resource of this uid and what is below it.
    pub under: Option<Uid>,
    /// The cluster, where several hold the uid.
    pub cluster: Option<String>,
    /// Levels below the first that are shown; none for all.
    pub depth: Option<usize>,
    /// What stands together.
    pub collapse: Collapse,
    /// The most resources that are shown one by one, 1 to [`Graph::LIMIT`].
    pub limit: usize,
}

impl Default for GraphFilter {
    fn default() -> Self {
        let collapse = Collapse::default();
        GraphFilter { under: None, cluster: None, depth: None, collapse, limit: Graph::DEFAULT }
    }
}

impl GraphFilter {
    /// Levels below the first that are shown.
    pub(super) fn depth(&self) -> usize {
        match self.collapse {
            Collapse::Owner => 0,
            _ => self.depth.unwrap_or(usize::MAX),
        }
    }
}

/// Over which span health is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HealthFilter {
    /// Where it begins, a duration being one before its end; a day before where nothing is said.
    pub since: Option<At>,
    /// The most intervals that are told, 1 to [`HealthHistory::LIMIT`].
    pub limit: usize,
}

impl Default for HealthFilter {
    fn default() -> Self {
        HealthFilter { since: None, limit: HealthHistory::DEFAULT }
    }
}

/// Which page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Most items in it, 1 to [`PageRequest::MAX`].
    pub limit: usize,
    /// Token of an earlier page, which pins this one to the same moment; `at` then need not be said again.
    pub after: Option<String>,
}

impl PageRequest {
    /// The most items one page holds.
    pub const MAX: usize = 500;
    /// Items in a page when nothing is said.
    pub const DEFAULT: usize = 100;
}

impl Default for PageRequest {
    fn default() -> Self {
        PageRequest { limit: Self::DEFAULT, after: None }
    }
}
