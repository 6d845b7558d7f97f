//! `/api/v1/clusters`.

use crate::app::AppState;
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_query::ListClusters;

/// Clusters with what of them is watched.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListClusters::new(&page)).await?;
    respond::page(&request, &found)
}
