//! `/api/v1/projects` and `/api/v1/groups`.

use super::ApiState;
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// Projects.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.projects(&auth::scope(&request)?, at, &page).await?)
}

/// Groups.
pub(super) async fn groups(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.groups(&auth::scope(&request)?, at, &page).await?)
}

/// One project.
pub(super) async fn one(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let found = state.queries.project(&auth::scope(&request)?, at, request.argument(0)).await?;
    respond::json(&request, &found)
}
