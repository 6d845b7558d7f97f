//! `/api/v1/environments` and what stands below each of them.

use super::params::{HEALTH, KIND, PROJECT, REGION, TIER};
use super::problem::Problem;
use super::request::Request;
use super::respond::{self, Response};
use super::{ApiState, auth};
use crate::model::EnvironmentId;
use crate::query::{EnvironmentFilter, ResourceFilter};

/// Environments, filtered.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter = EnvironmentFilter {
        tiers: read.words(TIER),
        regions: read.texts(REGION),
        projects: read.texts(PROJECT),
        healths: read.words(HEALTH),
    };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.environments(&scope, at, &filter, &page).await?;
    respond::page(&request, &found)
}

/// One environment.
pub(super) async fn one(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.environment(&scope, at, &id).await?;
    respond::json(&request, &found)
}

/// The resources of an environment, filtered.
pub(super) async fn resources(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter = ResourceFilter { kinds: read.texts(KIND), healths: read.words(HEALTH) };
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.environment_resources(&scope, at, &id, &filter, &page).await?;
    respond::page(&request, &found)
}

/// The graph of an environment.
pub(super) async fn graph(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.environment_graph(&scope, at, &id).await?;
    respond::json(&request, &found)
}
