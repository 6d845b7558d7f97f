//! How far something is that takes its time: a bar on a terminal, lines elsewhere.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use super::stderr;
use crate::format::{grouped, lasted};

/// How often a bar moves.
const BAR: Duration = Duration::from_millis(100);

/// How often a line is written where there is no terminal.
const LINE: Duration = Duration::from_secs(10);

/// The width of the bar itself.
const WIDTH: u64 = 24;

/// Reports on standard error how far something is.
pub(super) struct Progress {
    terminal: bool,
    begun: Instant,
    shown_at: Option<Instant>,
    /// Where it began.
    from: u64,
}

impl Progress {
    /// Of something that begins now, where it was before.
    pub(super) fn new(from: u64) -> Self {
        Progress { terminal: io::stderr().is_terminal(), begun: Instant::now(), shown_at: None, from }
    }

    /// Reports, unless it was reported just now, that `done` of `all` changes are done.
    pub(super) fn update(&mut self, done: u64, all: u64) {
        let (since, elapsed) = (done.saturating_sub(self.from), self.begun.elapsed());
        self.write(done, all, || line(done, all, since, elapsed));
    }

    /// Reports likewise how much of a past is recorded.
    pub(super) fn update_past(&mut self, done: Duration, all: Duration) {
        let (seconds, of) = (done.as_secs(), all.as_secs());
        self.write(seconds, of, || {
            format!("{}%  {} of {} recorded", share(seconds, of), lasted(done), lasted(all))
        });
    }

    fn write(&mut self, done: u64, all: u64, line: impl FnOnce() -> String) {
        let pause = if self.terminal { BAR } else { LINE };
        if self.shown_at.is_none_or(|shown_at| shown_at.elapsed() >= pause) {
            self.shown_at = Some(Instant::now());
            let line = line();
            match self.terminal {
                true => stderr::passing(format_args!("\r{} {line}\u{1b}[K", bar(done, all))),
                false => stderr::passing(format_args!("{line}\n")),
            }
        }
    }

    /// Removes the bar.
    pub(super) fn end(self) {
        if self.terminal && self.shown_at.is_some() {
            stderr::passing(format_args!("\r\u{1b}[K"));
        }
    }
}

fn bar(done: u64, all: u64) -> String {
    let full = done.saturating_mul(WIDTH).checked_div(all).unwrap_or(WIDTH).min(WIDTH);
    let count = |n: u64| usize::try_from(n).unwrap_or_default();
    format!("[{}{}]", "#".repeat(count(full)), "-".repeat(count(WIDTH - full)))
}

/// In parts of a hundred.
fn share(done: u64, all: u64) -> u64 {
    done.saturating_mul(100).checked_div(all).unwrap_or(100).min(100)
}

/// Share, numbers, rate, and the time that is left if it goes on like this.
fn line(done: u64, all: u64, since: u64, elapsed: Duration) -> String {
    let mut line = format!("{}%  {} of {} changes", share(done, all), grouped(done), grouped(all));
    let rate = since as f64 / elapsed.as_secs_f64().max(0.001);
    if since > 0 && rate >= 1.0 {
        let left = Duration::from_secs((all.saturating_sub(done) as f64 / rate) as u64);
        line.push_str(&format!("  {}/s  {} left", grouped(rate as u64), lasted(left)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_rate_and_rest_are_told() {
        let shown_at = |done, all, since, seconds| line(done, all, since, Duration::from_secs(seconds));
        assert_eq!(shown_at(0, 10, 0, 5), "0%  0 of 10 changes");
        assert_eq!(shown_at(20_000, 50_000, 10_000, 10), "40%  20,000 of 50,000 changes  1,000/s  30s left");
        assert_eq!(shown_at(7, 7, 7, 1), "100%  7 of 7 changes  7/s  0s left");
        assert_eq!(shown_at(0, 0, 0, 0), "100%  0 of 0 changes");
        assert_eq!(bar(5, 10), format!("[{}{}]", "#".repeat(12), "-".repeat(12)));
        assert_eq!(bar(11, 10), format!("[{}]", "#".repeat(24)));
    }
}
