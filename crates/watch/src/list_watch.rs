//! Follows one kind: a list, then one watch after the other from where the log ends.
//!
//! The cursor is written with the changes it covers, so every path through the states ends where the log ends: the
//! cluster sends again what was not appended.
//!
//! Why: docs/decisions/0004-our-own-list-and-watch.md.

mod begin;
mod doubt;
mod error;
mod ingest;
mod line_reader;
mod list;
mod machine;
mod page_fetcher;
mod page_list;
mod progress;
mod recover;
mod rollback;
mod shared;
mod state;
mod stream_list;
mod unreported;
mod verify;
mod watch;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub(super) use self::machine::ListWatch;
pub(super) use self::shared::Shared;
pub(super) use self::state::{End, Ended};
use self::state::{Run, State};
use super::sink::Sink;

impl<S: Sink> ListWatch<S> {
    /// Runs until cancelled, superseded, or the log closes.
    pub(super) async fn run(mut self, cancel: CancellationToken) -> Ended {
        let mut state = State::Begin(Run::First);
        let end = loop {
            if let State::Ended(end) = state {
                break end;
            }
            // A step may be dropped anywhere: what it appended is durable, and the cluster sends the rest again.
            state = tokio::select! {
                biased;
                () = cancel.cancelled() => State::Ended(End::Cancelled),
                next = self.step(state) => next,
            };
        };
        self.into_ended(end)
    }

    async fn step(&mut self, state: State) -> State {
        match state {
            State::Begin(run) => self.begin(run).await,
            State::StreamList(run) => self.list_by_stream(run).await,
            State::PageList(run) => self.list_in_pages(run).await,
            State::OpenWatch(position) => self.open_watch(position).await,
            State::Watch(watching) => self.watch(*watching).await,
            State::BackOff { wait, then } => {
                sleep(wait).await;
                *then
            }
            State::Ended(_) => state,
        }
    }
}
