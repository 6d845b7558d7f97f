//! Lets few changes gather before they are written: a transaction costs as much as many changes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// A transaction with fewer changes than this is followed by a wait.
const FEW: u64 = 128;

/// Such transactions begin so many times as far apart as each takes, so that they are a part of the time …
const TIMES: u32 = 4;
/// … and never further than so many times what they are apart at least.
const MOST: u32 = 5;

/// When a writer may write again. After a while in which nothing came what comes is written at once; only where transactions of few
/// changes follow on each other each waits until some time after the one before, which nobody sees who looks at what is written.
#[derive(Debug, Default)]
pub struct Pace {
    apart: Duration,
    /// When the last transaction began.
    begun: Option<Instant>,
    /// How long that took, if it had few changes.
    took: Option<Duration>,
}

impl Pace {
    /// Transactions of few changes begin so far apart at least; with no time, there is no wait.
    pub const fn new(apart: Duration) -> Self {
        Pace { apart, begun: None, took: None }
    }

    /// Waits as long as it is too early for another transaction, which then begins.
    pub fn wait(&mut self) {
        if let Some(left) = self.left() {
            sleep(left);
        }
        (self.begun, self.took) = (Some(Instant::now()), None);
    }

    /// What has begun was written, with so many changes.
    pub fn wrote(&mut self, changes: u64) {
        self.took = self.begun.filter(|_| changes < FEW).map(|begun| begun.elapsed());
    }

    fn left(&self) -> Option<Duration> {
        let apart = self.after(self.took?);
        Some(apart.saturating_sub(self.begun?.elapsed())).filter(|left| !left.is_zero())
    }

    /// How far apart those begin of which one took so long.
    fn after(&self, took: Duration) -> Duration {
        (took * TIMES).clamp(self.apart, self.apart * MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn who_wrote_few_waits_and_who_wrote_many_or_nothing_does_not() {
        let mut pace = Pace::new(LONG);
        pace.wait();
        assert_eq!(pace.left(), None, "nothing was written");
        pace.wrote(FEW);
        assert_eq!(pace.left(), None, "there may be more");
        pace.wrote(FEW - 1);
        assert!(pace.left().is_some_and(|left| left > LONG / 2));
        let mut pace = Pace::default();
        pace.wait();
        pace.wrote(1);
        assert_eq!(pace.left(), None, "there is no pace to keep");
    }

    #[test]
    fn the_longer_one_takes_the_more_gather_for_the_next() {
        let pace = Pace::new(Duration::from_millis(5));
        let after = |millis| pace.after(Duration::from_millis(millis)).as_millis();
        assert_eq!([0, 1, 2, 4, 6, 7, 1000].map(after), [5, 5, 8, 16, 24, 25, 25]);
        assert_eq!(Pace::default().after(LONG), Duration::ZERO);
    }
}
