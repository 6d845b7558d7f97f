//! `/api/v1/coverage`.

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{CLUSTERS, KIND, STATE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_query::{CoverageFilter, ListCoverage};

/// How every kind of every cluster is followed, filtered.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter =
        CoverageFilter { clusters: read.texts(CLUSTERS), kinds: read.words(KIND), states: read.words(STATE) };
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListCoverage::new(&filter, &page)).await?;
    respond::page(&request, &found)
}
