//! A router built from a table of routes: warp matches and extracts, and nothing is ever rejected to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, HeaderValue};
use http::{Method, StatusCode};
use warp::Filter;
use warp::filters::BoxedFilter;
use warp::filters::path::FullPath;

use super::auth::Gate;
use super::body::Media;
use super::caller::{self, Caller};
use super::context::Context;
use super::params::{Parameter, Query};
use super::percent::decode;
use super::problem::{Problem, ProblemCode};
use super::request::Request;
use super::requests::MatchedRoute;
use super::respond::Response;
use super::{audit, body, load, origin};

/// Answers every request, or those under its paths.
pub type Router = BoxedFilter<(Response,)>;

/// Answers a request.
pub type Handler<S> = fn(S, Request) -> BoxFuture<'static, Result<Response, Problem>>;

/// Turns a problem into an answer: JSON for programs, a page for people.
pub type Failure = fn(Problem, &Context) -> Response;

/// What one method of a route does.
pub struct Operation<S: 'static> {
    /// The query parameters that it knows.
    pub parameters: &'static [Parameter],
    /// Whether it changes nothing, so that those may ask who may only read.
    pub reads: bool,
    /// The most bytes that a body of it may have.
    pub body_max: usize,
    media: Media,
    handler: Handler<S>,
}

impl<S> Operation<S> {
    const fn reading(parameters: &'static [Parameter], handler: Handler<S>) -> Self {
        Operation { parameters, reads: true, body_max: body::BODY_BYTES_MAX, media: Media::Json, handler }
    }

    const fn writing(parameters: &'static [Parameter], handler: Handler<S>) -> Self {
        Operation { reads: false, ..Operation::reading(parameters, handler) }
    }
}

/// How long the handler took of an answer to somebody who sees everything; none where the answer was kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) handler: Option<Duration>,
}

/// The longest that a handler that changes nothing may take for its answer, all its queries together.
const LONGEST: Duration = Duration::from_secs(60);

/// One row of a table of routes: a path, with what each of its methods does.
pub struct Route<S: 'static> {
    /// The path, with `{name}` for its parameters.
    pub path: &'static str,
    /// Whether GET asks nobody who they are, because what it tells is nobody's.
    pub open: bool,
    /// Whether it is answered however much is under way: it costs nearly nothing, and tells how the service fares.
    pub vital: bool,
    /// Whether its answer follows from the caller, the address and the record alone, so that it may be given again.
    cached: bool,
    /// Answers HEAD too, without the body.
    get: Option<Operation<S>>,
    put: Option<Operation<S>>,
    post: Option<Operation<S>>,
    delete: Option<Operation<S>>,
}

impl<S> Route<S> {
    /// A row for this path, as yet without methods.
    pub const fn at(path: &'static str) -> Self {
        Route {
            path,
            open: false,
            vital: false,
            cached: false,
            get: None,
            put: None,
            post: None,
            delete: None,
        }
    }

    /// With GET for everyone, whoever they are.
    pub const fn open(self) -> Self {
        Route { open: true, ..self }
    }

    /// Answered however much is under way.
    pub const fn vital(self) -> Self {
        Route { vital: true, ..self }
    }

    /// With an answer to GET that follows from the caller, the address and the record alone: from no other header and no
    /// state of the program.
    pub const fn cached(self) -> Self {
        Route { cached: true, ..self }
    }

    /// With GET and HEAD.
    pub const fn get(self, parameters: &'static [Parameter], handler: Handler<S>) -> Self {
        Route { get: Some(Operation::reading(parameters, handler)), ..self }
    }

    /// With PUT, which takes a body.
    pub const fn put(self, parameters: &'static [Parameter], handler: Handler<S>) -> Self {
        Route { put: Some(Operation::writing(parameters, handler)), ..self }
    }

    /// With POST, which takes a body.
    pub const fn post(self, parameters: &'static [Parameter], handler: Handler<S>) -> Self {
        Route { post: Some(Operation::writing(parameters, handler)), ..self }
    }

