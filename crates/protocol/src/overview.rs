//! Environments counted together.

use serde::{Deserialize, Serialize};

use super::{Deployment, EnvironmentAccess, Gap, UnknownWord};
use strandline_model::{
    EnvironmentId, GroupBy, Health, HealthCounts, Offset, ResourceKey, SavedView, Tier, Timestamp, Uid,
    more_urgent,
};

/// All environments of a selection at a moment, in groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// What they are grouped by.
    pub group_by: Vec<GroupBy>,
    /// The groups, those that need attention most first, then by their keys.
    pub groups: Vec<OverviewGroup>,
    /// How many more groups there are.
    pub groups_left_out: u64,
    /// All environments together; one that stands in several groups counts once.
    pub totals: OverviewCounts,
    /// Their health over a span of time, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// A page of them one by one, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<OverviewPage>,
    /// Where there are none: the words of the question that fit nothing at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<UnknownWord>,
}

impl Overview {
    /// The most groups that are told.
    pub const LIMIT: usize = 500;
    /// The most environments that one group names.
    pub const ATTENTION: usize = 5;
    /// The most environments on one page.
    pub const ENVIRONMENTS: usize = 100;
}

/// Environments that have the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewGroup {
    /// A key for each of what they are grouped by; empty where it is not known, or there is none.
    pub keys: Vec<String>,
    /// How many there are, and how they are.
    #[serde(flatten)]
    pub counts: OverviewCounts,
    /// Those that need attention most, then those that came to need it last; at most [`Overview::ATTENTION`].
    pub attention: Vec<OverviewEnvironment>,
}

/// How many environments there are, and how they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewCounts {
    /// All of them.
    pub total: u64,
    /// Those of which the caller may not see what they hold: they have no health here and no resources.
    pub denied: u64,
    /// The others, by health.
    pub environments: HealthCounts,
    /// The resources of the others, by health.
    pub resources: HealthCounts,
    /// What among the environments needs attention most; none where none has a health.
    pub health: Option<Health>,
}

impl OverviewCounts {
    /// Counts one that the caller may not look into.
    pub fn deny(&mut self) {
        self.total += 1;
        self.denied += 1;
    }

    /// Counts one with its health and resources.
    pub fn count(&mut self, health: Option<Health>, resources: HealthCounts) {
        self.total += 1;
        *self.environments.slot(health) += 1;
        self.resources.add(resources);
        self.health = more_urgent(self.health, health);
    }
}

/// An environment that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewEnvironment {
    /// Its name in addresses.
    pub id: EnvironmentId,
    /// Project path.
    pub project: String,
    /// Its name in the project.
    pub name: String,
    /// Its health.
    pub health: Health,
    /// Since when it has been so.
    pub since: Timestamp,
}

/// The health of a selection over a span of time, in equal parts.
///
/// It counts the environments that the selection holds at the end of the span, each from when it came to be. Those
/// without a health count nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Where the span begins.
    pub since: Timestamp,
    /// Where it ends.
    pub until: Timestamp,
    /// The earliest time that is counted: later than `since` where the record begins later, or where health changed
    /// more than [`Trend::CHANGES`] times.
    pub counted_since: Timestamp,
    /// Its parts, the earliest first.
    pub buckets: Vec<TrendBucket>,
    /// What was not recorded in the span, as far as the caller sees it.
    pub gaps: Vec<Gap>,
}

impl Trend {
    /// The parts of a span where nothing is said.
    pub const BUCKETS_DEFAULT: usize = 48;
    /// The most parts of a span.
    pub const BUCKETS: usize = 500;
    /// The most changes of health that are looked at, the newest.
    pub const CHANGES: usize = 200_000;
}

/// A part of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendBucket {
    /// Where it begins.
    pub from: Timestamp,
    /// Where it ends.
    pub until: Timestamp,
    /// Environments by health at its end.
    pub environments: HealthCounts,
    /// The most environments that had each health at one time in it.
    pub most: HealthCounts,
    /// Whether all of it is counted and was recorded.
    pub covered: bool,
}

/// A page of environments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverviewPage {
    /// The environments, in the order that was asked for.
    pub items: Vec<EnvironmentSummary>,
    /// Token of the next page; absent on the last.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What people ask of an environment before anything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentSummary {
    /// Its name in addresses.
    pub id: EnvironmentId,
    /// Project path.
    pub project: String,
    /// Its name in the project.
    pub name: String,
    /// Tier.
    pub tier: Tier,
    /// Region; empty when not known.
    pub region: String,
    /// The clusters that it looks into.
    pub clusters: Vec<String>,
    /// The keys of each group that it is in.
    pub keys: Vec<Vec<String>>,
    /// Whether the caller may see what it holds; if not, nothing that follows from that is here.
    pub access: EnvironmentAccess,
    /// Its health; none while it holds nothing that has a health.
    pub health: Option<Health>,
    /// While part of it is not watched and its health is therefore Unknown: what was known last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known: Option<Health>,
    /// Since when it has been so.
    pub since: Timestamp,
    /// Its resources by their own health.
    pub resources: HealthCounts,
    /// The version that it is to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<EnvironmentVersion>,
    /// The newest deployment to it, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_deployment: Option<Deployment>,
    /// The newest change to what is asked of a resource in it that neither a controller nor a GitOps tool made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_change: Option<EnvironmentChange>,
    /// What makes it so, where it is not as it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EnvironmentCause>,
    /// Its health over the span of the trend, or else over a day: each from when it began, the earliest first.
    pub strip: Vec<StripPart>,
}

impl EnvironmentSummary {
    /// The most parts of a strip, the newest.
    pub const STRIP: usize = 100;
    /// The most changes of an environment, the newest, among which its last change is looked for.
    pub const CHANGES: usize = 200;
    /// The most resources in which one page looks for causes.
    pub const CAUSES: u64 = 50_000;
}

/// The version of an environment: the tags of its main image, which is the one that is named like its project or else
/// the one that most of its workloads are to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentVersion {
    /// The repository of the image.
    pub repository: String,
    /// Its tags, the one of most workloads first; of an image without a tag the digest. At most three.
    pub tags: Vec<String>,
    /// How many other repositories its workloads name.
    pub others: u64,
}

/// A change to a resource, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentChange {
    /// The uid of the resource.
    pub id: Uid,
    /// Its address.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// `changed` or `created`.
    pub what: String,
    /// The field manager that wrote it.
    pub by: String,
    /// The offset of the change.
    pub offset: Offset,
    /// When it was observed.
    pub observed_at: Timestamp,
}

/// What makes an environment what it is: the worst of what is below its worst root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentCause {
    /// The uid of the resource.
    pub id: Uid,
    /// Its address.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// Its health.
    pub health: Option<Health>,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Since when it has had this health.
    pub since: Timestamp,
    /// How many of its kind in the environment have the same health.
    pub alike: u64,
    /// How many of its kind there are.
    pub of: u64,
    /// How many roots make the environment what it is.
    pub roots: u64,
}

/// A health of a strip, and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripPart {
    /// When it began; the first may have begun before the strip.
    pub from: Timestamp,
    /// The health; none for a time in which there is none to show.
    pub health: Option<Health>,
}

/// The overviews that the configuration gives names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SavedViews {
    /// In the order of the configuration.
    pub items: Vec<SavedView>,
}
