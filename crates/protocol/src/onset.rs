//! When a health began, and what changed just before.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Entry, Resource, TimelineGap};
use strandline_model::{Health, Offset, Timestamp, Uid};
use strandline_object_diff::Difference;

/// When the present or last time of a health began, and what changed in the window before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Onset {
    /// The health.
    pub health: Health,
    /// The clusters in which the environment looks for its resources, by name; of a resource its own.
    pub clusters: Vec<String>,
    /// What it was before; none where there was none to be told.
    pub before: Option<Health>,
    /// When it was seen to begin.
    pub from: Timestamp,
    /// When it ended; none while it lasted.
    pub until: Option<Timestamp>,
    /// The change with which it was seen to begin.
    pub offset: Offset,
    /// The last moment at which something else was known: earlier than `from` where it began while not everything was
    /// being watched.
    pub not_before: Timestamp,
    /// Where the window begins that was looked at; it ends with `from`.
    pub looked_at_since: Timestamp,
    /// What had this health then, and what of it was below that and needed attention most.
    pub sick: Vec<Resource>,
    /// Resources that are sick too and not told, by the roots they stand below.
    pub sick_left_out: u64,
    /// What may have caused it, the likeliest first, and no effect above what caused it.
    pub causes: Vec<OnsetChange>,
    /// Further ones that are not told.
    pub causes_left_out: u64,
    /// What else changed: what controllers made of it, and what clusters say of their objects. The newest first.
    pub effects: Vec<OnsetChange>,
    /// Further ones that are not told.
    pub effects_left_out: u64,
    /// Whether more happened in the window than was looked at: then its beginning was not.
    pub truncated: bool,
    /// What was not being watched in the window, so that changes of it are not known or told later than they were.
    pub gaps: Vec<TimelineGap>,
}

impl Onset {
    /// The most resources that are told as sick.
    pub const SICK: usize = 20;
    /// The most causes, and the most effects, that are told.
    pub const CHANGES: usize = 50;
    /// The window where nothing is said, in seconds.
    pub const WINDOW_SECONDS: u64 = 900;
    /// The longest window, in seconds.
    pub const WINDOW_SECONDS_MAX: u64 = 30 * 24 * 3600;
}

/// Something that changed before a health began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnsetChange {
    /// What it may have to do with it.
    pub rank: Rank,
    /// How many links lead from it to what became sick, 0 for that itself; none where none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
    /// Where else the same was changed to the same: one change, made in several clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<OnsetPlace>,
    /// What of the object differs from its state before, the most telling first, long values cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Differences that are not told.
    #[serde(default)]
    pub differences_left_out: u64,
}

/// Where else something changed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnsetPlace {
    /// The resource's uid there.
    pub id: Uid,
    /// The cluster.
    pub cluster: String,
    /// The namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// The change with which it came there.
    pub offset: Offset,
    /// When that was observed.
    pub observed_at: Timestamp,
}

/// What a change may have to do with what followed, the likeliest to have caused it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// A deployment.
    Deployment,
    /// What is asked for was changed, of what became sick or of what that hangs on.
    Cause,
    /// What is asked for was changed elsewhere, or only metadata was.
    Other,
    /// A controller did it because of another change.
    Consequence,
    /// The cluster says that something is otherwise.
    Symptom,
}

impl Rank {
    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Rank::Deployment => "deployment",
            Rank::Cause => "cause",
            Rank::Other => "other",
            Rank::Consequence => "consequence",
            Rank::Symptom => "symptom",
        }
    }

    /// Whether it may have caused what followed.
    pub const fn may_cause(self) -> bool {
        matches!(self, Rank::Deployment | Rank::Cause | Rank::Other)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
