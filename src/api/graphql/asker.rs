//! Who asks, and the moments that they ask for.

use std::collections::BTreeMap;

use tokio::sync::{Mutex, MutexGuard};

use crate::http::problem::{ParameterError, Problem};
use strandline_model::{At, TimeContext, Timestamp};
use strandline_query::{Queries, Scope};

/// What resolvers of one request work with.
pub(super) struct Asker {
    /// What the caller may see.
    pub(super) scope: Scope,
    queries: Queries,
    times: TimeContext,
    /// Questions held at each moment that was asked for, by its text.
    held: Mutex<BTreeMap<String, Queries>>,
    turn: Mutex<()>,
}

impl juniper::Context for Asker {}

impl Asker {
    /// For a request at a time.
    pub(super) fn new(queries: Queries, scope: Scope, now: Timestamp) -> Self {
        Asker { scope, queries, times: TimeContext::utc(now), held: Mutex::default(), turn: Mutex::default() }
    }

    /// Waits for the questions of this request before: resolvers run side by side, and all at once would keep those of
    /// other callers from the readers.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Questions that are all held at a moment, which is the same however often a request names it.
    pub(super) async fn at(&self, at: Option<&str>) -> Result<Queries, Problem> {
        let text = at.unwrap_or("now");
        let moment = self.times.read(text).map_err(|detail| invalid("at", detail))?;
        let mut held = self.held.lock().await;
        // What "now" is, is settled first: durations are counted back from it.
        let now = match held.get("now") {
            Some(now) => now.clone(),
            None => self.queries.held(At::Now).await?,
        };
        held.insert("now".to_owned(), now.clone());
        if let Some(found) = held.get(text) {
            return Ok(found.clone());
        }
        let found = now.held(moment).await?;
        held.insert(text.to_owned(), found.clone());
        Ok(found)
    }
}

/// An argument has a value that is not valid.
pub(super) fn invalid(argument: &str, detail: impl Into<String>) -> Problem {
    Problem::parameters(vec![ParameterError { parameter: argument.to_owned(), detail: detail.into() }])
}
