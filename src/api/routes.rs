//! The table of the API's routes; the router is built from it, and a test holds it against `api/openapi.yaml`.

use super::{
    agents, catalog, changes, clusters, coverage, deployments, diffs, document, environments, events, fields,
    find, forget, graphql, images, login, metrics, onset, overview, probes, projects, rebuild, relist,
    resources, search, timeline, tokens, watch,
};
use crate::app::AppState;
use crate::app::selection::ENVIRONMENTS;
use crate::http::params::{
    AT, BELOW, BODIES, BUCKETS, BY, CHILDREN, CLUSTER, CLUSTERS, COLLAPSE, CONTINUE, CONTROLLERS, DEPTH,
    ENVIRONMENT, FIELD, FORMAT, FROM, GONE, GROUP, GROUP_BY, HEALTH, HEALTH_ONE, IGNORE, IMAGE, INCLUDE,
    KIND, LANE, LIMIT, MAP, NAME, NAMESPACE, ORDER, OWNER, PROJECT, PROJECT_ONE, PROTECTED, Q, REASON, REF,
    REFS, REGION, SINCE, STATE, STATUS, TAG, TIER, TIMEOUT, TO, TYPE, TZ, UNDER, UNTIL, VAR, VERBOSE, VIEW,
    WATCH, WINDOW, WITH, environments_and,
};
use crate::http::respond;
use crate::http::router::{Route, Router, mount, nothing_here};
use warp::Filter;

