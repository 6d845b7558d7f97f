//! `/api/v1/resources/{uid}` and what stands below it.

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{BODIES, CLUSTER};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::Uid;
use strandline_query::{GetResource, GetResourceHealth, ListResourceEdges, ListResourceVersions};

/// One resource with its object.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, GetResource::new(&uid, request.query.one(CLUSTER))).await?;
    respond::json(&request, &found)
}

/// The versions of a resource, newest first.
pub(super) async fn history(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, bodies, page) = (read.at(), read.flag(BODIES), read.page());
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let cluster = request.query.one(CLUSTER);
    let found =
        state.queries.ask(&scope, at, ListResourceVersions::new(&uid, cluster, bodies, &page)).await?;
    respond::page(&request, &found)
}

/// The health of a resource over time.
pub(super) async fn health(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter) = (read.at(), read.health());
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let cluster = request.query.one(CLUSTER);
    let found = state.queries.ask(&scope, at, GetResourceHealth::new(&uid, cluster, filter)).await?;
    respond::json(&request, &found)
}

/// What a resource is linked to.
pub(super) async fn edges(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let found = state
        .queries
        .ask(&scope, at, ListResourceEdges::new(&uid, request.query.one(CLUSTER), &page))
        .await?;
    respond::page(&request, &found)
}
