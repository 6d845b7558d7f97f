//! Pages, rendered on the server: they need no JavaScript, load nothing from elsewhere, and take what clusters
//! wrote as text only. One script of ours makes them more comfortable; docs/pages.md says how a part is added to it.

mod address;
mod agents;
mod around;
mod assets;
mod changes;
mod chip;
mod clusters;
mod contract;
mod coverage;
mod deployment;
mod deployment_feed;
mod deployments;
mod diff;
mod edges;
mod environment;
mod environments;
mod event_feed;
mod events;
mod feed_form;
mod field;
mod graph;
mod help;
mod images;
mod links;
mod live;
mod login;
mod overview;
mod places;
mod projects;
mod prose;
mod rail;
mod render;
mod resource;
mod search;
mod shell;
mod strip;
#[cfg(test)]
mod tests;
mod timeline;
mod tree;
mod views;
mod why;

use askama::Template;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use warp::Filter;

use crate::app::AppState;
use crate::http::auth::CALLBACK;
use crate::http::context::Context;
use crate::http::params::{
    AT, BY, CHILDREN, CLUSTER, COLLAPSE, CONTINUE, CONTROLLERS, ENVIRONMENT, FROM, GROUP, GROUP_BY, HEALTH,
    IGNORE, IMAGE, INCLUDE, MAP, NAMESPACE, ORDER, PROJECT_ONE, PROTECTED, Q, Query, REASON, REF, REFS,
    REGION, SINCE, STATUS, TAG, TIER, TO, TYPE, TZ, UNDER, UNTIL, VAR, VIEW, WINDOW, WITH, environments_and,
};
use crate::http::problem::Problem;
use crate::http::respond::{self, Response};
use crate::http::router::{Route, Router, mount, nothing_here};
use address::TAB;
use address::answer;
use assets::VERSION;
use diff::LAYOUT;
use overview::WALL;
use prose::Prose;
use rail::SPAN;
use render::{HTML, POLICY, sentence};
use shell::Shell;

/// Every page.
pub const ROUTES: &[Route<AppState>] = &[
    Route::at("/").get(
        environments_and![AT, TZ, HEALTH, GROUP_BY, VIEW, ORDER, CONTINUE, WALL, SPAN],
        |state, request| Box::pin(answer(state, request, overview::page)),
    ),
    Route::at("/changes").get(
        environments_and![SINCE, UNTIL, TYPE, BY, CONTROLLERS, AT, TZ, SPAN, CONTINUE],
        |state, request| Box::pin(answer(state, request, changes::page)),
    ),
    Route::at("/events").get(
        environments_and![ENVIRONMENT, SINCE, UNTIL, TYPE, REASON, AT, TZ, SPAN, CONTINUE],
        |state, request| Box::pin(answer(state, request, event_feed::page)),
    ),
    Route::at("/deployments").get(
        environments_and![ENVIRONMENT, SINCE, UNTIL, STATUS, REFS, BY, AT, TZ, SPAN, CONTINUE],
        |state, request| Box::pin(answer(state, request, deployment_feed::page)),
    ),
    Route::at("/search")
        .get(&[Q, TYPE, AT, TZ], |state, request| Box::pin(answer(state, request, search::page))),
    Route::at("/coverage")
        .get(&[AT, TZ, SPAN], |state, request| Box::pin(answer(state, request, coverage::page))),
    Route::at("/clusters")
        .get(&[AT, TZ, CONTINUE], |state, request| Box::pin(answer(state, request, clusters::page))),
    Route::at("/clusters/{cluster}")
        .get(&[AT, TZ, SPAN], |state, request| Box::pin(answer(state, request, clusters::one))),
    Route::at("/projects/{path}")
        .get(&[AT, TZ, SPAN], |state, request| Box::pin(answer(state, request, projects::page))),
    Route::at("/agents")
        .get(&[AT, TZ, CONTINUE], |state, request| Box::pin(answer(state, request, agents::page))),
    Route::at("/agents/{id}").get(
        &[AT, TZ, PROJECT_ONE, GROUP, ENVIRONMENT, REF, TAG, PROTECTED, NAMESPACE, VAR],
        |state, request| Box::pin(answer(state, request, agents::one)),
    ),
    Route::at("/images")
        .get(&[IMAGE, ENVIRONMENT, TIER, REGION, FROM, TO, AT, TZ, SPAN, CONTINUE], |state, request| {
            Box::pin(answer(state, request, images::page))
        }),
    Route::at("/environments/{id}")
        .get(&[AT, TZ, SPAN, TAB, UNDER, CLUSTER, COLLAPSE, WINDOW, CONTINUE], |state, request| {
            Box::pin(answer(state, request, environment::page))
        }),
    Route::at("/environments/{id}/graph.svg").get(&[AT, TZ, UNDER, CLUSTER, COLLAPSE], |state, request| {
        Box::pin(answer(state, request, environment::graph_file))
    }),
    Route::at("/environments/{id}/diff")
        .get(&[FROM, AT, TZ, WITH, MAP, CHILDREN, INCLUDE, IGNORE, LAYOUT, CONTINUE], |state, request| {
            Box::pin(answer(state, request, diff::of_environment))
        }),
    Route::at("/resources/{uid}/diff")
        .get(&[FROM, AT, TZ, CLUSTER, INCLUDE, IGNORE, LAYOUT], |state, request| {
            Box::pin(answer(state, request, diff::of_resource))
        }),
    Route::at("/deployments/{id}")
        .get(&[AT, TZ, PROJECT_ONE], |state, request| Box::pin(answer(state, request, deployment::page))),
    Route::at("/resources/{uid}/object.yaml")
        .get(&[AT, TZ, CLUSTER], |state, request| Box::pin(answer(state, request, resource::yaml::file))),
    Route::at("/resources/{uid}")
        .get(&[AT, TZ, SPAN, CLUSTER], |state, request| Box::pin(answer(state, request, resource::page))),
    Route::at("/login")
        .open()
        .get(&[login::TO, login::ERROR], |state, request| Box::pin(login::page(state, request))),
    Route::at("/login/start")
        .open()
        .get(&[login::TO], |state, request| Box::pin(login::start(state, request))),
    Route::at(CALLBACK)
        .open()
        .get(login::OF_CALLBACK, |state, request| Box::pin(login::callback(state, request))),
    Route::at("/logout").ask(&[], 0, |state, request| Box::pin(login::logout(state, request))),
    Route::at("/views")
        .form(views::FORM_BYTES_MAX, |_, request| Box::pin(async move { views::keep(&request) })),
    Route::at("/views/remove")
        .form(views::FORM_BYTES_MAX, |_, request| Box::pin(async move { views::forget(&request) })),
    Route::at("/openapi").open().get(&[], |_, _| Box::pin(contract::page())),
    Route::at("/help/{page}").open().get(&[], |_, request| Box::pin(help::page(request))),
    Route::at("/assets/{name}").open().get(&[VERSION], |_, request| Box::pin(assets::asset(request))),
];

