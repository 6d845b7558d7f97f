//! What the machine's clock did, as the log records it.

use serde::{Deserialize, Serialize};

use crate::ids::Offset;
use crate::time::Timestamp;

/// A jump of the machine's clock, its end, the time that is recorded from here on, or that time has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockMark {
    /// What happened.
    pub event: ClockEvent,
    /// By how many microseconds the machine's clock was ahead of recorded time; negative when it was behind.
    pub deviation_micros: i64,
    /// The changes whose recorded times are wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inexact: Option<InexactTimes>,
}

/// What the machine's clock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockEvent {
    /// It jumped; recorded time went on as before.
    Jumped,
    /// It is back where recorded time is.
    Returned,
    /// Recorded time follows the machine's clock from here on, and may go back at this mark.
    Adopted,
    /// Recorded times of earlier changes were found to be wrong.
    Mended,
    /// It did nothing: so much time has passed without a change that something is judged anew.
    Passed,
}

/// Changes whose recorded times are wrong: no time resolves to any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InexactTimes {
    /// The first of them.
    pub from: Offset,
    /// The first change after them.
    pub to: Offset,
    /// What happened since then, and until the first change after them, was recorded under wrong times.
    pub since: Timestamp,
    /// When, as far as is known, times were exact again.
    pub until: Timestamp,
}
