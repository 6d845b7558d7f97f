//! Lets few changes gather before they are written: a transaction costs as much as many changes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// A transaction with fewer changes than this is followed by a wait.
const FEW: u64 = 128;

/// When a writer may write again. After a while in which nothing came what comes is written at once; only where transactions of few
/// changes follow on each other each waits until so long after the one before, which nobody sees who looks at what is written.
#[derive(Debug, Default)]
pub struct Pace {
    apart: Duration,
    /// When the last transaction began.
    begun: Option<Instant>,
    /// Whether it had few changes.
    few: bool,
}

impl Pace {
    /// Transactions of few changes begin so far apart; with no time, there is no wait.
    pub const fn new(apart: Duration) -> Self {
        Pace { apart, begun: None, few: false }
    }

    /// Waits as long as it is too early for another transaction, which then begins.
    pub fn wait(&mut self) {
        if let Some(left) = self.left() {
            sleep(left);
        }
        (self.begun, self.few) = (Some(Instant::now()), false);
    }

    /// What has begun was written, with so many changes.
    pub fn wrote(&mut self, changes: u64) {
        self.few = changes < FEW;
    }

    fn left(&self) -> Option<Duration> {
        let begun = self.begun.filter(|_| self.few)?;
        Some(self.apart.saturating_sub(begun.elapsed())).filter(|left| !left.is_zero())
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
}
