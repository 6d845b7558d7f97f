//! Streams of what changes in a list of environments or resources: computed once for all who watch the same list with the same rights,
//! whenever the view has moved.
//!
//! Why: docs/decisions/0030-streams-are-differences-of-lists.md.

mod event;
mod feed;
mod list;

pub use event::{Position, WatchEvent};
pub use list::{ITEMS_MAX, WatchedList};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::http::problem::{Problem, ProblemCode};
use feed::{Feed, Said};
use strandline_model::{At, Offset};
use strandline_query::{Queries, Scope};

/// The least time between two looks at what changed: what changes within it is seen together.
const PAUSE: Duration = Duration::from_millis(200);

/// How long to wait after a list could not be read, as while the view is rebuilt.
const RETRY: Duration = Duration::from_secs(1);

/// Different lists that are watched at a time.
const FEEDS_MAX: usize = 256;

/// Whose share of the readers streams take, all together.
const ASKER: &str = "(watch)";

/// Everything that is watched; clones share it.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

struct Shared {
    feeds: Mutex<HashMap<String, Arc<Feed>>>,
    stopping: CancellationToken,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// A place among those who watch a list.
pub struct Watching {
    /// What changed since the position that was asked for.
    pub missed: Arc<[WatchEvent]>,
    /// Up to where that is.
    pub reached: Offset,
    feed: Arc<Feed>,
    rounds: broadcast::Receiver<Said>,
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// More happened than the stream took.
    TooSlow,
    /// The list cannot be read any more.
    Closed,
}

impl Watch {
    /// Nothing yet; all streams end with the token.
    pub fn new(stopping: CancellationToken) -> Self {
        Watch(Arc::new(Shared { feeds: Mutex::default(), stopping }))
    }

    /// When all streams are to end.
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<String, Arc<Feed>>> {
        // Nothing that can panic runs under this lock.
        self.0.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at every list that is watched whenever the view has moved.
    pub async fn follow(self, queries: Queries) {
        let (queries, mut seen) = (queries.of(&ASKER.into()), Offset::ZERO);
        loop {
            let Some(moved) = self.0.stopping.run_until_cancelled(queries.moved_past(seen)).await else {
                return;
            };
            let mut all = true;
            for feed in self.watched() {
                if feed.is_resting() {
                    all = false;
                    continue;
                }
                if let Err(problem) = feed.advance(&queries).await {
                    tracing::debug!(
                        code = problem.code.as_str(),
                        detail = problem.detail,
                        "a watched list cannot be read"
                    );
                    feed.rest(RETRY);
                    all = false;
                }
            }
            if all {
                seen = moved;
            }
            let pause = tokio::time::sleep(PAUSE);
            if self.0.stopping.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }

    /// The lists that somebody watches; the others are let go.
    fn watched(&self) -> Vec<Arc<Feed>> {
        let mut feeds = self.feeds();
        feeds.retain(|_, feed| feed.is_watched());
        feeds.values().cloned().collect()
    }

    /// Begins to watch a list, from a position on or from now on.
    ///
    /// # Errors
    /// When the list cannot be read, then or now, or too many are watched.
    pub async fn join(
        &self,
        queries: &Queries,
        scope: &Scope,
        list: &WatchedList,
        from: Option<&Position>,
    ) -> Result<Watching, Problem> {
        let (feed, rounds) = self.feed(scope, list)?;
        if let Err(problem) = feed.advance(queries).await {
            // Said as of now, and not of the offset at which it was read.
            if feed::ends(&problem) {
                list::read(queries, scope, list, At::Now).await?;
            }
            return Err(problem);
        }
        let (reached, known) = feed.known().await;
        let Some(from) = from else {
            return Ok(Watching { missed: Arc::new([]), reached, feed, rounds });
        };
        let read = async |at: Offset| list::read_past(queries, scope, list, At::Offset(at)).await;
        let mut missed = Vec::new();
        let mut begin = list::digest(&read(from.from).await?);
        if let Some((to, after)) = &from.within {
            // The rest of a round that was not taken whole.
            let (then, after) = (read(*to).await?, list.key(after));
            let round = event::round(&begin, &then, from.from, *to)?;
            missed.extend(round.events.iter().filter(|event| event.key > after).cloned());
            begin = list::digest(&then);
        }
        let from = from.reached();
        if from > reached {
            let detail = format!("offset {from} is in the future; the newest is {reached}");
            return Err(Problem::new(ProblemCode::FutureMoment, detail));
        }
        if begin != *known {
            let now = read(reached).await?;
            missed.extend(event::round(&begin, &now, from, reached)?.events.iter().cloned());
        }
        Ok(Watching { missed: missed.into(), reached, feed, rounds })
    }

    /// The feed of a list, with a place among its receivers.
    fn feed(
        &self,
        scope: &Scope,
        list: &WatchedList,
    ) -> Result<(Arc<Feed>, broadcast::Receiver<Said>), Problem> {
        let key = serde_json::to_string(&(scope, list)).map_err(Problem::internal)?;
        let mut feeds = self.feeds();
        if feeds.get(&key).is_none_or(|feed| !feed.is_watched()) {
            feeds.retain(|_, feed| feed.is_watched());
            if feeds.len() >= FEEDS_MAX {
                let detail = format!("{FEEDS_MAX} different lists are watched already; retry later");
                return Err(Problem::new(ProblemCode::Overloaded, detail));
            }
        }
        let feed = feeds.entry(key).or_insert_with(|| Arc::new(Feed::new(scope, list)));
        Ok((Arc::clone(feed), feed.subscribe()))
    }
}

impl Watching {
    /// The events of the next round; waits for it.
    ///
    /// # Errors
    /// When there is none.
    pub async fn next(&mut self) -> Result<Arc<[WatchEvent]>, Ended> {
        loop {
            let said = self.rounds.recv().await.map_err(|error| match error {
                broadcast::error::RecvError::Lagged(_) => Ended::TooSlow,
                broadcast::error::RecvError::Closed => Ended::Closed,
            })?;
            let Said::Round(round) = said else { return Err(Ended::Closed) };
            // What was missed has all up to there.
            if round.to > self.reached {
                self.reached = round.to;
                return Ok(Arc::clone(&round.events));
            }
        }
    }

    /// Moves on to where the list is known to have stayed as it is.
    pub fn catch_up(&mut self) {
        let reached = self.feed.reached();
        if self.rounds.is_empty() {
            self.reached = reached.max(self.reached);
        }
    }
}

#[cfg(test)]
mod tests;
