//! What happened over a span of time, on one axis.

use serde::{Deserialize, Serialize};

use super::{Deployment, FoldedEvent, HealthHistory, PageMetadata};
use strandline_model::{
    ChangedBy, DeletionCause, Happening, Health, Lane, Offset, ResourceKey, Timestamp, Uid,
};
use strandline_object_diff::Class;

/// What happened to an environment, or to a resource, over a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Where the span begins.
    pub since: Timestamp,
    /// Where it ends.
    pub until: Timestamp,
    /// The span in equal parts, the earliest first.
    pub buckets: Vec<Bucket>,
    /// What the parts come to.
    pub totals: Tally,
    /// Health over the span.
    pub health: HealthHistory,
    /// When something that this holds was not being watched, the newest first; at most [`Timeline::GAPS`].
    pub gaps: Vec<TimelineGap>,
    /// Whether there were more gaps.
    pub gaps_truncated: bool,
    /// Of how many resources it tells, where it tells of what is below one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<TimelineBelow>,
    /// Whether more happened to resources than is looked at for one answer, so that the earliest is not counted.
    pub truncated: bool,
    /// What happened, one by one: a page of it.
    pub entries: Vec<Entry>,
}

impl Timeline {
    /// The most parts of a span.
    pub const BUCKETS: usize = 1000;
    /// Parts when nothing is said.
    pub const BUCKETS_DEFAULT: usize = 60;
    /// The most gaps that are told.
    pub const GAPS: usize = 500;
    /// The most resources below one of which it is told.
    pub const BELOW: usize = 5000;
}

/// A timeline with a page of its entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelinePage {
    /// The timeline.
    #[serde(flatten)]
    pub timeline: Timeline,
    /// The moment, and how to go on.
    pub metadata: PageMetadata,
}

/// How much happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Changes of resources, their coming and going among them.
    pub changes: u64,
    /// Of these: resources that were created or came to belong.
    pub created: u64,
    /// Of these: resources that ended or belong no more.
    pub deleted: u64,
    /// What Kubernetes' Events said.
    pub events: u64,
    /// Of these: what was no part of the normal course of things.
    pub warnings: u64,
    /// Deployments that were told of for the first time.
    pub deployments: u64,
}

impl Tally {
    /// Adds what happened so often.
    pub fn add(&mut self, what: Happening, times: u64) {
        let also = match what {
            Happening::Changed => None,
            Happening::Created | Happening::Joined => Some(&mut self.created),
            Happening::Deleted | Happening::Parted => Some(&mut self.deleted),
            Happening::Said => None,
            Happening::Warned => Some(&mut self.warnings),
            Happening::Deployed => Some(&mut self.deployments),
            Happening::Progressed => None,
        };
        if let Some(count) = also {
            *count += times;
        }
        match what {
            Happening::Said | Happening::Warned => self.events += times,
            Happening::Deployed | Happening::Progressed => {}
            _ => self.changes += times,
        }
    }

    /// Both together.
    #[must_use]
    pub fn sum(mut self, other: Tally) -> Tally {
        self.changes += other.changes;
        self.created += other.created;
        self.deleted += other.deleted;
        self.events += other.events;
        self.warnings += other.warnings;
        self.deployments += other.deployments;
        self
    }
}

/// An equal part of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Its first moment.
    pub from: Timestamp,
    /// Where the next begins; of the last, its last moment.
    pub until: Timestamp,
    /// What happened in it.
    #[serde(flatten)]
    pub tally: Tally,
    /// The health in it that needs attention most.
    pub health: Option<Health>,
    /// Whether all of it was being watched, and is for the caller to know.
    pub covered: bool,
}

/// A time in which something was not being watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineGap {
    /// Cluster.
    pub cluster: String,
    /// API group.
    pub group: String,
    /// Kind; empty when the cluster could not be asked for its kinds.
    pub kind: String,
    /// The only namespace concerned; empty for all.
    pub namespace: String,
    /// The last moment of which something is known.
    pub since: Timestamp,
    /// When it ended; none while it lasted.
    pub until: Option<Timestamp>,
    /// Stable word.
    pub reason: String,
    /// Sentence for people.
    pub message: String,
}

/// Of how many resources a timeline tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineBelow {
    /// Resources, the one at the top among them.
    pub resources: u64,
    /// Resources below it, the earliest ones, of which it does not tell because there are too many.
    pub left_out: u64,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Tells it from all others of the timeline.
    pub id: String,
    /// The change with which it came.
    pub offset: Offset,
    /// When that was observed; for health within a grace time, and for gaps, when it began.
    pub observed_at: Timestamp,
    /// The lane on which it is drawn.
    pub lane: Lane,
    /// What happened: for changes `changed`, `created`, `joined`, `deleted` or `parted`; for Events `said` or `warned`;
    /// for deployments `deployed` or `progressed`; for health `became`; for gaps `unwatched`.
    pub what: String,
    /// On the lane of changes, what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<EntryResource>,
    /// On the lane of Events, the Event as it stood then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<FoldedEvent>,
    /// On the lane of deployments, the deployment as it stood then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// On the lane of health, what it was and became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<EntryHealth>,
    /// On the lane of gaps, the gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<TimelineGap>,
}

/// A resource as a change left it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryResource {
    /// Its uid.
    pub id: Uid,
    /// Its address.
    #[serde(flatten)]
    pub key: ResourceKey,
    /// Its health from then on.
    pub health: Option<Health>,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Who made the change, as far as the object tells.
    pub changed_by: Option<ChangedBy>,
    /// For its end, how we know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<DeletionCause>,
    /// For a change of state, what it concerns; empty where nothing but noise differs from the state before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Class>,
}

/// A change of health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryHealth {
    /// What it was; none where there was none to be told.
    pub before: Option<Health>,
    /// What it became.
    pub after: Option<Health>,
    /// One word on why; empty for environments.
    pub reason: String,
    /// A sentence; empty for environments.
    pub message: String,
}
