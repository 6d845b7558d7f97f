//! How long to wait before trying again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Numbers that spread what would otherwise happen in step; the same for the same seed.
#[derive(Clone, Debug)]
pub(super) struct Spread(u64);

impl Spread {
    pub(super) fn new(seed: u64) -> Self {
        Spread(seed)
    }

    /// A duration between two.
    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        // A Weyl sequence, mixed: nothing here has to be hard to guess.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let share = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        from + to.saturating_sub(from).mul_f64(share)
    }
}

/// A seed that differs from process to process and from call to call.
pub(super) fn random_seed() -> u64 {
    // A fresh hasher is seeded at random, which is all the randomness that spreading retries needs.
    RandomState::new().hash_one(0_u8)
}

/// Waits that double from failure to failure, each cut at random so that many watches do not try in step.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    least: Duration,
    most: Duration,
    failures: u32,
    spread: Spread,
}

impl Backoff {
    pub(super) fn new(least: Duration, most: Duration, spread: Spread) -> Self {
        Backoff { least, most, failures: 0, spread }
    }

    /// The next wait: between half and all of the doubled one.
    pub(super) fn next(&mut self) -> Duration {
        let whole = self.least.saturating_mul(1 << self.failures.min(16)).min(self.most);
        self.failures = self.failures.saturating_add(1);
        self.spread.between(whole / 2, whole)
    }

    /// All is well again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_start_over() {
        let (least, most) = (Duration::from_millis(500), Duration::from_secs(30));
        let mut backoff = Backoff::new(least, most, Spread::new(random_seed()));
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
