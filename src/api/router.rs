//! A router built from a table of routes: warp matches and extracts, and nothing is ever rejected to it.

use futures_util::future::BoxFuture;
use http::header::{ALLOW, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use warp::Filter;
use warp::filters::BoxedFilter;
use warp::filters::path::FullPath;

use super::params::{Parameter, Query};
use super::problem::Problem;
use super::request::{Context, Request, TraceId, decode};
use super::respond::Response;

/// Answers every request, or those under its paths.
pub type Router = BoxedFilter<(Response,)>;

/// Answers a request.
pub type Handler<S> = fn(S, Request) -> BoxFuture<'static, Result<Response, Problem>>;

/// Turns a problem into an answer: JSON for programs, a page for people.
pub type Failure = fn(Problem, &Context) -> Response;

/// One row of a table of routes.
pub struct Route<S: 'static> {
    /// The path, with `{name}` for its parameters.
    pub path: &'static str,
    /// The query parameters that it knows.
    pub parameters: &'static [Parameter],
    /// Who answers GET and, without the body, HEAD.
    pub handler: Handler<S>,
}

impl<S> std::fmt::Debug for Route<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What every route answers to.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// The router of a table; what matches no row is left to whatever stands after it.
pub fn mount<S: Clone + Send + Sync>(routes: &'static [Route<S>], state: &S, failure: Failure) -> Router {
    let nothing = warp::any().and_then(async || Err::<Response, _>(warp::reject::not_found())).boxed();
    routes
        .iter()
        .rev()
        .fold(nothing, |after, route| one(route, state.clone(), failure).or(after).unify().boxed())
}

/// Answers everything with "nothing is served here"; stands last.
pub fn nothing_here(failure: Failure) -> Router {
    context().map(move |context: Context| failure(Problem::no_such_address(&context.path), &context)).boxed()
}

fn one<S: Clone + Send + Sync>(route: &'static Route<S>, state: S, failure: Failure) -> Router {
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    matched(route.path)
        .and(context())
        .and(query)
        .then(move |arguments, context, query: String| {
            let state = state.clone();
            async move {
                match answer(route, state, arguments, &context, &query).await {
                    Ok(response) => response,
                    Err(problem) => failure(problem, &context),
                }
            }
        })
        .boxed()
}

/// Matches a path and extracts its parameters as they were sent, so that an encoded slash stays within one.
fn matched(path: &'static str) -> BoxedFilter<(Vec<String>,)> {
    let begin = warp::any().map(Vec::new).boxed();
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let all = segments.fold(begin, |before, segment| {
        if segment.starts_with('{') {
            let with = |mut found: Vec<String>, value: String| {
                found.push(value);
                found
            };
            before.and(warp::path::param::<String>()).map(with).boxed()
        } else {
            before.and(warp::path(segment)).boxed()
        }
    });
    all.and(warp::path::end()).boxed()
}

/// Extracts what every answer needs.
fn context() -> BoxedFilter<(Context,)> {
    warp::method()
        .and(warp::path::full())
        .and(warp::header::headers_cloned())
        .and(warp::ext::optional::<TraceId>())
        .map(|method: Method, path: FullPath, headers: HeaderMap, trace: Option<TraceId>| {
            let trace = trace.unwrap_or_else(|| TraceId::of(&headers));
            Context { path: path.as_str().to_owned(), method, headers, trace }
        })
        .boxed()
}

async fn answer<S>(
    route: &'static Route<S>,
    state: S,
    arguments: Vec<String>,
    context: &Context,
    query: &str,
) -> Result<Response, Problem> {
    if context.method == Method::OPTIONS {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::NO_CONTENT;
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(METHODS));
        return Ok(response);
    }
    if context.method != Method::GET && context.method != Method::HEAD {
        return Err(Problem::method_not_allowed(&context.method, METHODS));
    }
    let arguments = arguments.iter().map(|argument| decode(argument)).collect::<Result<_, _>>()?;
    let query = Query::parse(query, route.parameters)?;
    (route.handler)(state, Request { context: context.clone(), arguments, query }).await
}
