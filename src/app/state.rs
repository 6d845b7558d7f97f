//! What handlers work with.

use std::sync::Arc;

use super::announcement::Announcement;
use super::ports::{Metrics, Readiness, Rebuilding, Relisting};
use crate::catalog::CatalogWriter;
use crate::http::auth::{Access, Gate};
use crate::http::caller::Caller;
use crate::http::context::Context;
use crate::http::problem::Problem;
use strandline_clock::Clock;
use strandline_model::SavedView;
use strandline_object_diff::PathRule;
use strandline_query::Queries;
use strandline_sqlite::Asker;

/// What handlers work with; cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// Answers queries.
    pub queries: Queries,
    /// Tells whether the service can answer.
    pub readiness: Arc<dyn Readiness>,
    /// Tells the service's numbers.
    pub metrics: Arc<dyn Metrics>,
    /// Builds the view anew.
    pub rebuilding: Arc<dyn Rebuilding>,
    /// Compares the record with clusters.
    pub relisting: Arc<dyn Relisting>,
    /// The overviews that the configuration gives names.
    pub views: Arc<[SavedView]>,
    /// What differences do not tell, by the configuration.
    pub ignored: Arc<[PathRule]>,
    /// Tells pages how long ago something was.
    pub clock: Arc<dyn Clock>,
    /// Tells who asks.
    pub access: Arc<Access>,
    /// Changes the catalog.
    pub catalog: CatalogWriter,
    /// What the start page says above all else.
    pub announcement: Announcement,
}

impl Gate for AppState {
    fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
        self.access.caller(context)
    }

    fn audits_reads(&self) -> bool {
        self.access.audits_reads()
    }

    fn takes_turn(&self, caller: &Caller) -> Result<(), Problem> {
        Ok(self.catalog.take_turn(&caller.name)?)
    }

    fn serving(self, asker: &Asker) -> Self {
        AppState { queries: self.queries.of(asker), ..self }
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").finish_non_exhaustive()
    }
}