/// The pages' router: every page, and a page for whatever else is asked for.
pub fn pages(state: &AppState) -> Router {
    mount(ROUTES, state, failure).or(nothing_here(failure)).unify().boxed()
}

/// A problem as a page with the problem's status.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    shell: Shell,
    title: &'static str,
    status: u16,
    detail: Prose,
    errors: Vec<(String, Prose)>,
    /// Name and address of each resource to choose from.
    candidates: Vec<(String, String)>,
    /// Where it may be instead, in words and as an address.
    elsewhere: Vec<(&'static str, String)>,
    trace_id: String,
}

/// Where what is not there may be instead: as it was last, or now where another moment was asked for.
fn elsewhere(problem: &Problem, context: &Context) -> Vec<(&'static str, String)> {
    let known = ROUTES.iter().flat_map(Route::operations).flat_map(|(_, operation)| operation.parameters);
    let query = Query::parse(&context.query, &known.copied().collect::<Vec<_>>()).unwrap_or_default();
    let at = |at: Option<&str>| format!("{}{}", context.path, query.with(&[(AT, at)]));
    let last = problem.gone.as_ref().map(|gone| gone.last_offset.to_string());
    let last = last.map(|offset| ("Show its last state", at(Some(&offset))));
    let past = query.one(AT).is_some_and(|at| at != "now");
    let of_a_moment = ["/environments/", "/resources/", "/clusters/", "/projects/", "/agents/"]
        .iter()
        .any(|start| context.path.starts_with(start));
    let missing = problem.status() == StatusCode::NOT_FOUND;
    let now = (past && of_a_moment && missing).then(|| ("Show it now", at(None)));
    last.into_iter().chain(now).collect()
}

fn failure(problem: Problem, context: &Context) -> Response {
    // Whoever takes no page is no browser.
    if !context.takes(HTML) {
        return respond::problem(problem, context);
    }
    if let Some(response) = login::instead(&problem, context) {
        return response;
    }
    use crate::format::visible;
    use strandline_syntax::percent_encode;
    let shown = |text: &str| visible(text).into_owned();
    let errors = problem.errors.iter().map(|error| (shown(&error.parameter), Prose::new(&error.detail)));
    let choices = problem.candidates.iter().map(|key| {
        (shown(&key.to_string()), format!("{}?cluster={}", context.path, percent_encode(&key.cluster)))
    });
    let page = ErrorPage {
        elsewhere: elsewhere(&problem, context),
        shell: Shell::bare(problem.code.title()),
        title: problem.code.title(),
        status: problem.code.status(),
        detail: Prose::new(&sentence(&problem.detail)),
        errors: errors.collect(),
        candidates: choices.collect(),
        trace_id: context.trace.as_str().to_owned(),
    };
    let Ok(body) = page.render() else { return respond::problem(problem, context) };
    let mut response = Response::new(body.into());
    *response.status_mut() = problem.status();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.extend(problem.headers());
    response
}
