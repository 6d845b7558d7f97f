//! Backing off while the disk is full, with few log lines.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::Instant;

/// How long to wait after the first try; each further one waits twice as long, up to the longest.
const WAIT_LEAST: Duration = Duration::from_millis(250);

/// The longest wait between two tries.
const WAIT_MOST: Duration = Duration::from_secs(1);

/// How often a log line repeats that the disk is still full.
const REMINDER: Duration = Duration::from_secs(60);

/// Tries that found no room on the disk: the first of them is logged, then one a minute, then the end.
#[derive(Debug)]
pub struct FullDiskBackoff {
    what: &'static str,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    logged: Instant,
    tries: u64,
    wait: Duration,
}

impl FullDiskBackoff {
    /// Of who writes `what`, and has room so far.
    pub fn new(what: &'static str) -> Self {
        FullDiskBackoff { what, waiting: None }
    }

    /// A try found no room: how long to wait before the next.
    pub fn next_wait(&mut self, error: &dyn Display) -> Duration {
        let (what, now) = (self.what, Instant::now());
        let Some(waiting) = &mut self.waiting else {
            tracing::error!(%error, "no space left on the disk to write {what}; free disk space, then writing resumes automatically");
            self.waiting = Some(Waiting { since: now, logged: now, tries: 1, wait: WAIT_LEAST });
            return WAIT_LEAST;
        };
        waiting.tries += 1;
        if now - waiting.logged >= REMINDER {
            waiting.logged = now;
            let (tries, seconds) = (waiting.tries, (now - waiting.since).as_secs());
            tracing::error!(%error, tries, seconds, "still no space left on the disk to write {what}");
        }
        waiting.wait = (waiting.wait * 2).min(WAIT_MOST);
        waiting.wait
    }

    /// A try found room.
    pub fn end(&mut self) {
        if let Some(Waiting { since, tries, .. }) = self.waiting.take() {
            let (what, seconds) = (self.what, since.elapsed().as_secs());
            tracing::info!(tries, seconds, "disk space is available again; writing {what} resumes");
        }
    }
}

/// Sleeps for so long on this thread, or until `stop` is true.
pub fn sleep_unless(wait: Duration, stop: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !stop() {
        let left = wait.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_become_longer_and_begin_anew_once_there_was_room() {
        let mut backoff = FullDiskBackoff::new("a test");
        let waits: Vec<_> = (0..8).map(|_| backoff.next_wait(&"full").as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 1000, 1000, 1000, 1000, 1000]);
        backoff.end();
        assert_eq!(backoff.next_wait(&"full"), WAIT_LEAST);
    }
}