    /// With POST that only reads: what is asked for stands in its body, of so many bytes at most.
    pub const fn ask(self, parameters: &'static [Parameter], body_max: usize, handler: Handler<S>) -> Self {
        let operation = Operation { body_max, ..Operation::reading(parameters, handler) };
        Route { post: Some(operation), ..self }
    }

    /// With POST of a form, of so many bytes at most, that changes nothing that is recorded.
    pub const fn form(self, body_max: usize, handler: Handler<S>) -> Self {
        let operation = Operation { body_max, media: Media::Form, ..Operation::reading(&[], handler) };
        Route { post: Some(operation), ..self }
    }

    /// With DELETE, which takes none.
    pub const fn delete(self, parameters: &'static [Parameter], handler: Handler<S>) -> Self {
        Route { delete: Some(Operation::writing(parameters, handler)), ..self }
    }

    /// What it does, by method; HEAD goes without saying.
    pub fn operations(&self) -> impl Iterator<Item = (Method, &Operation<S>)> {
        let all = [
            (Method::GET, &self.get),
            (Method::PUT, &self.put),
            (Method::POST, &self.post),
            (Method::DELETE, &self.delete),
        ];
        all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
    }

    /// What a method does, if the path answers it.
    pub fn operation(&self, method: &Method) -> Option<&Operation<S>> {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        self.operations().find(|(one, _)| one == method).map(|(_, operation)| operation)
    }

    /// All methods that it answers, as `Allow` tells them.
    pub fn allow(&self) -> String {
        let mut names = Vec::new();
        for (method, _) in self.operations() {
            names.push(method.to_string());
            names.extend((method == Method::GET).then(|| Method::HEAD.to_string()));
        }
        names.push(Method::OPTIONS.to_string());
        names.join(", ")
    }
}

impl<S> std::fmt::Debug for Route<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route")
            .field("path", &self.path)
            .field("allow", &self.allow())
            .finish_non_exhaustive()
    }
}

impl<S> std::fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

/// The router of a table: one lookup, whatever the number of rows; what matches none is left to the router after it.
///
/// # Panics
/// When two rows have the same path.
pub fn mount<S: Gate + Clone + Send + Sync>(
    routes: &'static [Route<S>],
    state: &S,
    failure: Failure,
) -> Router {
    let mut table = matchit::Router::new();
    for route in routes {
        let inserted = table.insert(route.path, route);
        assert!(inserted.is_ok(), "{} conflicts with another route", route.path);
    }
    let (table, state) = (Arc::new(table), state.clone());
    let found = move |path: FullPath| {
        let found = matched(&table, path.as_str());
        async move { found.ok_or_else(warp::reject::not_found) }
    };
    warp::path::full()
        .and_then(found)
        .and(context())
        .and(warp::body::stream().map(body::incoming).boxed())
        .then(move |found: Match<S>, context: Arc<Context>, body| {
            let state = state.clone();
            async move {
                let Match { route, arguments } = found;
                let asked = Asked { arguments, context: &context, body };
                let answered = answer(route, state, asked).await;
                let mut response = answered.unwrap_or_else(|problem| failure(problem, &context));
                response.extensions_mut().insert(MatchedRoute(route.path));
                response
            }
        })
        .boxed()
}

/// Answers everything with "nothing is served here"; stands last.
pub fn nothing_here(failure: Failure) -> Router {
    context()
        .map(move |context: Arc<Context>| failure(Problem::no_such_address(&context.path), &context))
        .boxed()
}

/// A row that a path matches, with the path's parameters.
struct Match<S: 'static> {
    route: &'static Route<S>,
    arguments: Vec<String>,
}

/// Looks a path up, with or without a slash at its end. Parameters stay as they were sent, so that an encoded slash stays
/// within one.
fn matched<S>(table: &matchit::Router<&'static Route<S>>, path: &str) -> Option<Match<S>> {
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let found = table.at(path).ok()?;
    let arguments = found.params.iter().map(|(_, value)| value.to_owned()).collect();
    Some(Match { route: found.value, arguments })
}

