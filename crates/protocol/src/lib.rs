//! What goes over the wire: the answers of the API, as the server writes them and clients read them.
//!
//! Shapes and words are those of `api/openapi.yaml`. Nothing here asks or decides anything.

mod catalog;
mod coverage;
mod diff;
mod feed;
mod graph;
mod health;
mod json;
mod login;
mod object_text;
mod onset;
mod operations;
mod over_time;
mod overview;
mod problem;
mod problem_code;
mod search;
mod timeline;
mod tokens;
mod watch;
mod write;

pub use catalog::{Agent, Deployment, LeftBehind, LeftNamespace, Project, ProjectGroup};
pub use coverage::{Cluster, Coverage, Gap, LastChange, WatchCoverage, WatchGap};
pub use diff::{
    ChangeType, DiffClusters, DiffCounts, EnvironmentAt, EnvironmentDiff, KindChanges, ResourceAt,
    ResourceChange, ResourceDiff, StateAt, VersionAt,
};
pub use feed::{FeedEntry, FeedEnvironment, FeedEvent, FeedKind};
pub use graph::{
    Below, Collapse, Edge, FarEnd, Graph, GraphNode, Group, KindBelow, MissingEnd, MissingReference,
    ResourceEdge, Why, WhyPath,
};
pub use health::{HealthHistory, HealthInterval, HealthTime, LaterHealth};
pub use json::JsonAnswer;
pub use login::{AuthenticationMethod, LoginMethods, OidcLogin, Rights, WhoAmI};
pub use object_text::ObjectText;
pub use onset::{Onset, OnsetChange, OnsetPlace, Rank};
pub use operations::*;
pub use over_time::{FieldValue, ImageInterval, ImageUse, Workload};
pub use overview::{
    EnvironmentCause, EnvironmentChange, EnvironmentSummary, EnvironmentVersion, Overview, OverviewCounts,
    OverviewEnvironment, OverviewGroup, OverviewPage, SavedViews, StripPart, Trend, TrendBucket,
};
pub use problem::{BodyPosition, EarliestMoment, ParameterError, ProblemDocument};
pub use problem_code::ProblemCode;
pub use search::{FoundCluster, FoundImage, FoundProject, Hit, Hits, SearchMatch, SearchResults, SearchType};
pub use timeline::{
    Bucket, Entry, EntryHealth, EntryResource, Tally, Timeline, TimelineBelow, TimelineGap, TimelinePage,
};
pub use tokens::{TokenReport, TokensReport};
pub use watch::{WatchedEnvironment, WatchedResource};
pub use write::{WithWarnings, Withdrawn, WriteMetadata, Written, WrittenList};

use serde::{Deserialize, Serialize};

use strandline_model::{
    ChangedBy, DeclaredBy, DeletionCause, EnvironmentId, EnvironmentSettings, EnvironmentState, Health,
    HealthCounts, Labels, Offset, ResourceKey, ResourceVersion, Target, Tier, Timestamp, Uid,
};

/// The moment an answer holds for, and how much of it was being watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The answer holds for the state after this change; ask with `at=<offset>` to get it again.
    pub offset: Offset,
    /// When that change was observed; none while the log is empty.
    pub time: Option<Timestamp>,
    /// The moment asked for, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Changes in the log that the view does not hold yet; none where the moment is an offset, or lies before them.
    pub lag_changes: u64,
    /// What of it was watched at that moment.
    pub coverage: Coverage,
    /// Of an answer about now: that nothing is recorded at this time, so that it may be out of date.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_recording: bool,
    /// Of an answer by time: everything that happened until then is recorded, save for what lies in a gap. In whole
    /// seconds; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_until: Option<Timestamp>,
    /// Of an answer by time: how late a change may have been recorded without a gap that says so, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The moment, and how to go on.
    pub metadata: PageMetadata,
}

/// A word of a question that matches nothing the caller sees at the moment, named where a list is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownWord {
    /// [`UnknownWord::CODE`].
    pub code: String,
    /// The parameter that has it.
    pub parameter: String,
    /// The word.
    pub value: String,
    /// What may have been meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// A sentence for people.
    pub message: String,
}

impl UnknownWord {
    /// The stable word for it.
    pub const CODE: &'static str = "unknown_value";
}

/// What a list has besides its items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageMetadata {
    /// The moment the list holds for.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Token of the next page; absent on the last.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Of a list in which there is nothing: the words of the question that fit nothing at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<UnknownWord>,
}

impl PageMetadata {
    /// With nothing to be warned of.
    pub fn new(snapshot: Snapshot, next: Option<String>) -> Self {
        PageMetadata { snapshot, next, warnings: Vec::new() }
    }
}

/// A single answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer<T> {
    /// What was asked for.
    #[serde(flatten)]
    pub value: T,
    /// The moment it holds for.
    pub metadata: Snapshot,
}

