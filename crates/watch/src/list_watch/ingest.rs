//! Reads the lines of a watch and records what they report, a batch at a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use super::error::StepError;
use super::machine::{ListWatch, TURN};
use super::state::{Listing, Position};
use crate::document::{WatchLine, parse_line};
use crate::evidence::Evidence;
use crate::request::Failure;
use crate::sink::Sink;
use strandline_clock::{Mark, mark};
use strandline_log::{AppendError, Observed, Phase};
use strandline_model::{LATE_BOUND, ResourceVersion, Timestamp, reason};

/// A batch is read and recorded while few others of its cluster are.
pub(super) struct Turn {
    _permit: Option<OwnedSemaphorePermit>,
    /// Whether the batch had to wait for others.
    waited: bool,
    received: Mark,
    received_at: Timestamp,
}

impl Turn {
    /// How long changes waited for others, where that is longer than a moment. A bookmark that waited kept nothing back.
    fn delay(&self, has_changes: bool) -> Option<Duration> {
        let delay = self.received.elapsed();
        (has_changes && self.waited && delay > LATE_BOUND).then_some(delay)
    }
}

/// What a batch of lines amounts to.
struct BatchOutcome {
    observed: Vec<Observed>,
    /// Whether any line could be read.
    progressed: bool,
    phase: Phase,
    failure: Option<Failure>,
    /// The cursor behind it.
    cursor: ResourceVersion,
    evidence: Evidence,
}

impl BatchOutcome {
    /// Moves the cursor unless that would move it back; false where it would.
    fn advance(&mut self, to: &ResourceVersion) -> bool {
        let is_back = to.compare(&self.cursor).is_some_and(std::cmp::Ordering::is_lt);
        if !is_back {
            self.cursor = to.clone();
        }
        !is_back
    }
}

impl<S: Sink> ListWatch<S> {
    /// Waits until a batch that has arrived may be read and recorded.
    pub(super) async fn take_turn(&mut self) -> Turn {
        let (turns, received, received_at) = (Arc::clone(&self.shared.turns), mark(), self.coverage.now());
        let waited = turns.available_permits() == 0;
        Turn { _permit: turns.acquire_owned().await.ok(), waited, received, received_at }
    }

    /// Records what lines of a watch report; returns whether any of them could be read.
    pub(super) async fn ingest(
        &mut self,
        position: &mut Position,
        lines: &[Bytes],
    ) -> Result<bool, StepError> {
        let turn = self.take_turn().await;
        self.ingest_in_turn(position, lines, false, &turn).await
    }

    /// The same in a turn that was taken; `progressed` where lines before them could be read.
    pub(super) async fn ingest_in_turn(
        &mut self,
        position: &mut Position,
        lines: &[Bytes],
        progressed: bool,
        turn: &Turn,
    ) -> Result<bool, StepError> {
        let mut outcome = BatchOutcome {
            observed: Vec::with_capacity(lines.len()),
            progressed,
            phase: Phase::Watch,
            failure: None,
            cursor: position.cursor().clone(),
            evidence: self.coverage.evidence(),
        };
        for (at, bytes) in lines.iter().enumerate() {
            yield_after_turn(at).await;
            let line = parse_line(bytes, self.defaults(), &self.settings.rules);
            self.ingest_line(line, &mut outcome);
            if outcome.failure.is_some() {
                break;
            }
        }
        let BatchOutcome { observed, progressed, phase, failure, cursor, evidence } = outcome;
        let has_changes = !observed.is_empty();
        self.record_changes(position, phase, observed, cursor, evidence, turn.received_at).await?;
        // The log measures only the time in its own queue.
        if let (Some(delay), true) = (turn.delay(has_changes), self.coverage.is_watched()) {
            let until = self.coverage.now();
            let message = "changes waited for others of this cluster to be recorded";
            let since = until.minus(delay);
            self.coverage.closed_gap(since, until, reason::STALLED, message).await?;
        }
        if progressed {
            self.empty_watches = 0;
            self.backoff.reset();
            if phase == Phase::UpToDate || evidence.is_recent() {
                self.set_caught_up(position).await?;
            }
        }
        failure.map_or(Ok(progressed), |failure| Err(failure.into()))
    }

