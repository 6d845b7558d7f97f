//! `/api/v1/projects` and `/api/v1/groups`.

use crate::app::AppState;
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_query::{GetProject, ListGroups, ListProjects};

/// Projects.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.ask(&auth::scope(&request)?, at, ListProjects::new(&page)).await?)
}

/// Groups.
pub(super) async fn groups(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.ask(&auth::scope(&request)?, at, ListGroups::new(&page)).await?)
}

/// One project.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, GetProject::new(request.argument(0))).await?;
    respond::json(&request, &found)
}
