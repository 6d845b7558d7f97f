//! How long to wait before trying again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Waits that double from failure to failure, each cut at random so that many watches do not try in step.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    least: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    pub(super) fn new(least: Duration, most: Duration) -> Self {
        Backoff { least, most, failures: 0 }
    }

    /// The next wait: between half and all of the doubled one.
    pub(super) fn next(&mut self) -> Duration {
        let whole = self.least.saturating_mul(1 << self.failures.min(16)).min(self.most);
        self.failures = self.failures.saturating_add(1);
        between(whole / 2, whole)
    }

    /// All is well again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A random duration between two.
pub(super) fn between(from: Duration, to: Duration) -> Duration {
    // A fresh hasher is seeded at random, which is all the randomness that spreading retries needs.
    let random = RandomState::new().hash_one(0_u8);
    let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
    from + to.saturating_sub(from).mul_f64(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_start_over() {
        let (least, most) = (Duration::from_millis(500), Duration::from_secs(30));
        let mut backoff = Backoff::new(least, most);
        for whole in [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map(Duration::from_millis) {
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
        }
        for _ in 0..100 {
            assert!(backoff.next() <= most);
        }
        backoff.reset();
        assert!(backoff.next() <= least);
    }
}
