//! Changes across environments.

use serde::{Deserialize, Serialize};

use super::{Entry, FoldedEvent, OnsetPlace};
use strandline_model::{EnvironmentId, Happening, Offset, Tier};
use strandline_object_diff::Difference;
use strandline_syntax::keywords;

/// What kind of change an entry of the feed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedKind {
    /// What is asked of a resource changed: its spec, or whatever else it holds besides metadata and status.
    Spec,
    /// A resource was created.
    Created,
    /// A resource was deleted.
    Deleted,
    /// A deployment was recorded.
    Deployment,
    /// The health of an environment became another.
    Health,
    /// A Kubernetes Event of type Warning was said for the first time.
    Warning,
}

keywords!(
    FeedKind, "type of change", Exact,
    Spec => "spec",
    Created => "created",
    Deleted => "deleted",
    Deployment => "deployment",
    Health => "health",
    Warning => "warning",
);

impl FeedKind {
    /// What people and pipelines do, which a feed holds where nothing else is asked for.
    pub const REQUESTED: [FeedKind; 4] =
        [FeedKind::Spec, FeedKind::Created, FeedKind::Deleted, FeedKind::Deployment];

    /// What happened where it is of this kind; none for health.
    pub const fn happening(self) -> Option<Happening> {
        match self {
            FeedKind::Spec => Some(Happening::Changed),
            FeedKind::Created => Some(Happening::Created),
            FeedKind::Deleted => Some(Happening::Deleted),
            FeedKind::Deployment => Some(Happening::Deployed),
            FeedKind::Warning => Some(Happening::Warned),
            FeedKind::Health => None,
        }
    }
}

/// A change that a feed names, made in one or several environments and clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// What kind of change it is.
    #[serde(rename = "type")]
    pub kind: FeedKind,
    /// What changed, on one line.
    pub summary: String,
    /// Who made it: the field manager, or of a deployment its user; empty where it is not known.
    pub by: String,
    /// The environments that it was made in.
    pub environments: Vec<FeedEnvironment>,
    /// The clusters that it was made in.
    pub clusters: Vec<String>,
    /// What happened, where it happened last.
    #[serde(flatten)]
    pub entry: Entry,
    /// Where else the same was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<OnsetPlace>,
    /// What of the object differs from its state before, the most telling first, long values cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Differences that are not shown.
    #[serde(default)]
    pub differences_left_out: u64,
    /// Changes that followed in its environments within [`FeedEntry::FOLLOW_UP_SECONDS`] and before the next change that
    /// somebody asked for: the work of controllers. At most [`FeedEntry::FOLLOW_UPS`] for each environment.
    #[serde(default)]
    pub follow_ups: u64,
}

impl FeedEntry {
    /// The most follow-up changes that are counted in one environment.
    pub const FOLLOW_UPS: u64 = 1000;
    /// How long after a change what follows is counted for it.
    pub const FOLLOW_UP_SECONDS: u64 = 900;
}

/// What Kubernetes' Events say of an object, as a list across environments names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedEvent {
    /// Where it was said last, or where the object came to belong to the environments later.
    pub offset: Offset,
    /// The environments that the object belongs to, or belonged to then.
    pub environments: Vec<FeedEnvironment>,
    /// What was said, and how often by then.
    #[serde(flatten)]
    pub event: FoldedEvent,
}

/// An environment as a feed names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedEnvironment {
    /// Its name in addresses.
    pub id: EnvironmentId,
    /// Its project.
    pub project: String,
    /// Its name.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its region; empty where it is not known.
    pub region: String,
}
