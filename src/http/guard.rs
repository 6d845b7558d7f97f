//! What holds for every answer, whoever gives it: trace, names we answer to, panics, security headers.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use http::header::{
    CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Method, Request, StatusCode, Uri};
use hyper::body::{Body, Incoming};
use tower_service::Service;

use super::context::Context;
use super::host::Hosts;
use super::load::Account;
use super::problem::{Problem, ProblemCode};
use super::requests::MatchedRoute;
use super::respond::{self, Chosen, Response};
use super::router::{self, Router, Timed};
use super::server_options::ServerOptions;
use strandline_syntax::diagnostics::panic_text;
use tracing::Instrument;
use tracing::field::Empty;

/// The longest address that is read; the longest of ours stays far below.
const ADDRESS_BYTES_MAX: usize = 8 * 1024;

/// What `OPTIONS` names that asks of the server and of none of its addresses, and the methods of all of these together.
const WHOLE_SERVER: &str = "*";
const METHODS: &str = "GET, HEAD, PUT, POST, DELETE, OPTIONS";

/// An answer that is not refused for its size, as those to writing are, in bytes.
const SMALL: usize = 64 * 1024;

/// Nothing may be loaded, framed or submitted; pages set a policy of their own.
const STRICT_POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What one caller sees is not what another sees, and no cache may think so.
const VARIES: &str = "Accept, Accept-Encoding, Authorization, Cookie";

/// The same where pages of other sites may ask.
const VARIES_BY_ORIGIN: &str = "Accept, Accept-Encoding, Authorization, Cookie, Origin";

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The other end of the connection of a request.
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Whether the connection has no place but for probes and metrics.
    pub reserved: bool,
    /// What the request takes.
    pub account: Account,
}

/// Answers a request by the router, whatever the router does.
pub async fn answer(
    router: Router,
    options: &ServerOptions,
    peer: Peer,
    mut request: Request<Incoming>,
) -> Response {
    let started = Instant::now();
    let headers = std::mem::take(request.headers_mut());
    let known = Context::new(request.method().clone(), request.uri().path(), headers);
    let Peer { address, reserved, account } = peer;
    let from_allowed_site = options.origins.allow(&known.headers);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let context = Context { query, peer: Some(address), reserved, account, from_allowed_site, ..known };
    // All parts of an answer share it, and nothing else has the headers.
    let context = Arc::new(context);
    request.extensions_mut().insert(Arc::clone(&context));
    let span = tracing::info_span!(
        target: "traces",
        "request",
        trace_id = context.trace.as_str(),
        parent_span_id = context.trace.parent(),
        sampled = context.trace.is_sampled(),
        http.request.method = context.method.as_str(),
        http.route = Empty,
        http.response.status_code = Empty,
    );
    let response = match refusal(&options.hosts, request.uri(), &context) {
        Some(problem) => respond::problem(problem, &context),
        None if request.uri().path() == WHOLE_SERVER => router::options(METHODS),
        None => caught(router, request, &context).instrument(span.clone()).await,
    };
    let route = response.extensions().get().copied();
    let response = acceptable(response, &context);
    let response = counted(response, &context);
    let response = options.compression.apply(response, &context).await;
    let mut response = finish(response, &context);
    mark_time(&mut response, started.elapsed());
    mark_origin(&mut response, options, &context);
    if let Some(MatchedRoute(route)) = route {
        span.record("http.route", route);
    }
    span.record("http.response.status_code", response.status().as_u16());
    options.requests.observe(route, &context.method, response.status(), started.elapsed());
    tracing::debug!(
        method = %context.method,
        path = context.path,
        status = response.status().as_u16(),
        trace_id = context.trace.as_str(),
        "request finished"
    );
    response
}

