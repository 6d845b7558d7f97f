//! HTTP: connections, routes and answers.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::faults::Fault;
use super::kinds::ServedKind;
use super::query::{Query, decode};
use super::shared::Shared;
use super::status::Status;
use super::watch::Watch;
use super::{discovery, list, reviews};
use strandline_model::Kind;

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Accepts connections until stopped, then closes them all.
pub(super) async fn accept(shared: Arc<Shared>, listener: TcpListener, mut end: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Watch events are small and each is awaited by someone.
                let _ = stream.set_nodelay(true);
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(move |request: Request<Incoming>| {
                        let answered = answer_or_review(Arc::clone(&shared), request);
                        async { Ok::<_, Infallible>(answered.await) }
                    });
                    // With hyper's 30 s, idle connections would end in the very moment at which clients that
                    // discover every 30 s use them again; real API servers keep theirs for longer.
                    let connection = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(None)
                        .serve_connection(TokioIo::new(stream), service);
                    // A client that hangs up in the middle is no failure.
                    let _ = connection.await;
                });
            }
            Some(_) = connections.join_next() => {}
            _ = &mut end => break,
        }
    }
    connections.shutdown().await;
}

/// Answers one request, of which a review is the only one with a body.
async fn answer_or_review(shared: Arc<Shared>, request: Request<Incoming>) -> Answer {
    if request.method() != Method::POST || !reviews::is_review(request.uri().path()) {
        return answer(shared, request).await;
    }
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    match reviews::answer(&shared, &path, &body) {
        Ok(document) => {
            let body = Bytes::from(format!("{document}\n"));
            respond(StatusCode::CREATED, "application/json", body)
        }
        Err(status) => failed(&status),
    }
}

fn failed(status: &Status) -> Answer {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(code, "application/json", Bytes::from(format!("{}\n", status.to_json())))
}

/// Answers one request, whatever it came through.
pub(super) async fn answer<B>(shared: Arc<Shared>, request: Request<B>) -> Answer {
    if shared.faults.strikes(Fault::Hang, 0) {
        std::future::pending::<()>().await;
    }
    route(&shared, &request).unwrap_or_else(|status| failed(&status))
}

/// The time by the clock from which the times of objects come, as answers carry it.
pub(super) fn date(shared: &Shared) -> Option<HeaderValue> {
    let now = chrono::DateTime::from_timestamp_micros(shared.state().now().as_micros()).unwrap_or_default();
    HeaderValue::from_str(&now.format("%a, %d %b %Y %H:%M:%S GMT").to_string()).ok()
}

fn route<B>(shared: &Arc<Shared>, request: &Request<B>) -> Result<Answer, Status> {
    let path = request.uri().path();
    let segments: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let named = named_resource(&segments);
    let kind = named.as_ref().and_then(|named| shared.kind_at(named.group, named.version, named.plural));
    if let Some(code) = shared.faults.refusal(kind.as_ref().map(|kind| &kind.kind)) {
        shared.count(kind.as_deref(), |counted| counted.refused += 1);
        return Err(Status::refused(code, kind.as_deref()));
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err(Status::method_not_allowed());
    }
    match (named, kind) {
        (Some(named), Some(kind)) => {
            let wants_metadata = accepts(request).contains("as=PartialObjectMetadataList");
            resource(shared, &kind, &named, &Query::parse(request.uri().query()), wants_metadata)
        }
        (Some(_), None) => Err(Status::unknown_path()),
        (None, _) => about(shared, &segments, request),
    }
}

/// What a path below a group and version names.
struct Named<'a> {
    group: &'a str,
    version: &'a str,
    namespace: Option<&'a str>,
    plural: &'a str,
    name: Option<&'a str>,
}

fn named_resource<'a>(segments: &[&'a str]) -> Option<Named<'a>> {
    let (group, version, rest) = match segments {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, plural, name) = match rest {
        ["namespaces", namespace, plural] => (Some(*namespace), *plural, None),
        ["namespaces", namespace, plural, name] | ["namespaces", namespace, plural, name, "status"] => {
            (Some(*namespace), *plural, Some(*name))
        }
        [plural] => (None, *plural, None),
        [plural, name] => (None, *plural, Some(*name)),
        _ => return None,
    };
    Some(Named { group, version, namespace, plural, name })
}

