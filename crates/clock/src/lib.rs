//! Where the time comes from.
//!
//! Only the edges read a clock: the log's writer when it stamps a change, and queries when someone asks
//! for "two hours ago". Everything between takes time from the change, so that a replay gives the same view.
//!
//! A server reads the machine's clock through a [`SteadyClock`], which does not follow its jumps at once.

mod steady;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use strandline_model::{ClockEvent, Timestamp};

pub use steady::{ClockStatus, Skew, SteadyClock};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// How much time has passed since some moment, whatever becomes of the time of day. A clock that is only moved by
    /// hand, as in simulations, goes by its own time.
    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.now().as_micros()).unwrap_or(0))
    }

    /// What the clock did since this was asked last, for whoever records it. What is to be recorded from here on may
    /// follow another clock after this, and only after this.
    fn take_changes(&self) -> Vec<ClockChange> {
        Vec::new()
    }
}

/// What a clock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// What happened.
    pub event: ClockEvent,
    /// By how many microseconds the machine's clock was ahead of the recorded time; negative when it was behind.
    pub deviation_micros: i64,
    /// Which recorded times are right.
    pub exact: Exact,
}

/// Which times that a clock told were right, where another is followed from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// All up to this one.
    Until(Timestamp),
    /// Those before this one, at which the clock was set or started.
    Before(Timestamp),
    /// That has to be found out from what was recorded.
    Unknown,
}

/// What a clock showed when it was read, for all that is to agree on it.
#[derive(Clone, Copy, Debug)]
pub struct ClockReading(pub Timestamp);

impl Clock for ClockReading {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// The machine's clock, for who has nothing to record.
pub fn system() -> std::sync::Arc<dyn Clock> {
    std::sync::Arc::new(SystemClock)
}

/// A point from which a wait is measured: says how long something took and never when it was, so that nothing recorded
/// can rest on it.
pub type Mark = tokio::time::Instant;

/// The present one.
pub fn mark() -> Mark {
    tokio::time::Instant::now()
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(chrono::Utc::now().timestamp_micros())
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}
