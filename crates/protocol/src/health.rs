//! What is said of health over time.

use serde::{Deserialize, Serialize};

use strandline_model::{Health, Offset, Timestamp};

/// The health of an environment or a resource over a span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthHistory {
    /// Where the span begins; later than was asked for where there are too many intervals to look at.
    pub since: Timestamp,
    /// Where it ends.
    pub until: Timestamp,
    /// The intervals within it, the newest first, as many as were asked for.
    pub intervals: Vec<HealthInterval>,
    /// Whether there are more.
    pub truncated: bool,
    /// How long it was in each health, and how often, over the whole span.
    pub times: Vec<HealthTime>,
    /// How often it became Missing or Degraded from something better, over the whole span; what is between is compared where
    /// its health was Unknown.
    pub worsened: u64,
    /// Whether that happened three times or more within the last hour of the span.
    pub flapping: bool,
}

impl HealthHistory {
    /// The most intervals that are told.
    pub const LIMIT: usize = 500;
    /// The most that are told when nothing is said.
    pub const DEFAULT: usize = 100;
}

/// A time in which health did not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthInterval {
    /// The health; none where there was none to be told.
    pub health: Option<Health>,
    /// When it began; for the oldest this may lie before the span.
    pub from: Timestamp,
    /// When it ended; none while it lasted.
    pub until: Option<Timestamp>,
    /// How long it lasted, up to the end of the span.
    pub lasted_ms: u64,
    /// The change with which it began.
    pub offset: Offset,
    /// One word on why, as it began; empty for environments.
    pub reason: String,
    /// A sentence; empty for environments.
    pub message: String,
    /// The set of rules that judged.
    pub rule_set: String,
}

/// The time spent in one health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthTime {
    /// The health.
    pub health: Option<Health>,
    /// How long in all.
    pub total_ms: u64,
    /// In how many intervals.
    pub intervals: u64,
}

/// What a health becomes by itself when the same state has lasted for too long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaterHealth {
    /// From when on.
    pub at: Timestamp,
    /// The health from then on; none where it has no health any more.
    pub health: Option<Health>,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// The offset from which on answers say so; absent while it lies ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
}