/// An environment at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Its name in addresses.
    pub id: EnvironmentId,
    /// Project path.
    pub project: String,
    /// Its name in the project.
    pub name: String,
    /// GitLab's slug of the name.
    pub slug: String,
    /// Tier.
    pub tier: Tier,
    /// Region; empty when not known.
    pub region: String,
    /// Whether it is in use.
    pub state: EnvironmentState,
    /// Labels of users' own: its own and those of its project.
    pub labels: Labels,
    /// What else is declared of it.
    #[serde(flatten)]
    pub settings: EnvironmentSettings,
    /// Who declares it.
    pub declared_by: Vec<DeclaredBy>,
    /// Where its resources are found.
    pub targets: Vec<Target>,
    /// The last deployment that ended well.
    pub last_deployment: Option<Deployment>,
    /// Whether the caller may see what it holds; if not, its health is left out too.
    pub access: EnvironmentAccess,
    /// Its health.
    pub health: EnvironmentHealth,
    /// Why it may show less than people expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<EnvironmentWarning>,
}

/// Why an environment may show less than people expect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentWarning {
    /// Stable word: `no_agent_access`, `not_watched`, `no_resources`, `no_target` or `agent_without_cluster`.
    pub code: String,
    /// Sentences for people.
    pub message: String,
    /// For `no_resources`, the labels that were looked for.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
}

/// Whether a caller may see what an environment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentAccess {
    /// It may.
    Granted,
    /// An agent that serves the environment does not let it in.
    Denied,
}

/// The health of an environment at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentHealth {
    /// The health; none while the environment has no resource that has a health.
    pub state: Option<Health>,
    /// Since when it has been so.
    pub since: Timestamp,
    /// While part of it is not watched and `state` is therefore Unknown: what was known last.
    pub last_known: Option<Health>,
    /// Its resources by their own health.
    pub counts: HealthCounts,
    /// The set of rules that counted, such as `4`.
    pub rule_set: String,
}

/// A resource in a list or graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Its uid.
    pub id: Uid,
    /// Its address.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// Its health; none for kinds that have no health.
    pub health: Option<Health>,
    /// When it came to be so, by the states that were seen of it.
    pub health_since: Timestamp,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// The object's own time of creation.
    pub created_at: Option<Timestamp>,
    /// The change that made this state.
    pub offset: Offset,
    /// When that change was observed.
    pub observed_at: Timestamp,
    /// While it is being deleted: its deletionTimestamp, which with a period of grace may lie ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminating_since: Option<Timestamp>,
    /// What its health becomes by itself if nothing changes until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<LaterHealth>,
}

/// A resource that a search found: as it is, or as it was last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundResource {
    /// What lists say of it.
    #[serde(flatten)]
    pub resource: Resource,
    /// When it went; absent while it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// Everything about one resource at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceDetail {
    /// What lists say of it.
    #[serde(flatten)]
    pub resource: Resource,
    /// The cluster's token for this state.
    pub resource_version: ResourceVersion,
    /// Who made this state.
    pub changed_by: Option<ChangedBy>,
    /// The rule that judged its health.
    pub rule: String,
    /// The set of rules that judged, such as `4`, or `4+0c5f0d2a9b1e` where users added to the program's.
    pub rule_set: String,
    /// The environments it belongs to.
    pub environments: Vec<EnvironmentId>,
    /// While it is being deleted: the finalizers that hold it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<String>,
    /// The object, redacted and without managedFields.
    pub object: ObjectText,
}

/// One version of a resource, or its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// The change's offset, as text.
    pub id: String,
    /// The change's offset.
    pub offset: Offset,
    /// When it was observed.
    pub observed_at: Timestamp,
    /// Applied or deleted.
    #[serde(rename = "type")]
    pub change: VersionChange,
    /// The cluster's token; empty for a deletion.
    pub resource_version: ResourceVersion,
    /// Health from here on.
    pub health: Option<Health>,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// The rule that judged its health; empty for a deletion.
    pub rule: String,
    /// The set of rules that judged.
    pub rule_set: String,
    /// What its health became, or is to become, by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<LaterHealth>,
    /// Who made it.
    pub changed_by: Option<ChangedBy>,
    /// For a deletion, how we know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<DeletionCause>,
    /// The object, where bodies were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectText>,
}

/// What a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionChange {
    /// A state.
    Applied,
    /// The end.
    Deleted,
}

/// What Kubernetes' Events say of one object, folded: all that say the same are one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldedEvent {
    /// Stands for what is said of what; the same at every moment.
    pub id: String,
    /// The object it is said of.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// The object's uid; empty where Events name it by its address alone.
    pub uid: Uid,
    /// `Normal` or `Warning`.
    pub r#type: String,
    /// One word.
    pub reason: String,
    /// A sentence, cut at 4 KiB.
    pub note: String,
    /// The component that says so.
    pub component: String,
    /// How often, over all Events that say it.
    pub count: u64,
    /// When first, by the cluster's clock.
    pub first_at: Timestamp,
    /// When last, by the cluster's clock.
    pub last_at: Timestamp,
}

/// When something went, and how to ask for it as it was last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// When it was deleted or withdrawn, or left what the caller sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The last offset at which it was there.
    pub last_offset: Offset,
}
