//! A cluster that means harm: it answers like an API server that has only Pods, until it does not.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// How it answers lists and watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As it should: one Pod, of which nothing more is to be told.
    Good,
    /// Every page of a list announces another with other objects, for ever.
    NewPages,
    /// Every page of a list is the same, its token too.
    SamePages,
    /// A list with one object of 100 MB.
    LongList,
    /// A good list, then watches with one line of 100 MB.
    LongWatch,
    /// This text of this type with status 200.
    Says(&'static str, &'static str),
    /// This status, with a wish to be left alone for a second.
    Refuses(u16),
    /// Nothing, ever.
    Silent,
}

/// The server; dropping it closes its port.
pub(crate) struct Hostile {
    inner: Arc<Inner>,
    port: u16,
    accepting: JoinHandle<()>,
}

struct Inner {
    manner: Mutex<Manner>,
    /// Whether discovery is answered in the same manner.
    everywhere: bool,
    /// Lists and watches that were asked for in any manner but the good one.
    harmed: AtomicU64,
}

impl Hostile {
    /// Listens on a free port of the loopback; `everywhere` misbehaves in discovery too.
    pub(crate) async fn start(manner: Manner, everywhere: bool) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let inner = Inner { manner: Mutex::new(manner), everywhere, harmed: AtomicU64::new(0) };
        let inner = Arc::new(inner);
        let accepting = tokio::spawn(accept(listener, Arc::clone(&inner)));
        Ok(Hostile { inner, port, accepting })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes how it answers from now on.
    pub(crate) fn set(&self, manner: Manner) {
        *self.inner.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }

    /// How many requests it has answered badly.
    pub(crate) fn harmed(&self) -> u64 {
        self.inner.harmed.load(Ordering::Relaxed)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, inner: Arc<Inner>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, Arc::clone(&inner)));
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, inner: Arc<Inner>) {
    let answer = service_fn(move |request| answer(request, Arc::clone(&inner)));
    // How a connection ends is the other side's affair.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

async fn answer(request: Request<Incoming>, inner: Arc<Inner>) -> Result<Response<Body>, Infallible> {
    let manner = *inner.manner.lock().unwrap_or_else(PoisonError::into_inner);
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let objects = path == "/api/v1/pods";
    if !objects && !inner.everywhere {
        return Ok(discovery(path));
    }
    if manner != Manner::Good {
        inner.harmed.fetch_add(1, Ordering::Relaxed);
    }
    let watch = query.contains("watch=1") || query.contains("watch=true");
    Ok(match manner {
        Manner::Silent => std::future::pending::<Response<Body>>().await,
        Manner::Refuses(status) => refusal(status),
        Manner::Says(kind, text) => whole(200, kind, text),
        _ if !objects => discovery(path),
        Manner::LongWatch if watch => endless_text(r#"{"type":"ADDED","object":{"metadata":{"name":""#),
        _ if watch => response(200, "application/json", silence()),
        Manner::LongList => {
            endless_text(r#"{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":""#)
        }
        Manner::NewPages => page(number(query) + 1, &(number(query) + 1).to_string()),
        Manner::SamePages => page(1, "1"),
        Manner::Good | Manner::LongWatch => page(1, ""),
    })
}

/// The number of the page asked for, which is its token.
fn number(query: &str) -> u64 {
    let token = query.split('&').find_map(|part| part.strip_prefix("continue="));
    token.and_then(|token| token.parse().ok()).unwrap_or(0)
}

/// A page of Pods that no other page has.
fn page(number: u64, token: &str) -> Response<Body> {
    let pod = |n: u64| {
        let name = format!("harm-{number}-{n}");
        json!({"metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "5"},
            "spec": {"note": "x".repeat(200)}})
    };
    let count = if token.is_empty() { 1 } else { 500 };
    let items: Vec<Value> = (0..count).map(pod).collect();
    let metadata = json!({"resourceVersion": "5", "continue": token});
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items});
    whole(200, "application/json", &list.to_string())
}

fn discovery(path: &str) -> Response<Body> {
    let pods = json!({"name": "pods", "namespaced": true, "kind": "Pod", "verbs": ["get", "list", "watch"]});
    let document = match path {
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/apis" => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
        "/api/v1" => json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [pods]}),
        _ => return whole(404, "application/json", r#"{"kind":"Status","code":404,"message":"not found"}"#),
    };
    whole(200, "application/json", &document.to_string())
}

/// A body of which nothing ever comes.
fn silence() -> Body {
    StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>()).boxed_unsync()
}

/// A hundred megabytes without a line end.
fn endless_text(head: &str) -> Response<Body> {
    let head = stream::iter([Bytes::from(head.to_owned())]);
    let rest = stream::repeat(Bytes::from(vec![b'x'; 64 << 10])).take(1600);
    let frames = head.chain(rest).map(|piece| Ok(Frame::data(piece)));
    response(200, "application/json", StreamBody::new(frames).boxed_unsync())
}

fn refusal(status: u16) -> Response<Body> {
    let text = json!({"kind": "Status", "code": status, "message": "not now, says the hostile cluster"});
    let mut response = whole(status, "application/json", &text.to_string());
    response.headers_mut().insert("retry-after", http::HeaderValue::from_static("1"));
    response
}

fn whole(status: u16, kind: &'static str, text: &str) -> Response<Body> {
    response(status, kind, Full::new(Bytes::from(text.to_owned())).boxed_unsync())
}

fn response(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert("content-type", http::HeaderValue::from_static(kind));
    response
}
