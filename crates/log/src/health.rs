//! Whether the log takes changes, and since when it does not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::commits::CommitTimes;
use super::pending::Pending;
use strandline_clock::{Clock, Mark, mark, system};
use strandline_model::{LATE_BOUND, Offset, Timestamp, reason};
use strandline_sqlite::{Displaced, Identities};

/// What keeps the log from being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterProblem {
    /// The stable word for it: that of the gap which it is, one of those in [`strandline_model::reason`].
    pub reason: &'static str,
    /// Since when nothing is recorded, by our clock.
    pub since: Timestamp,
    /// What it is and what to do, for people.
    pub message: String,
}

/// Whether the log takes changes; clones share it.
#[derive(Clone)]
pub struct WriterHealth {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    pending: Pending,
    commits: CommitTimes,
    state: Mutex<State>,
    files: Mutex<Files>,
}

/// The files of the log and of its folder, as they were opened.
#[derive(Default)]
struct Files {
    identities: Identities,
    /// When they were last found in place.
    in_place: Option<Mark>,
    displaced: Option<Displaced>,
}

#[derive(Default)]
struct State {
    problem: Option<WriterProblem>,
    /// The log's files are no longer in place, which does not pass.
    displaced: Option<WriterProblem>,
    /// When there was room again after there had been none.
    room_since: Option<Mark>,
    over: Option<Over>,
    /// Since when the writer is at what it does now; none while it waits for something to do.
    turning: Option<Mark>,
}

/// The writer is at something until this is dropped.
pub(super) struct Turn(WriterHealth);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.lock().turning = None;
    }
}

/// The last problem that is over.
struct Over {
    problem: WriterProblem,
    until: Timestamp,
    /// The offset at which its gap is recorded.
    recorded: Offset,
}

impl std::fmt::Debug for WriterHealth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WriterHealth").field(&self.lock().problem).finish()
    }
}

impl Default for WriterHealth {
    fn default() -> Self {
        WriterHealth::new(system())
    }
}