/// Extracts what every answer needs: what the guard knows, or the request alone where there is no guard.
fn context() -> BoxedFilter<(Arc<Context>,)> {
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    let alone = warp::method().and(warp::path::full()).and(query).and(warp::header::headers_cloned()).map(
        |method, path: FullPath, query, headers| {
            Arc::new(Context { query, ..Context::new(method, path.as_str(), headers) })
        },
    );
    warp::ext::get::<Arc<Context>>().or(alone).unify().boxed()
}

/// A request that matched a route, as it came.
struct Asked<'a> {
    arguments: Vec<String>,
    context: &'a Arc<Context>,
    body: body::Incoming,
}

/// Answers a request. Who asks is settled before anything of it is read, and its body is read last.
async fn answer<S: Gate>(route: &'static Route<S>, state: S, asked: Asked<'_>) -> Result<Response, Problem> {
    let (context, method) = (asked.context, &asked.context.method);
    if context.reserved && !route.vital {
        let detail = "the limit of connections, or of those from one address, is reached; retry later";
        return Err(Problem::new(ProblemCode::TooManyConnections, detail));
    }
    if *method == Method::OPTIONS {
        return Ok(options(&route.allow()));
    }
    let operation =
        route.operation(method).ok_or_else(|| Problem::method_not_allowed(method, &route.allow()))?;
    let gets = matches!(*method, Method::GET | Method::HEAD);
    // What only reads is refused to pages of other sites too, where it is no GET: none of ours asks across sites.
    if !gets {
        origin::check(context)?;
    }
    let open = route.open && gets;
    let caller = if open { caller::unasked() } else { state.caller(context).await? };
    if !gets && caller.method.is_of_browsers() {
        origin::require_ours(context)?;
    }
    let audited = !open && (!operation.reads || state.audits_reads());
    let audit = audited.then(|| Arc::clone(&caller));
    let answer = carry_out(route, operation, state, caller, asked).await;
    if let Some(caller) = audit {
        audit::record(&caller, route.path, context, operation.reads, &answer);
    }
    answer
}

/// Answers a request of whom we know.
async fn carry_out<S: Gate>(
    route: &Route<S>,
    operation: &Operation<S>,
    state: S,
    caller: Arc<Caller>,
    asked: Asked<'_>,
) -> Result<Response, Problem> {
    let context = asked.context;
    if !operation.reads {
        caller.require_write()?;
        state.count_write(&caller)?;
    }
    let asker = load::asker(&caller, context.peer.map(|peer| peer.ip()));
    if !route.vital {
        context.account.enter(&asker)?;
    }
    let arguments = asked.arguments.iter().map(|argument| decode(argument)).collect::<Result<_, _>>()?;
    let now = state.now();
    let query = Query::parse(&context.query, operation.parameters)?.asked_at(now);
    let body = match context.method {
        // What takes no body may have the type of one: the form of a button has no fields.
        Method::PUT | Method::POST if operation.body_max > 0 => {
            body::read(context, asked.body, (operation.media, operation.body_max)).await?
        }
        _ => Bytes::new(),
    };
    let kept = route.cached && matches!(context.method, Method::GET | Method::HEAD);
    let answers = kept.then(|| state.answers(now)).flatten();
    let place = answers.map(|(cache, stamp)| cache.place(stamp, &caller, context));
    let sees_everything = caller.everything;
    let timed = |mut answer: Response, handler| {
        if sees_everything {
            answer.extensions_mut().insert(Timed { handler });
        }
        answer
    };
    if let Some(answer) = place.as_ref().and_then(|place| place.get(context)) {
        return Ok(timed(answer, None));
    }
    let request = Request { caller, body, ..Request::new(Arc::clone(context), arguments, query) };
    let started = Instant::now();
    let longest = operation.reads.then_some(LONGEST);
    let answer = in_time(longest, (operation.handler)(state.serving(&asker, now), request)).await;
    if let (Some(place), Ok(answer)) = (place, &answer) {
        place.put(answer);
    }
    answer.map(|answer| timed(answer, Some(started.elapsed())))
}

