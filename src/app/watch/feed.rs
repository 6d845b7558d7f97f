//! One list that is watched, for all who watch it with the same rights.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{Mutex, broadcast};

use super::event::{Round, round};
use super::list::{self, Digest, WatchedList};
use crate::http::problem::{Problem, ProblemCode};
use strandline_model::{At, Offset};
use strandline_query::{Queries, Scope};

/// Rounds that are kept for who is slow to take them.
pub(super) const ROUNDS_KEPT: usize = 32;

/// A list that is watched.
pub(super) struct Feed {
    scope: Scope,
    list: WatchedList,
    rounds: broadcast::Sender<Said>,
    reached: AtomicU64,
    is_closed: AtomicBool,
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
        let listing = match list::read(queries, &self.scope, &self.list, At::Offset(to)).await {
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
