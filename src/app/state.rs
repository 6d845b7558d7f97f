//! What handlers work with.

use std::sync::Arc;

use super::announcement::Announcement;
use super::ports::{Metrics, Readiness, Rebuilding, Relisting};
use super::presentation::{CurrentPresentation, Presentation};
use super::watch::Watch;
use crate::catalog::CatalogWriter;
use crate::http::answer_cache::AnswerCache;
use crate::http::auth::{Authenticator, Gate};
use crate::http::caller::Caller;
use crate::http::context::Context;
use crate::http::problem::Problem;
use strandline_clock::{Clock, ClockReading};
use strandline_model::Timestamp;
use strandline_query::{Queries, Stamp};
use strandline_sqlite::Asker;

/// What handlers work with; cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// Answers queries.
    pub queries: Queries,
    /// Whether the service can answer.
    pub readiness: Arc<dyn Readiness>,
    /// The service's metrics.
    pub metrics: Arc<dyn Metrics>,
    /// Rebuilds the view.
    pub rebuilding: Arc<dyn Rebuilding>,
    /// Compares the record with clusters.
    pub relisting: Arc<dyn Relisting>,
    /// How answers look by the configuration; of a request it is read once.
    pub presentation: Arc<Presentation>,
    /// The same as it is in effect at any time.
    pub current_presentation: CurrentPresentation,
    /// The time from which pages count ages; of a request it is read once.
    pub clock: Arc<dyn Clock>,
    /// Authenticates callers.
    pub access: Arc<Authenticator>,
    /// The answers that may be given again.
    pub answers: AnswerCache,
    /// Streams of what changes.
    pub watch: Watch,
    /// Changes the catalog.
    pub catalog: CatalogWriter,
    /// The announcement at the top of the start page.
    pub announcement: Announcement,
}

impl Gate for AppState {
    async fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
        self.access.caller(context).await
    }

    fn audits_reads(&self) -> bool {
        self.access.audits_reads()
    }

    fn answers(&self, now: Timestamp) -> Option<(AnswerCache, Stamp)> {
        // Before `serving` reads the presentation: no answer of an earlier one is kept under this generation.
        let generation = self.current_presentation.generation();
        Some((self.answers.clone(), self.queries.stamp(now)?.with_presentation(generation)))
    }

    fn count_write(&self, caller: &Caller) -> Result<(), Problem> {
        Ok(self.catalog.take_turn(&caller.name)?)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn serving(self, asker: &Asker, now: Timestamp) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(ClockReading(now));
        let presentation = self.current_presentation.get();
        AppState { queries: self.queries.of(asker).with_clock(&clock), clock, presentation, ..self }
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").finish_non_exhaustive()
    }
}