/// Every address of the API.
pub const ROUTES: &[Route<AppState>] = &[
    Route::at("/api/v1/environments")
        .cached()
        .get(environments_and![HEALTH, AT, TZ, LIMIT, CONTINUE, WATCH, FROM, TIMEOUT], |state, request| {
            Box::pin(environments::list(state, request))
        }),
    Route::at("/api/v1/overview").cached().get(
        environments_and![
            HEALTH,
            GROUP_BY,
            VIEW,
            SINCE,
            BUCKETS,
            ENVIRONMENTS,
            ORDER,
            AT,
            TZ,
            LIMIT,
            CONTINUE
        ],
        |state, request| Box::pin(overview::overview(state, request)),
    ),
    Route::at("/api/v1/search")
        .cached()
        .get(&[Q, TYPE, LIMIT, AT, TZ], |state, request| Box::pin(find::search(state, request))),
    Route::at("/api/v1/watch").get(environments_and![HEALTH, FROM, TZ, TIMEOUT], |state, request| {
        Box::pin(watch::watch(state, request))
    }),
    Route::at("/api/v1/changes").cached().get(
        environments_and![SINCE, UNTIL, TYPE, BY, CONTROLLERS, FORMAT, AT, TZ, LIMIT, CONTINUE],
        |state, request| Box::pin(changes::list(state, request)),
    ),
    Route::at("/api/v1/events").cached().get(
        environments_and![ENVIRONMENT, SINCE, UNTIL, TYPE, REASON, FORMAT, AT, TZ, LIMIT, CONTINUE],
        |state, request| Box::pin(events::list(state, request)),
    ),
    Route::at("/api/v1/rebuild")
        .get(&[], |state, request| Box::pin(rebuild::report(state, request)))
        .post(&[], |state, request| Box::pin(rebuild::begin(state, request))),
    Route::at("/api/v1/relist")
        .get(&[CLUSTERS, KIND], |state, request| Box::pin(relist::report(state, request)))
        .post(&[CLUSTERS, KIND], |state, request| Box::pin(relist::begin(state, request))),
    Route::at("/api/v1/whoami").get(&[], |_, request| Box::pin(login::who_am_i(request))),
    Route::at("/api/v1/login").open().get(&[], |state, request| Box::pin(login::methods(state, request))),
    Route::at("/api/v1/tokens").get(&[], |state, request| Box::pin(tokens::list(state, request))),
    Route::at("/api/v1/clusters/{cluster}/forget")
        .post(&[], |state, request| Box::pin(forget::forget(state, request))),
    Route::at("/api/v1/views").get(&[], |state, request| Box::pin(overview::views(state, request))),
    Route::at("/api/v1/environments/{id}")
        .cached()
        .get(&[AT, TZ], |state, request| Box::pin(environments::one(state, request)))
        .put(&[], |state, request| Box::pin(catalog::put_environment(state, request)))
        .delete(&[], |state, request| Box::pin(catalog::delete_environment(state, request))),
    Route::at("/api/v1/environments/{id}/stop")
        .post(&[], |state, request| Box::pin(catalog::stop_environment(state, request))),
    Route::at("/api/v1/environments/{id}/resources").cached().get(
        &[KIND, HEALTH, OWNER, ORDER, AT, TZ, LIMIT, CONTINUE, WATCH, FROM, TIMEOUT],
        |state, request| Box::pin(environments::resources(state, request)),
    ),
    Route::at("/api/v1/environments/{id}/graph")
        .cached()
        .get(&[UNDER, CLUSTER, DEPTH, COLLAPSE, LIMIT, AT, TZ], |state, request| {
            Box::pin(environments::graph(state, request))
        }),
    Route::at("/api/v1/environments/{id}/why")
        .cached()
        .get(&[LIMIT, AT, TZ], |state, request| Box::pin(environments::why(state, request))),
    Route::at("/api/v1/environments/{id}/health")
        .cached()
        .get(&[SINCE, LIMIT, AT, TZ], |state, request| Box::pin(environments::health(state, request))),
    Route::at("/api/v1/environments/{id}/events")
        .cached()
        .get(&[TYPE, REASON, AT, TZ, LIMIT, CONTINUE], |state, request| {
            Box::pin(events::of_environment(state, request))
        }),
    Route::at("/api/v1/environments/{id}/timeline")
        .cached()
        .get(&[SINCE, BUCKETS, LANE, ORDER, AT, TZ, LIMIT, CONTINUE], |state, request| {
            Box::pin(timeline::of_environment(state, request))
        }),
    Route::at("/api/v1/environments/{id}/onset")
        .cached()
        .get(&[HEALTH_ONE, WINDOW, AT, TZ], |state, request| Box::pin(onset::of_environment(state, request))),
    Route::at("/api/v1/environments/{id}/deployments").cached().get(
        &[PROJECT, STATUS, REFS, BY, SINCE, UNTIL, FORMAT, AT, TZ, LIMIT, CONTINUE],
        |state, request| Box::pin(deployments::of_environment(state, request)),
    ),
    Route::at("/api/v1/environments/{id}/diff").get(
        &[FROM, TO, AT, TZ, WITH, MAP, CHILDREN, INCLUDE, IGNORE, FORMAT, LIMIT, CONTINUE],
        |state, request| Box::pin(diffs::of_environment(state, request)),
    ),
    Route::at("/api/v1/environments/{id}/left-behind")
        .cached()
        .get(&[AT, TZ], |state, request| Box::pin(environments::left_behind(state, request))),
    Route::at("/api/v1/groups")
        .cached()
        .get(&[AT, TZ, LIMIT, CONTINUE], |state, request| Box::pin(projects::groups(state, request))),
    Route::at("/api/v1/projects")
        .cached()
        .get(&[AT, TZ, LIMIT, CONTINUE], |state, request| Box::pin(projects::list(state, request))),
    Route::at("/api/v1/projects/{path}")
        .cached()
        .get(&[AT, TZ], |state, request| Box::pin(projects::one(state, request)))
        .put(&[], |state, request| Box::pin(catalog::put_project(state, request)))
        .delete(&[], |state, request| Box::pin(catalog::delete_project(state, request))),
    Route::at("/api/v1/projects/{path}/environments")
        .post(&[], |state, request| Box::pin(catalog::post_environments(state, request))),
    Route::at("/api/v1/agents")
        .cached()
        .get(&[AT, TZ, LIMIT, CONTINUE], |state, request| Box::pin(agents::list(state, request))),
    Route::at("/api/v1/agents/{id}/allowed").get(
        &[PROJECT_ONE, GROUP, ENVIRONMENT, REF, TAG, PROTECTED, NAMESPACE, VAR, AT, TZ],
        |state, request| Box::pin(agents::allowed(state, request)),
    ),
    Route::at("/api/v1/agents/{id}")
        .cached()
        .get(&[AT, TZ], |state, request| Box::pin(agents::one(state, request)))
        .put(&[], |state, request| Box::pin(catalog::put_agent(state, request)))
        .delete(&[], |state, request| Box::pin(catalog::delete_agent(state, request))),
    Route::at("/api/v1/deployments")
        .cached()
        .get(
            environments_and![ENVIRONMENT, STATUS, REFS, BY, SINCE, UNTIL, FORMAT, AT, TZ, LIMIT, CONTINUE],
            |state, request| Box::pin(deployments::list(state, request)),
        )
        .post(&[], |state, request| Box::pin(catalog::post_deployment(state, request))),
    Route::at("/api/v1/deployments/{id}")
        .cached()
        .get(&[AT, TZ, PROJECT_ONE], |state, request| Box::pin(deployments::one(state, request)))
        .put(&[PROJECT_ONE], |state, request| Box::pin(catalog::put_deployment(state, request))),
    Route::at("/api/v1/resources").cached().get(
        &[KIND, NAME, NAMESPACE, CLUSTERS, ENVIRONMENT, GONE, AT, TZ, LIMIT, CONTINUE],
        |state, request| Box::pin(search::list(state, request)),
    ),
    Route::at("/api/v1/resources/{uid}")
        .cached()
        .get(&[AT, TZ, CLUSTER], |state, request| Box::pin(resources::one(state, request))),
    Route::at("/api/v1/resources/{uid}/history")
        .cached()
        .get(&[AT, TZ, CLUSTER, BODIES, LIMIT, CONTINUE], |state, request| {
            Box::pin(resources::history(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/fields")
        .cached()
        .get(&[FIELD, AT, TZ, CLUSTER, LIMIT, CONTINUE], |state, request| {
            Box::pin(fields::list(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/health")
        .cached()
        .get(&[SINCE, LIMIT, AT, TZ, CLUSTER], |state, request| Box::pin(resources::health(state, request))),
    Route::at("/api/v1/resources/{uid}/diff")
        .get(&[FROM, TO, AT, TZ, CLUSTER, INCLUDE, IGNORE, FORMAT], |state, request| {
            Box::pin(diffs::of_resource(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/edges")
        .cached()
        .get(&[AT, TZ, CLUSTER, LIMIT, CONTINUE], |state, request| {
            Box::pin(resources::edges(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/events")
        .cached()
        .get(&[TYPE, REASON, AT, TZ, CLUSTER, LIMIT, CONTINUE], |state, request| {
            Box::pin(events::of_resource(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/timeline")
        .cached()
        .get(&[BELOW, SINCE, BUCKETS, LANE, ORDER, AT, TZ, CLUSTER, LIMIT, CONTINUE], |state, request| {
            Box::pin(timeline::of_resource(state, request))
        }),
    Route::at("/api/v1/images")
        .cached()
        .get(&[IMAGE, ENVIRONMENT, TIER, REGION, FROM, TO, AT, TZ, LIMIT, CONTINUE], |state, request| {
            Box::pin(images::list(state, request))
        }),
    Route::at("/api/v1/resources/{uid}/onset")
        .cached()
        .get(&[HEALTH_ONE, WINDOW, AT, TZ, CLUSTER], |state, request| {
            Box::pin(onset::of_resource(state, request))
        }),
    Route::at("/api/v1/clusters")
        .get(&[AT, TZ, LIMIT, CONTINUE], |state, request| Box::pin(clusters::list(state, request))),
    Route::at("/api/v1/coverage").get(&[CLUSTERS, KIND, STATE, AT, TZ, LIMIT, CONTINUE], |state, request| {
        Box::pin(coverage::list(state, request))
    }),
    Route::at("/api/v1/graphql")
        .ask(&[], graphql::BODY_BYTES_MAX, |state, request| Box::pin(graphql::ask(state, request))),
    Route::at("/api/v1/openapi.json").open().get(&[], |_, request| Box::pin(document::json(request))),
    Route::at("/openapi.yaml").open().get(&[], |_, request| Box::pin(document::yaml(request))),
    Route::at("/metrics").vital().get(&[], |state, request| Box::pin(metrics::metrics(state, request))),
    Route::at("/healthz")
        .open()
        .vital()
        .get(&[VERBOSE], |_, request| Box::pin(probes::live("healthz", request))),
    Route::at("/livez").open().vital().get(&[VERBOSE], |_, request| Box::pin(probes::live("livez", request))),
    Route::at("/readyz")
        .open()
        .vital()
        .get(&[VERBOSE], |state, request| Box::pin(probes::ready(state, request))),
    Route::at("/readyz/lists")
        .open()
        .vital()
        .get(&[VERBOSE], |state, request| Box::pin(probes::lists(state, request))),
];

/// The API's router: every route, and problems for whatever else stands under `/api`.
pub fn routes(state: &AppState) -> Router {
    let elsewhere = warp::path("api").and(nothing_here(respond::problem));
    mount(ROUTES, state, respond::problem).or(elsewhere).unify().boxed()
}
