//! `/api/v1/environments` and what stands below each of them.

use super::watch;
use crate::app::watch::WatchedList;
use crate::app::{AppState, selection};
use crate::http::auth;
use crate::http::params::{CLUSTER, COLLAPSE, DEPTH, HEALTH, KIND, LIMIT, ORDER, OWNER, UNDER};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{EnvironmentId, Uid};
use strandline_protocol::{Graph, Why};
use strandline_query::{
    EnvironmentFilter, ExplainEnvironment, GetEnvironment, GetEnvironmentGraph, GetEnvironmentHealth,
    GraphFilter, ListEnvironmentResources, ListEnvironments, ListLeftBehind, ResourceFilter,
};

/// Environments, filtered.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter = selection::filter(&mut read, &EnvironmentFilter::default()).in_use_by_default();
    let opening = watch::asked(&mut read);
    read.finish()?;
    if let Some(opening) = opening {
        return watch::open(state, request, WatchedList::Environments(filter), opening).await;
    }
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListEnvironments::new(&filter, &page)).await?;
    respond::page(&request, &found)
}

/// One environment.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, GetEnvironment::new(&id)).await?;
    respond::json(&request, &found)
}

/// The resources of an environment, filtered.
pub(super) async fn resources(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let filter = ResourceFilter {
        kinds: read.words(KIND),
        healths: read.words(HEALTH),
        owner: read.text(OWNER).map(Uid::new),
        order: read.word(ORDER).unwrap_or_default(),
    };
    let opening = watch::asked(&mut read);
    read.finish()?;
    let id = EnvironmentId::new(request.argument(0));
    if let Some(opening) = opening {
        return watch::open(state, request, WatchedList::Resources(id, filter), opening).await;
    }
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListEnvironmentResources::new(&id, &filter, &page)).await?;
    respond::page(&request, &found)
}

/// The graph of an environment, or a part of it.
pub(super) async fn graph(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    let filter = GraphFilter {
        under: read.text(UNDER).map(Uid::new),
        cluster: read.text(CLUSTER),
        depth: read.number(DEPTH, 0, 1000),
        collapse: read.word(COLLAPSE).unwrap_or_default(),
        limit: read.number(LIMIT, 1, Graph::LIMIT).unwrap_or(Graph::DEFAULT),
    };
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, GetEnvironmentGraph::new(&id, &filter)).await?;
    respond::json(&request, &found)
}

/// Why an environment is in the state it is in.
pub(super) async fn why(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, limit) = (read.at(), read.number(LIMIT, 1, Why::LIMIT));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found =
        state.queries.ask(&scope, at, ExplainEnvironment::new(&id, limit.unwrap_or(Why::DEFAULT))).await?;
    respond::json(&request, &found)
}

/// The health of an environment over time.
pub(super) async fn health(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter) = (read.at(), read.health());
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, GetEnvironmentHealth::new(&id, filter)).await?;
    respond::json(&request, &found)
}

/// What a stopped environment left in its clusters.
pub(super) async fn left_behind(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    respond::json(&request, &state.queries.ask(&scope, at, ListLeftBehind::new(&id)).await?)
}