fn refusal(hosts: &Hosts, uri: &Uri, context: &Context) -> Option<Problem> {
    let address = uri.path_and_query().map_or(0, |address| address.as_str().len());
    if address > ADDRESS_BYTES_MAX {
        let detail = format!("the URL has {address} bytes; the limit is {ADDRESS_BYTES_MAX}");
        return Some(Problem::new(ProblemCode::UriTooLong, detail));
    }
    if !hosts.allow(uri, &context.headers) {
        let detail = "the Host header is not a name of this server";
        return Some(Problem::new(ProblemCode::MisdirectedRequest, detail));
    }
    let asks_of_whole = context.method == Method::OPTIONS && uri.path() == WHOLE_SERVER;
    if !uri.path().starts_with('/') && !asks_of_whole {
        let detail = format!(
            "the target of `{}` has no path; use one such as /api/v1/environments: this server is no proxy",
            context.method
        );
        return Some(Problem::new(ProblemCode::MalformedRequest, detail));
    }
    None
}

/// A panic costs its own request and no other.
async fn caught(router: Router, request: Request<Incoming>, context: &Context) -> Response {
    let run = async move { warp::service(router).call(request).await };
    match AssertUnwindSafe(run).catch_unwind().await {
        Ok(Ok(response)) => response,
        Err(panic) => {
            tracing::error!(
                trace_id = context.trace.as_str(),
                path = context.path,
                panic = panic_text(&*panic),
                "a handler panicked"
            );
            respond::problem(Problem::internal("a panic"), context)
        }
    }
}

/// The answer, if it is of a media type that its caller accepts. A problem is answered in any case, and so is what was written.
fn acceptable(response: Response, context: &Context) -> Response {
    let chosen = response.extensions().get::<Chosen>().is_some();
    let reads = matches!(context.method, Method::GET | Method::HEAD) && !chosen;
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let refused = content_type.filter(|content_type| !context.takes(content_type));
    match refused {
        Some(content_type) if reads && response.status() == StatusCode::OK => {
            let detail = format!("the answer is {content_type}, which `Accept` does not name");
            let route = response.extensions().get::<MatchedRoute>().copied();
            let mut refused = respond::problem(Problem::new(ProblemCode::NotAcceptable, detail), context);
            if let Some(route) = route {
                refused.extensions_mut().insert(route);
            }
            refused
        }
        _ => response,
    }
}

/// Says how long the answer took, to those who see everything: it can depend on what others have.
fn mark_time(response: &mut Response, total: Duration) {
    let Some(Timed { handler }) = response.extensions().get().copied() else { return };
    // Milliseconds to three places, by integers: what floats take to be printed shows in short answers.
    let duration = |time: Duration| format!("dur={}.{:03}", time.as_millis(), time.subsec_micros() % 1000);
    let handler = match handler {
        Some(time) => format!("handler;{}", duration(time)),
        None => "cache;desc=hit".to_owned(),
    };
    let text = format!("{handler}, total;{}", duration(total));
    response.headers_mut().extend(HeaderValue::from_str(&text).ok().map(|value| (SERVER_TIMING, value)));
}

/// Where pages of other sites may ask, says so to theirs.
fn mark_origin(response: &mut Response, options: &ServerOptions, context: &Context) {
    if !options.origins.is_empty() {
        response.headers_mut().insert(VARY, HeaderValue::from_static(VARIES_BY_ORIGIN));
        options.origins.mark(response, context);
    }
}

/// The answer, if there is room for it. What was written is answered in any case.
fn counted(response: Response, context: &Context) -> Response {
    let bytes =
        response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    if bytes <= SMALL {
        context.account.add(bytes);
        return response;
    }
    match context.account.take(bytes) {
        Ok(()) => response,
        Err(problem) => respond::problem(problem, context),
    }
}

/// Headers that every answer carries, and no body for HEAD.
fn finish(mut response: Response, context: &Context) -> Response {
    let given = context.header(X_REQUEST_ID).filter(|id| is_plain(id));
    let id = HeaderValue::from_str(given.unwrap_or(context.trace.as_str()));
    let headers = response.headers_mut();
    if let Ok(id) = id {
        headers.insert(X_REQUEST_ID, id);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(VARY, HeaderValue::from_static(VARIES));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(STRICT_POLICY));
    let empty = matches!(response.status(), StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT);
    if context.method == Method::HEAD && !empty {
        let size = response.body().size_hint().exact();
        *response.body_mut() = Vec::new().into();
        if let Some(size) = size {
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size));
        }
    }
    response
}

/// Whether a request id may be repeated: short, and nothing that could upset a log.
fn is_plain(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=128).contains(&id.len()) && id.bytes().all(plain)
}
