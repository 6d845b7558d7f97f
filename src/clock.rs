//! Where the time comes from.
//!
//! Only the edges read a clock: the log's writer when it stamps a change, and queries when someone asks
//! for "two hours ago". Everything between takes time from the change, so that a replay gives the same view.

use crate::model::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(chrono::Utc::now().timestamp_micros())
    }
}
