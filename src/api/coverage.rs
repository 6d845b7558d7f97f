//! `/api/v1/coverage`.

use super::params::{CLUSTERS, KIND, STATE};
use super::problem::Problem;
use super::request::Request;
use super::respond::{self, Response};
use super::{ApiState, auth};
use strandline_query::CoverageFilter;

/// How every kind of every cluster is followed, filtered.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter =
        CoverageFilter { clusters: read.texts(CLUSTERS), kinds: read.texts(KIND), states: read.words(STATE) };
    read.finish()?;
    let found = state.queries.coverage(&auth::scope(&request)?, at, &filter, &page).await?;
    respond::page(&request, &found)
}
