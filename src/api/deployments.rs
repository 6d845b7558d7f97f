//! `/api/v1/deployments`, and those to one environment.

use super::catalog;
use crate::app::AppState;
use crate::app::selection::globs;
use crate::http::auth;
use crate::http::params::{ENVIRONMENT, PROJECT, PROJECT_ONE, STATUS};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::EnvironmentId;
use strandline_query::{DeploymentFilter, GetDeployment, ListDeployments};

/// Deployments, filtered.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let environment = request.query.one(ENVIRONMENT).map(EnvironmentId::new);
    filtered(state, request, environment).await
}

/// The deployments to an environment.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let environment = EnvironmentId::new(request.argument(0));
    filtered(state, request, Some(environment)).await
}

async fn filtered(
    state: AppState,
    request: Request,
    environment: Option<EnvironmentId>,
) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter =
        DeploymentFilter { environment, projects: globs(&mut read, PROJECT), statuses: read.words(STATUS) };
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListDeployments::new(&filter, &page)).await?;
    respond::page(&request, &found)
}

/// One deployment.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, project) = (read.at(), read.text(PROJECT_ONE));
    read.finish()?;
    let id = catalog::deployment_id(&request)?;
    let found =
        state.queries.ask(&auth::scope(&request)?, at, GetDeployment::new(id, project.as_deref())).await?;
    respond::json(&request, &found)
}