/// Lists, watches and single objects.
fn resource(
    shared: &Arc<Shared>,
    kind: &Arc<ServedKind>,
    named: &Named<'_>,
    query: &Query,
    wants_metadata: bool,
) -> Result<Answer, Status> {
    if named.namespace.is_some() != kind.namespaced && (named.namespace.is_some() || named.name.is_some()) {
        return Err(Status::unknown_path());
    }
    if let Some(name) = named.name {
        shared.count(Some(kind), |counted| counted.gets += 1);
        let body = list::single(shared, kind, named.namespace.unwrap_or(""), name)?;
        return Ok(ok(body));
    }
    let watch = query.flag("watch");
    shared.count(Some(kind), |counted| match (watch, query.text("continue").is_empty()) {
        (true, _) => {
            counted.watches += 1;
            counted.streaming_lists += u64::from(query.flag("sendInitialEvents"));
        }
        (false, true) => {
            counted.lists += 1;
            counted.pages += 1;
        }
        (false, false) => counted.pages += 1,
    });
    if shared.faults.strikes(Fault::InternalError, kind.lane()) {
        return Err(Status::refused(500, Some(kind)));
    }
    if !watch {
        return list::page(shared, kind, named.namespace, query, wants_metadata).map(ok);
    }
    let watch = Watch::open(shared, kind, named.namespace, query)?;
    let lines = stream::unfold(watch, |mut watch| async move {
        let line = watch.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(line)), watch))
    });
    let mut answer = Response::new(StreamBody::new(lines).boxed_unsync());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(answer)
}

/// Discovery and the server itself.
fn about<B>(shared: &Arc<Shared>, segments: &[&str], request: &Request<B>) -> Result<Answer, Status> {
    shared.count(None, |counted| counted.discovery += 1);
    let accept = accepts(request);
    let aggregated = accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2;");
    let aggregated = aggregated || accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2,");
    let wants = |aggregated: bool| aggregated && !shared.faults.strikes(Fault::NoAggregatedDiscovery, 0);
    let document = match segments {
        ["api"] if wants(aggregated) => return Ok(aggregate(&discovery::aggregated(shared, true))),
        ["apis"] if wants(aggregated) => return Ok(aggregate(&discovery::aggregated(shared, false))),
        ["api"] => discovery::core_versions(),
        ["apis"] => discovery::group_list(shared),
        ["api", version] => discovery::resources(shared, "", version)?,
        ["apis", group] => discovery::group(shared, group)?,
        ["apis", group, version] => discovery::resources(shared, group, version)?,
        ["version"] => discovery::version(),
        ["readyz" | "livez" | "healthz"] => {
            return Ok(respond(StatusCode::OK, "text/plain; charset=utf-8", Bytes::from_static(b"ok")));
        }
        [] => json!({"paths": ["/api", "/apis", "/livez", "/readyz", "/version"]}),
        _ => return Err(Status::unknown_path()),
    };
    Ok(ok(Bytes::from(format!("{document}\n"))))
}

fn accepts<B>(request: &Request<B>) -> &str {
    request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("")
}

fn aggregate(document: &Value) -> Answer {
    respond(StatusCode::OK, discovery::AGGREGATED, Bytes::from(format!("{document}\n")))
}

fn ok(body: Bytes) -> Answer {
    respond(StatusCode::OK, "application/json", body)
}

fn respond(code: StatusCode, content_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body).boxed_unsync());
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

impl Shared {
    /// The kind served under a path.
    fn kind_at(&self, group: &str, version: &str, plural: &str) -> Option<Arc<ServedKind>> {
        let state = self.state();
        let found = |kind: &&Arc<ServedKind>| {
            kind.kind.group == group && kind.version == version && kind.plural == plural
        };
        state.kinds().find(found).cloned()
    }
}

impl ServedKind {
    /// Identifies the kind in the randomness of a fault script.
    pub(super) fn lane(&self) -> u64 {
        let Kind { group, kind } = &self.kind;
        group.bytes().chain(kind.bytes()).fold(17, |sum, byte| crate::random::mix(sum ^ u64::from(byte)))
    }
}
