//! The table of the API's routes; the router is built from it, and a test holds it against `api/openapi.yaml`.

use super::ApiState;
use super::params::{
    AT, BODIES, CLUSTER, CLUSTERS, COLLAPSE, CONTINUE, DEPTH, HEALTH, KIND, LIMIT, ORDER, OWNER, PROJECT,
    REASON, REGION, SINCE, STATE, TIER, TYPE, UNDER, VERBOSE,
};
use super::problem::Problem;
use super::router::{Route, Router, mount, nothing_here};
use super::{clusters, coverage, document, environments, events, metrics, probes, resources};
use warp::Filter;

/// Every address of the API.
pub const ROUTES: &[Route<ApiState>] = &[
    Route::at("/api/v1/environments")
        .get(&[TIER, REGION, PROJECT, HEALTH, AT, LIMIT, CONTINUE], |state, request| {
            Box::pin(environments::list(state, request))
        }),
    Route::at("/api/v1/environments/{id}")
        .get(&[AT], |state, request| Box::pin(environments::one(state, request))),
    Route::at("/api/v1/environments/{id}/resources")
        .get(&[KIND, HEALTH, OWNER, ORDER, AT, LIMIT, CONTINUE], |state, request| {
            Box::pin(environments::resources(state, request))
        }),
    Route::at("/api/v1/environments/{id}/graph")
        .get(&[UNDER, CLUSTER, DEPTH, COLLAPSE, LIMIT, AT], |state, request| {
            Box::pin(environments::graph(state, request))
        }),
    Route::at("/api/v1/environments/{id}/why")
        .get(&[LIMIT, AT], |state, request| Box::pin(environments::why(state, request))),
    Route::at("/api/v1/environments/{id}/health")
        .get(&[SINCE, LIMIT, AT], |state, request| Box::pin(environments::health(state, request))),
    Route::at("/api/v1/environments/{id}/events")
        .get(&[TYPE, REASON, AT, LIMIT, CONTINUE], |state, request| {
            Box::pin(events::of_environment(state, request))
        }),
    Route::at("/api/v1/resources/{uid}")
        .get(&[AT, CLUSTER], |state, request| Box::pin(resources::one(state, request))),
    Route::at("/api/v1/resources/{uid}/history")
        .get(&[AT, CLUSTER, BODIES, LIMIT, CONTINUE], |state, request| {
            Box::pin(resources::history(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/health")
        .get(&[SINCE, LIMIT, AT, CLUSTER], |state, request| Box::pin(resources::health(state, request))),
    Route::at("/api/v1/resources/{uid}/edges")
        .get(&[AT, CLUSTER, LIMIT, CONTINUE], |state, request| Box::pin(resources::edges(state, request))),
    Route::at("/api/v1/resources/{uid}/events")
        .get(&[TYPE, REASON, AT, CLUSTER, LIMIT, CONTINUE], |state, request| {
            Box::pin(events::of_resource(state, request))
        }),
    Route::at("/api/v1/clusters")
        .get(&[AT, LIMIT, CONTINUE], |state, request| Box::pin(clusters::list(state, request))),
    Route::at("/api/v1/coverage").get(&[CLUSTERS, KIND, STATE, AT, LIMIT, CONTINUE], |state, request| {
        Box::pin(coverage::list(state, request))
    }),
    Route::at("/api/v1/openapi.json").open().get(&[], |_, request| Box::pin(document::json(request))),
    Route::at("/openapi.yaml").open().get(&[], |_, request| Box::pin(document::yaml(request))),
    Route::at("/metrics").get(&[], |state, request| Box::pin(metrics::metrics(state, request))),
    Route::at("/healthz").open().get(&[VERBOSE], |_, request| Box::pin(probes::live("healthz", request))),
    Route::at("/livez").open().get(&[VERBOSE], |_, request| Box::pin(probes::live("livez", request))),
    Route::at("/readyz").open().get(&[VERBOSE], |state, request| Box::pin(probes::ready(state, request))),
];

/// The API's router: every route, and problems for whatever else stands under `/api`.
pub fn routes(state: &ApiState) -> Router {
    let elsewhere = warp::path("api").and(nothing_here(Problem::into_response));
    mount(ROUTES, state, Problem::into_response).or(elsewhere).unify().boxed()
}
