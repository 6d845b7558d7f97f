//! Clocks for tests, which go only as they are set.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::Clock;
use strandline_model::Timestamp;

/// When a [`Machine`] begins, in microseconds since 1970.
pub const START: i64 = 1_767_225_600_000_000;

/// A clock that does not move until it is set.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_micros(), Ordering::Release);
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.set(self.now().plus(time));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Acquire))
    }
}

/// A machine whose clock differs from the true time by what it is set to.
#[derive(Debug, Default)]
pub struct Machine {
    passed: AtomicI64,
    wrong_by: AtomicI64,
}

impl Machine {
    /// The true time.
    pub fn truth(&self) -> Timestamp {
        Timestamp::from_micros(START + self.passed.load(Ordering::Relaxed))
    }

    /// Lets so many microseconds pass.
    pub fn pass(&self, micros: i64) {
        self.passed.fetch_add(micros, Ordering::Relaxed);
    }

    /// By how many microseconds the clock is ahead; negative when it is behind.
    pub fn wrong_by(&self) -> i64 {
        self.wrong_by.load(Ordering::Relaxed)
    }

    /// Sets the clock wrong by so many microseconds.
    pub fn set(&self, wrong_by: i64) {
        self.wrong_by.store(wrong_by, Ordering::Relaxed);
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.truth().as_micros() + self.wrong_by())
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.passed.load(Ordering::Relaxed).unsigned_abs())
    }
}
