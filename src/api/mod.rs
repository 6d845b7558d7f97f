//! The REST API under `/api/v1`, and the server that also carries the pages.
//!
//! warp is used thinly: filters match a path and extract the request, one boxed router comes of it, and every
//! handler returns a finished answer, so that no error ever falls through to another route. Who asks is settled by
//! [`auth`] before anything of a request is read. Whatever holds for all answers (names we answer to, panics,
//! security headers) stands in [`guard`], and whatever holds for connections (timeouts, their number, the end) in
//! [`server`]; what one caller may take is counted in `load`, and that answers are taken is seen to in `taking`.

mod agents;
mod announcement;
mod audit;
pub mod auth;
pub mod body;
mod catalog;
mod clusters;
mod coverage;
mod credentials;
mod deployments;
pub mod diffs;
pub mod document;
mod environments;
mod events;
mod fields;
mod forget;
mod graphql;
pub mod guard;
mod host;
pub mod images;
mod load;
mod metrics;
mod onset;
mod origin;
mod overview;
pub mod params;
mod places;
mod probes;
pub mod problem;
mod projects;
mod rebuild;
mod relist;
pub mod request;
mod requests;
mod resources;
pub mod respond;
pub mod router;
pub mod routes;
mod search;
pub mod selection;
pub mod server;
mod taking;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
mod tokens;

use std::sync::Arc;

use crate::catalog::CatalogWriter;
use auth::Gate;
use problem::Problem;
use request::Context;
use strandline_clock::Clock;
use strandline_model::SavedView;
use strandline_object_diff::PathRule;
use strandline_query::Queries;
use strandline_sqlite::Asker;

pub use announcement::{Announcement, Notice};
pub use auth::{Access, Caller};
pub use host::Hosts;
pub use load::{Load, LoadCounts, LoadLimits};
pub use metrics::{Metrics, prometheus_text};
pub use probes::{Check, ClusterLists, Readiness};
pub use rebuild::{RebuildReport, RebuildState, Rebuilding};
pub use relist::{RelistFilter, RelistReport, Relisting, Verified};
pub use requests::{RequestStats, RouteStats};
pub use routes::routes;
pub use server::{ServerOptions, serve};

/// What handlers work with; cheap to clone.
#[derive(Clone)]
pub struct ApiState {
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

impl Gate for ApiState {
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
        ApiState { queries: self.queries.of(asker), ..self }
    }
}

impl std::fmt::Debug for ApiState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiState").finish_non_exhaustive()
    }
}