    fn ingest_line(&mut self, line: WatchLine, outcome: &mut BatchOutcome) {
        match line {
            WatchLine::Observed { object, at } => {
                outcome.evidence.event(at.map(|at| self.shared.skew.to_ours(at)));
                if let Some(version) = object.resource_version() {
                    outcome.advance(version);
                }
                outcome.observed.push(*object);
                (outcome.progressed, outcome.phase) = (true, Phase::Watch);
            }
            WatchLine::Bookmark { version, .. } => {
                self.sends_bookmarks = true;
                if outcome.advance(&version) {
                    self.coverage.record_bookmark();
                    (outcome.progressed, outcome.phase) = (true, Phase::UpToDate);
                } else {
                    // Time does not run backwards in one cluster: it was restored or replaced.
                    outcome.failure = Some(Failure::Gone);
                }
            }
            WatchLine::Undecodable { reason, resource_version, .. } => {
                self.count_undecodable(reason);
                if let Some(version) = resource_version {
                    outcome.advance(&version);
                }
            }
            WatchLine::Failed(failure) => outcome.failure = Some(failure),
        }
    }

    /// Records what lines of a streaming list show. Where its end is among them, returns where the watch begins, and the
    /// lines after it.
    pub(super) async fn ingest_list<'l>(
        &mut self,
        listing: &mut Listing,
        lines: &'l [Bytes],
    ) -> Result<Option<(Position, &'l [Bytes])>, StepError> {
        let mut observed = Vec::with_capacity(lines.len());
        let mut failure = None;
        for (at, bytes) in lines.iter().enumerate() {
            yield_after_turn(at).await;
            match parse_line(bytes, self.defaults(), &self.settings.rules) {
                WatchLine::Observed { object, .. } => observed.push(*object),
                WatchLine::Bookmark { version, ends_list: true } => {
                    let position = self.end_stream(listing, observed, version).await?;
                    return Ok(Some((position, lines.get(at + 1..).unwrap_or_default())));
                }
                WatchLine::Bookmark { .. } => {}
                WatchLine::Undecodable { reason, object, .. } => {
                    self.count_undecodable(reason);
                    match object {
                        Some(object) => observed.push(*object),
                        None => listing.is_partial = true,
                    }
                }
                WatchLine::Failed(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        if !observed.is_empty() {
            self.append_page(listing, observed, None).await?;
        }
        failure.map_or(Ok(None), |failure| Err(failure.into()))
    }

    /// A streaming list came to its end: what it showed is all there is, and what follows is the watch.
    async fn end_stream(
        &mut self,
        listing: &mut Listing,
        last: Vec<Observed>,
        version: ResourceVersion,
    ) -> Result<Position, StepError> {
        self.reject_rollback(listing, &version)?;
        if !last.is_empty() {
            self.append_page(listing, last, Some(version.clone())).await?;
        }
        Ok(self.end_list(listing, version).await?)
    }

    /// Records the events of a watch, which were received at this time: being recorded may take long. A gap that they prove
    /// is recorded before them.
    async fn record_changes(
        &mut self,
        position: &mut Position,
        phase: Phase,
        observed: Vec<Observed>,
        cursor: ResourceVersion,
        evidence: Evidence,
        received: Timestamp,
    ) -> Result<(), AppendError> {
        if let (Some(since), true) = (evidence.late_since, self.coverage.is_watched()) {
            let message = "changes arrive late, as the times in their objects show".to_owned();
            self.coverage.gap_since(since, reason::LATE, message).await?;
        }
        if let (Some(catch_up), Some(earliest)) = (&mut position.catch_up, evidence.earliest) {
            catch_up.note(earliest);
        }
        let confirmed = evidence.confirmed();
        let proved = match (phase, confirmed) {
            (Phase::Watch, Some(confirmed)) => Phase::Confirmed(confirmed),
            (Phase::UpToDate, _) => Phase::Confirmed(received),
            _ => phase,
        };
        let is_empty = observed.is_empty() && cursor == *position.cursor() && proved == Phase::Watch;
        if !is_empty {
            self.append_changes(position, proved, observed, cursor).await?;
        }
        self.coverage.confirm(&evidence);
        if phase == Phase::UpToDate {
            self.coverage.confirm_all(received);
        }
        Ok(())
    }
}

/// Objects cleaned before other tasks get their turn, see [`TURN`].
async fn yield_after_turn(at: usize) {
    if at % TURN == TURN - 1 {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strandline_clock::{Clock, SystemClock};

    #[test]
    fn only_changes_that_waited_long_for_others_were_kept_back() {
        let long = LATE_BOUND + Duration::from_secs(1);
        let turn = |waited, ago| Turn {
            _permit: None,
            waited,
            received: mark() - ago,
            received_at: SystemClock.now().minus(ago),
        };
        for (waited, ago, has_changes, is_delayed) in [
            (true, long, true, true),
            (true, long, false, false),
            (false, long, true, false),
            (true, Duration::ZERO, true, false),
        ] {
            let delay = turn(waited, ago).delay(has_changes);
            assert_eq!(delay.is_some(), is_delayed, "{waited} {ago:?} {has_changes}");
        }
    }
}
