//! One list that is watched, for all who watch it with the same rights.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, broadcast};
use tokio::time::Instant;

use super::event::{Round, round};
use super::list::{self, Digest, WatchedList};
use crate::http::problem::{Problem, ProblemCode};
use strandline_model::{At, Offset};
use strandline_query::{Queries, Scope};

/// Rounds that are kept for who is slow to take them.
pub(super) const ROUNDS_KEPT: usize = 32;

/// How many times as long as reading it took a list is left alone, so that a large one does not take the readers' time.
const REST: u32 = 4;

/// A list that is watched.
pub(super) struct Feed {
    scope: Scope,
    list: WatchedList,
    rounds: broadcast::Sender<Said>,
    reached: AtomicU64,
    is_closed: AtomicBool,
    /// Until when it is not read again.
    rests_until: StdMutex<Option<Instant>>,
    /// The list as it was read last; none before.
    state: Mutex<Option<State>>,
}

/// What a feed says to all who watch it.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Round(Arc<Round>),
    /// That the list is there no more, or may not be seen any more.
    Closed,
}

struct State {
    at: Offset,
    known: Arc<Digest>,
}

impl Feed {
    pub(super) fn new(scope: &Scope, list: &WatchedList) -> Self {
        Feed {
            scope: scope.clone(),
            list: list.clone(),
            rounds: broadcast::channel(ROUNDS_KEPT).0,
            reached: AtomicU64::default(),
            is_closed: AtomicBool::default(),
            rests_until: StdMutex::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Said> {
        self.rounds.subscribe()
    }

    /// Whether somebody watches it who may go on doing so.
    pub(super) fn is_watched(&self) -> bool {
        self.rounds.receiver_count() > 0 && !self.is_closed.load(Ordering::Acquire)
    }

    /// Whether it was read a moment ago, for what that took.
    pub(super) fn is_resting(&self) -> bool {
        self.rests().is_some_and(|until| Instant::now() < until)
    }

    /// Is not read again for so long.
    pub(super) fn rest(&self, time: Duration) {
        *self.rests() = Some(Instant::now() + time);
    }

    fn rests(&self) -> MutexGuard<'_, Option<Instant>> {
        // Nothing that can panic runs under this lock.
        self.rests_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Up to which offset all rounds were sent.
    pub(super) fn reached(&self) -> Offset {
        Offset::new(self.reached.load(Ordering::Acquire))
    }

    /// The list as it was read last.
    pub(super) async fn known(&self) -> (Offset, Arc<Digest>) {
        let state = self.state.lock().await;
        state.as_ref().map_or_else(Default::default, |state| (state.at, Arc::clone(&state.known)))
    }

    /// Reads the list again where the view has moved, and sends what changed in it.
    ///
    /// # Errors
    /// When it cannot be read; what changed is sent the next time.
    pub(super) async fn advance(&self, queries: &Queries) -> Result<(), Problem> {
        let mut state = self.state.lock().await;
        let to = queries.offset_of(At::Now).await?;
        if state.as_ref().is_some_and(|state| state.at >= to) {
            return Ok(());
        }
        let started = Instant::now();
        let read = list::read(queries, &self.scope, &self.list, At::Offset(to)).await;
        self.rest(started.elapsed() * REST);
        let listing = match read {
            Err(problem) if ends(&problem) => {
                self.is_closed.store(true, Ordering::Release);
                let _ = self.rounds.send(Said::Closed);
                return Err(problem);
            }
            listing => listing?,
        };
        if let Some(before) = state.as_ref() {
            let round = round(&before.known, &listing, before.at, to)?;
            if !round.events.is_empty() {
                // Nobody being left to take it is no failure.
                let _ = self.rounds.send(Said::Round(Arc::new(round)));
            }
        }
        *state = Some(State { at: to, known: Arc::new(list::digest(&listing)) });
        // After the round was sent: who sees this offset finds the round.
        self.reached.store(to.get(), Ordering::Release);
        Ok(())
    }
}

/// Whether this is the end of a list, and not only of an attempt to read it.
pub(super) fn ends(problem: &Problem) -> bool {
    matches!(problem.code, ProblemCode::NotFound | ProblemCode::AgentAccessDenied)
}
