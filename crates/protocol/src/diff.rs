//! What differs between two moments, or between two environments.

use serde::{Deserialize, Serialize};

use super::Snapshot;
use strandline_model::{ChangedBy, EnvironmentId, Health, Offset, ResourceKey, Timestamp, Uid};
use strandline_object_diff::Comparison;

/// What differs in one resource between two moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceDiff {
    /// Its uid.
    pub id: Uid,
    /// Its address.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// The earlier moment.
    pub from: StateAt,
    /// The later moment.
    pub to: StateAt,
    /// What differs.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// A resource at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateAt {
    /// The moment; asking with it gives the same again.
    pub offset: Offset,
    /// When the change at that offset was observed; none while the log is empty.
    pub time: Option<Timestamp>,
    /// The version that held then; none where the resource was not there.
    pub version: Option<VersionAt>,
}

/// A version by what made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionAt {
    /// The change that made it.
    pub offset: Offset,
    /// When that was observed.
    pub observed_at: Timestamp,
    /// Who made it.
    pub changed_by: Option<ChangedBy>,
}

/// What differs between an environment at two moments, or between two environments at one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentDiff {
    /// The earlier side, or the environment that was asked.
    pub from: EnvironmentAt,
    /// The later side, or the environment it is compared with.
    pub to: EnvironmentAt,
    /// Which parts of names stand for each other, as `staging:production`; of one environment none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// All resources of both sides, counted.
    pub counts: DiffCounts,
    /// What differs, by kind, namespace and name.
    pub items: Vec<ResourceChange>,
    /// The moment of the later side, and how to go on.
    pub metadata: super::PageMetadata,
}

impl EnvironmentDiff {
    /// Whether there is nothing to be told.
    pub fn is_empty(&self) -> bool {
        self.counts.differing() == 0
    }

    /// What is said of the later moment.
    pub fn snapshot(&self) -> &Snapshot {
        &self.metadata.snapshot
    }
}

/// An environment at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentAt {
    /// Its name in addresses.
    pub id: EnvironmentId,
    /// The moment; asking with it gives the same again.
    pub offset: Offset,
    /// When the change at that offset was observed; none while the log is empty.
    pub time: Option<Timestamp>,
    /// Whether it was declared, and in sight of the caller.
    pub exists: bool,
    /// Its health; none where it has none.
    pub health: Option<Health>,
    /// Its resources.
    pub resources: u64,
    /// The clusters in which it looks for them, by name.
    pub clusters: Vec<String>,
}

/// The resources of both sides, each counted once; of two environments also where they run in several clusters, as long as
/// the same became of it in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffCounts {
    /// New in the environment, and did not exist before.
    pub added: u64,
    /// Ended.
    pub removed: u64,
    /// Ended, and another of the same kind and name took the place.
    pub replaced: u64,
    /// Another version, with differences that are told.
    pub changed: u64,
    /// Another health, and no difference that is told.
    pub health: u64,
    /// New in the environment, but existed before.
    pub joined: u64,
    /// No longer in the environment, but still exists.
    pub left: u64,
    /// Only in the first of two environments.
    pub only_here: u64,
    /// Only in the second of two environments.
    pub only_there: u64,
    /// In both of two environments, with differences that are told.
    pub different: u64,
    /// Made by controllers and different in any way; told with what they belong to.
    pub children: u64,
    /// Different only in what was not asked for.
    pub hidden: u64,
    /// Without any difference.
    pub same: u64,
    /// Not compared, because there are too many.
    pub left_out: u64,
    /// Texts of two environments that are the same but for names that stand for each other, and are left out therefore.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renamed: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl DiffCounts {
    /// How many differ in what is told.
    pub fn differing(&self) -> u64 {
        let one =
            self.added + self.removed + self.replaced + self.changed + self.health + self.joined + self.left;
        one + self.only_here + self.only_there + self.different + self.children + self.left_out
    }
}

/// What became of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// What, in a word.
    #[serde(rename = "type")]
    pub change: ChangeType,
    /// Its address; of two environments that in the second, or where it is only there that in the first.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// The earlier one; none where there was none.
    pub before: Option<ResourceAt>,
    /// The later one; none where there is none.
    pub after: Option<ResourceAt>,
    /// The clusters in which the same became of it; `before` and `after` are those of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<DiffClusters>,
    /// What differs in it.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What became of the resources below it that controllers made, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<KindChanges>,
}

/// In which clusters of both sides the same became of a resource, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffClusters {
    /// Those of the earlier side or the first environment; empty where it is only on the other.
    pub before: Vec<String>,
    /// Those of the later side or the second environment; empty where it is only on the other.
    pub after: Vec<String>,
}

impl DiffClusters {
    /// With those of another resource of which the same became.
    pub fn add(&mut self, other: &DiffClusters) {
        for (all, more) in [(&mut self.before, &other.before), (&mut self.after, &other.after)] {
            all.extend(more.iter().cloned());
            all.sort_unstable();
            all.dedup();
        }
    }
}

/// One side of what became of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceAt {
    /// Its uid.
    pub id: Uid,
    /// Its name.
    pub name: String,
    /// Its namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Its cluster.
    pub cluster: String,
    /// Its health; none for kinds that have no health.
    pub health: Option<Health>,
    /// The change that made this version.
    pub offset: Offset,
}

/// What became of a resource between two sides, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// New.
    Added,
    /// Ended.
    Removed,
    /// Ended, and another took the place.
    Replaced,
    /// Changed.
    Changed,
    /// Only its health moved.
    Health,
    /// Existed, and came into the environment.
    Joined,
    /// Exists, and left the environment.
    Left,
    /// Only what controllers made of it differs.
    Children,
    /// Only in the first of two environments.
    OnlyHere,
    /// Only in the second of two environments.
    OnlyThere,
    /// In both of two environments, and not the same.
    Different,
}

impl ChangeType {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            ChangeType::Added => "added",
            ChangeType::Removed => "removed",
            ChangeType::Replaced => "replaced",
            ChangeType::Changed => "changed",
            ChangeType::Health => "health",
            ChangeType::Joined => "joined",
            ChangeType::Left => "left",
            ChangeType::Children => "children",
            ChangeType::OnlyHere => "only_here",
            ChangeType::OnlyThere => "only_there",
            ChangeType::Different => "different",
        }
    }
}

/// What became of the resources of a kind below another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindChanges {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// New, or come into the environment.
    pub added: u64,
    /// Ended, or left.
    pub removed: u64,
    /// Another version.
    pub changed: u64,
}
