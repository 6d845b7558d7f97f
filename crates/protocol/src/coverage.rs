//! What of clusters was watched, and the gaps.

use serde::{Deserialize, Serialize};

use strandline_model::{CoverageState, Offset, Timestamp, WatchKey};

/// Whether all that an answer speaks of was being watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Whether there is no gap.
    pub complete: bool,
    /// The gaps, the oldest first; at most 100.
    pub gaps: Vec<Gap>,
}

/// A kind of a cluster that was not being watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Cluster.
    pub cluster: String,
    /// API group.
    pub group: String,
    /// Kind; empty when the cluster, or with a group that group alone, could not be asked for its kinds.
    pub kind: String,
    /// The only namespace concerned; empty for all.
    pub namespace: String,
    /// Since when.
    pub since: Timestamp,
    /// In an answer by time, when it ended; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Stable word.
    pub reason: String,
    /// Sentence for people.
    pub message: String,
}

/// A cluster at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Its name.
    pub id: String,
    /// Region; empty when not known.
    pub region: String,
    /// Whether every kind of it was watched.
    pub watched: bool,
    /// Since when something of it has not been watched.
    pub unwatched_since: Option<Timestamp>,
    /// Kinds that were watched.
    pub kinds_watched: u64,
    /// Gaps, the oldest first.
    pub gaps: Vec<Gap>,
}

/// How one kind of a cluster was followed at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchCoverage {
    /// What this speaks of; a kind with an empty name is the discovery of its group or of the whole cluster.
    #[serde(flatten)]
    pub watch: WatchKey,
    /// Watched, a gap, or left out.
    pub state: CoverageState,
    /// Since when it has been so.
    pub since: Timestamp,
    /// Stable word; empty while watched.
    pub reason: String,
    /// Sentence for people; may be empty.
    pub message: String,
    /// Resources of the kind that were there.
    pub resources: u64,
    /// The newest change of one of its resources.
    pub last_change: Option<LastChange>,
    /// When the cluster last answered this watch; known only now.
    pub last_seen: Option<Timestamp>,
    /// How long ago that is; only while watched.
    pub lag_ms: Option<u64>,
    /// The newest gap.
    pub last_error: Option<WatchGap>,
    /// The newest gaps, the newest first; at most [`WatchCoverage::GAPS`].
    pub gaps: Vec<WatchGap>,
}

impl WatchCoverage {
    /// The most gaps listed of one watch.
    pub const GAPS: usize = 10;
}

/// Where in the log something changed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastChange {
    /// The change's offset.
    pub offset: Offset,
    /// When it was observed.
    pub observed_at: Timestamp,
}

/// A time in which one watch saw nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchGap {
    /// The last moment of which it knows.
    pub since: Timestamp,
    /// When it ended; none while it lasted.
    pub until: Option<Timestamp>,
    /// Stable word.
    pub reason: String,
    /// Sentence for people.
    pub message: String,
}