impl WriterHealth {
    /// Of a writer that has no problem yet.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (pending, commits, state) = (Pending::default(), CommitTimes::default(), Mutex::default());
        let shared = Shared { clock, pending, commits, state, files: Mutex::default() };
        WriterHealth { shared: Arc::new(shared) }
    }

    /// Of a log that takes nothing since then, and why.
    pub fn refusing(since: Timestamp, why: &str) -> Self {
        let health = WriterHealth::default();
        health.report(reason::LOST, since, why.to_owned());
        health
    }

    /// What keeps the log from being written, where something does: what the writer met, or requests that have waited
    /// for longer than changes may be recorded late.
    pub fn problem(&self) -> Option<WriterProblem> {
        let oldest = self.shared.pending.oldest();
        let state = self.lock();
        match (state.displaced.as_ref().or(state.problem.as_ref()), oldest) {
            (Some(problem), Some(oldest)) if problem.reason == reason::NO_ROOM => {
                // What waits since before the writer met it is not recorded either.
                Some(WriterProblem { since: problem.since.min(self.time_of(oldest)), ..problem.clone() })
            }
            (Some(problem), _) => Some(problem.clone()),
            (None, Some(oldest)) if oldest.elapsed() > LATE_BOUND => {
                let reason = state.reason_since(oldest);
                let message = late_message(reason, oldest.elapsed());
                Some(WriterProblem { reason, since: self.time_of(oldest), message })
            }
            (None, _) => None,
        }
    }

    /// The same for answers from a view that holds the log up to `checkpoint`: a problem that is over keeps them
    /// incomplete until the view holds its gap.
    pub fn problem_at(&self, checkpoint: Offset) -> Option<WriterProblem> {
        self.problem().or_else(|| {
            let state = self.lock();
            let over = state.over.as_ref().filter(|over| over.recorded > checkpoint);
            over.map(|over| over.problem.clone())
        })
    }

    /// For how long the writer has been at what it does now; none while it waits for something to do.
    pub fn turning_for(&self) -> Option<Duration> {
        self.lock().turning.map(|since| since.elapsed())
    }

    /// The writer is at something.
    pub(super) fn turn(&self) -> Turn {
        self.lock().turning = Some(mark());
        Turn(self.clone())
    }

    /// How long commits took.
    pub fn commits(&self) -> &CommitTimes {
        &self.shared.commits
    }

    pub(super) fn pending(&self) -> &Pending {
        &self.shared.pending
    }

    /// The writer met a problem, which lasts since it was first met.
    pub(super) fn report(&self, reason: &'static str, now: Timestamp, message: String) {
        let mut state = self.lock();
        let since = state.problem.as_ref().map_or(now, |problem| problem.since);
        state.problem = Some(WriterProblem { reason, since, message });
    }

    /// What the writer met last is over: a group was committed.
    pub(super) fn recovered(&self) {
        let mut state = self.lock();
        if let Some(problem) = state.problem.take()
            && problem.reason == reason::NO_ROOM
        {
            state.room_since = Some(mark());
        }
    }

    /// Something was recorded late, and the gap of it, which is over, is recorded at this offset.
    pub(super) fn late(&self, problem: WriterProblem, until: Timestamp, recorded: Offset) {
        let mut state = self.lock();
        // What one group leaves over is recorded by the next, as one problem.
        let before = state.over.as_ref().filter(|over| over.until >= problem.since);
        if before.is_none() {
            tracing::warn!(reason = problem.reason, "{}; recorded as a gap", problem.message);
        }
        let since = before.map_or(problem.since, |over| over.problem.since.min(problem.since));
        state.over = Some(Over { problem: WriterProblem { since, ..problem }, until, recorded });
    }

    /// From here on these files have to stay in place.
    pub(super) fn watch_files(&self, identities: Identities) {
        *self.files() = Files { identities, in_place: Some(mark()), displaced: None };
    }

    /// Looks whether the log's files are in place; where they were not once, they never are again.
    pub fn check_files(&self) -> Option<Displaced> {
        let mut files = self.files();
        if files.displaced.is_none() {
            files.displaced = files.identities.displaced();
            let looked = mark();
            match &files.displaced {
                None => files.in_place = Some(looked),
                Some(displaced) => {
                    let since = self.time_of(files.in_place.unwrap_or(looked));
                    let message = format!("{displaced}: nothing is recorded; {}", Displaced::ADVICE);
                    tracing::error!(%displaced, "recording stopped; {}", Displaced::ADVICE);
                    self.lock().displaced = Some(WriterProblem { reason: reason::LOST, since, message });
                }
            }
        }
        files.displaced.clone()
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        // Each change of it is whole, so a panic elsewhere cannot have broken it.
        self.shared.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a request that was handed over at this moment has waited until now.
    pub(super) fn reason_since(&self, handed_over: Mark) -> &'static str {
        self.lock().reason_since(handed_over)
    }

    fn time_of(&self, moment: Mark) -> Timestamp {
        self.shared.clock.now().minus(moment.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole, so a panic elsewhere cannot have broken it.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn reason_since(&self, handed_over: Mark) -> &'static str {
        let full = self.problem.as_ref().is_some_and(|problem| problem.reason == reason::NO_ROOM);
        match full || self.room_since.is_some_and(|room| handed_over <= room) {
            true => reason::NO_ROOM,
            false => reason::STALLED,
        }
    }
}

/// The message of a gap for changes that were recorded late.
pub(super) fn late_message(reason: &str, waited: Duration) -> String {
    let seconds = waited.as_secs();
    match reason == reason::NO_ROOM {
        true => format!("changes waited {seconds} s to be recorded: no space left on the disk"),
        false => {
            format!("changes waited {seconds} s to be recorded: the disk or this machine was too slow")
        }
    }
}