/// An answer in the time that there is for it, if there is a limit. Without anybody who waits for it, a query ends; what is
/// written is not given up half-way.
async fn in_time(
    longest: Option<Duration>,
    answer: impl Future<Output = Result<Response, Problem>>,
) -> Result<Response, Problem> {
    let Some(longest) = longest else { return answer.await };
    tokio::time::timeout(longest, answer).await.unwrap_or_else(|_| {
        let detail = format!("the request took longer than {} s; ask for less", longest.as_secs());
        Err(Problem::new(ProblemCode::QuestionTooLong, detail))
    })
}

/// What OPTIONS is answered with; no site but ours is allowed anything, so there is no more to it.
pub(super) fn options(allow: &str) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().extend(HeaderValue::from_str(allow).ok().map(|allow| (ALLOW, allow)));
    response
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tower_service::Service;

    #[test]
    fn a_path_is_looked_up_as_it_was_sent() {
        let routes: Vec<&'static Route<()>> =
            ["/", "/things", "/things/{id}", "/things/{id}/parts", "/things/all"]
                .map(|path| &*Box::leak(Box::new(Route::at(path))))
                .into();
        let mut table = matchit::Router::new();
        for route in routes {
            table.insert(route.path, route).unwrap();
        }
        for (path, expected) in [
            ("/", Some(("/", vec![]))),
            ("/things", Some(("/things", vec![]))),
            ("/things/", Some(("/things", vec![]))),
            ("/things//", None),
            ("//things", None),
            ("/things/all", Some(("/things/all", vec![]))),
            ("/things/a%2Fb", Some(("/things/{id}", vec!["a%2Fb"]))),
            ("/things/a/parts", Some(("/things/{id}/parts", vec!["a"]))),
            ("/things/a/parts/", Some(("/things/{id}/parts", vec!["a"]))),
            ("/things//parts", None),
            ("/things/a/b", None),
            ("/Things", None),
            ("", None),
        ] {
            let found = matched(&table, path).map(|found| (found.route.path, found.arguments));
            let expected =
                expected.map(|(path, given)| (path, given.into_iter().map(str::to_owned).collect()));
            assert_eq!(found, expected, "{path}");
        }
    }

    /// By a clock that runs on when nothing else does.
    #[tokio::test(start_paused = true)]
    async fn what_reads_is_given_up_after_its_time_and_what_writes_is_not() {
        let after = |time: Duration| async move {
            tokio::time::sleep(time).await;
            Ok(Response::default())
        };
        let code = |answer: Result<Response, Problem>| answer.map(|_| ()).map_err(|problem| problem.code);
        let second = Duration::from_secs(1);
        assert_eq!(code(in_time(Some(LONGEST), after(LONGEST - second)).await), Ok(()));
        let late = in_time(Some(LONGEST), after(LONGEST + second)).await;
        assert_eq!(code(late), Err(ProblemCode::QuestionTooLong));
        assert_eq!(code(in_time(None, after(10 * LONGEST)).await), Ok(()));
    }

    /// A question that is never answered, and one that is no question and takes its time.
    const SLOW: &[Route<()>] =
        &[Route::at("/slow").get(&[], |(), _| Box::pin(std::future::pending())).delete(&[], |(), _| {
            Box::pin(async {
                tokio::time::sleep(2 * LONGEST).await;
                Ok(Response::default())
            })
        })];

    #[tokio::test(start_paused = true)]
    async fn the_router_limits_questions_alone() {
        let router = mount(SLOW, &(), crate::http::respond::problem);
        for (method, expected) in [("GET", ProblemCode::QuestionTooLong.status()), ("DELETE", 200)] {
            let body = http_body_util::Empty::<Bytes>::new();
            let request = http::Request::builder().method(method).uri("/slow").body(body).unwrap();
            let answer = warp::service(router.clone()).call(request).await.unwrap();
            assert_eq!(answer.status().as_u16(), expected, "{method}");
        }
    }
}
