//! `/api/v1/clusters`.

use super::problem::Problem;
use super::request::Request;
use super::respond::{self, Response};
use super::{ApiState, auth};

/// Clusters with what of them is watched.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    let found = state.queries.clusters(&auth::scope(&request)?, at, &page).await?;
    respond::page(&request, &found)
}
