//! The table of the API's routes; the router is built from it, and a test holds it against `api/openapi.yaml`.

use super::ApiState;
use super::params::{
    AGENT, AT, BODIES, CLUSTER, CLUSTERS, COLLAPSE, CONTINUE, DEPTH, GROUP, GROUP_BY, HEALTH, KIND, LABELS,
    LIMIT, NAME, ORDER, OWNER, PROJECT, REASON, REGION, SINCE, STATE, TIER, TYPE, UNDER, VERBOSE, VIEW,
};
use super::problem::Problem;
use super::router::{Route, Router, mount, nothing_here};
use super::{clusters, coverage, document, environments, events, metrics, overview, probes, resources};
use warp::Filter;

/// Every address of the API.
pub const ROUTES: &[Route<ApiState>] = &[
    Route {
        path: "/api/v1/environments",
        parameters: &[
            TIER, REGION, PROJECT, GROUP, CLUSTERS, AGENT, STATE, NAME, HEALTH, LABELS, AT, LIMIT, CONTINUE,
        ],
        handler: |state, request| Box::pin(environments::list(state, request)),
    },
    Route {
        path: "/api/v1/overview",
        parameters: &[
            TIER, REGION, PROJECT, GROUP, CLUSTERS, AGENT, STATE, NAME, HEALTH, LABELS, GROUP_BY, VIEW, AT,
            LIMIT,
        ],
        handler: |state, request| Box::pin(overview::overview(state, request)),
    },
    Route {
        path: "/api/v1/views",
        parameters: &[],
        handler: |state, request| Box::pin(overview::views(state, request)),
    },
    Route {
        path: "/api/v1/environments/{id}",
        parameters: &[AT],
        handler: |state, request| Box::pin(environments::one(state, request)),
    },
    Route {
        path: "/api/v1/environments/{id}/resources",
        parameters: &[KIND, HEALTH, OWNER, ORDER, AT, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(environments::resources(state, request)),
    },
    Route {
        path: "/api/v1/environments/{id}/graph",
        parameters: &[UNDER, CLUSTER, DEPTH, COLLAPSE, LIMIT, AT],
        handler: |state, request| Box::pin(environments::graph(state, request)),
    },
    Route {
        path: "/api/v1/environments/{id}/why",
        parameters: &[LIMIT, AT],
        handler: |state, request| Box::pin(environments::why(state, request)),
    },
    Route {
        path: "/api/v1/environments/{id}/health",
        parameters: &[SINCE, LIMIT, AT],
        handler: |state, request| Box::pin(environments::health(state, request)),
    },
    Route {
        path: "/api/v1/environments/{id}/events",
        parameters: &[TYPE, REASON, AT, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(events::of_environment(state, request)),
    },
    Route {
        path: "/api/v1/resources/{uid}",
        parameters: &[AT, CLUSTER],
        handler: |state, request| Box::pin(resources::one(state, request)),
    },
    Route {
        path: "/api/v1/resources/{uid}/history",
        parameters: &[AT, CLUSTER, BODIES, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(resources::history(state, request)),
    },
    Route {
        path: "/api/v1/resources/{uid}/health",
        parameters: &[SINCE, LIMIT, AT, CLUSTER],
        handler: |state, request| Box::pin(resources::health(state, request)),
    },
    Route {
        path: "/api/v1/resources/{uid}/edges",
        parameters: &[AT, CLUSTER, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(resources::edges(state, request)),
    },
    Route {
        path: "/api/v1/resources/{uid}/events",
        parameters: &[TYPE, REASON, AT, CLUSTER, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(events::of_resource(state, request)),
    },
    Route {
        path: "/api/v1/clusters",
        parameters: &[AT, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(clusters::list(state, request)),
    },
    Route {
        path: "/api/v1/coverage",
        parameters: &[CLUSTERS, KIND, STATE, AT, LIMIT, CONTINUE],
        handler: |state, request| Box::pin(coverage::list(state, request)),
    },
    Route {
        path: "/api/v1/openapi.json",
        parameters: &[],
        handler: |_, request| Box::pin(document::json(request)),
    },
    Route { path: "/openapi.yaml", parameters: &[], handler: |_, request| Box::pin(document::yaml(request)) },
    Route {
        path: "/metrics",
        parameters: &[],
        handler: |state, request| Box::pin(metrics::metrics(state, request)),
    },
    Route {
        path: "/healthz",
        parameters: &[VERBOSE],
        handler: |_, request| Box::pin(probes::live("healthz", request)),
    },
    Route {
        path: "/livez",
        parameters: &[VERBOSE],
        handler: |_, request| Box::pin(probes::live("livez", request)),
    },
    Route {
        path: "/readyz",
        parameters: &[VERBOSE],
        handler: |state, request| Box::pin(probes::ready(state, request)),
    },
];

/// The API's router: every route, and problems for whatever else stands under `/api`.
pub fn routes(state: &ApiState) -> Router {
    let elsewhere = warp::path("api").and(nothing_here(Problem::into_response));
    mount(ROUTES, state, Problem::into_response).or(elsewhere).unify().boxed()
}
