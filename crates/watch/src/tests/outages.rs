//! What people read while a cluster is away, and parts that break down.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::fake::{Recorder, Reply, Server, page, settings};
use super::supervise::{cluster, discovery, end, group, start, start_through};
use crate::{ClusterConnection, ClusterSettings, LIBRARIES_OFF, Watcher};
use strandline_redact::Rules;

/// A cluster without a network, so that its time may be a virtual one.
#[derive(Clone)]
struct Cluster {
    up: Arc<AtomicBool>,
    /// Ends every open watch.
    cut: Arc<Mutex<CancellationToken>>,
    kinds: Vec<String>,
    forbidden: bool,
}

impl Cluster {
    fn new(kinds: usize, forbidden: bool) -> Self {
        let kinds = (10..10 + kinds).map(|number| format!("Kind{number}")).collect();
        Cluster { up: Arc::new(AtomicBool::new(true)), cut: Arc::default(), kinds, forbidden }
    }

    fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Relaxed);
        self.cut.lock().unwrap().cancel();
        *self.cut.lock().unwrap() = CancellationToken::new();
    }

    fn way(&self) -> Watcher {
        Watcher { connection: ClusterConnection::through(self.clone(), "cluster"), namespaces: Vec::new() }
    }
}

impl tower_service::Service<http::Request<kube::client::Body>> for Cluster {
    type Response = http::Response<UnsyncBoxBody<Bytes, io::Error>>;
    type Error = io::Error;
    type Future = Ready<Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<kube::client::Body>) -> Self::Future {
        if !self.up.load(Ordering::Relaxed) {
            return ready(Err(io::Error::other("connection refused")));
        }
        let path = request.uri().to_string();
        let whole = |status: u16, text: String| {
            let body =
                Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync();
            http::Response::builder().status(status).body(body).map_err(io::Error::other)
        };
        let resources = || {
            let resource = |kind: &String| {
                json!({"resource": kind.to_lowercase(), "responseKind": {"kind": kind}, "scope": "Namespaced",
                    "verbs": ["list", "watch"]})
            };
            let versions =
                json!([{"version": "v1", "resources": self.kinds.iter().map(resource).collect::<Vec<_>>()}]);
            json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": ""}, "versions": versions}]})
        };
        ready(match path.as_str() {
            "/api" => whole(200, resources().to_string()),
            "/apis" => whole(200, json!({"kind": "APIGroupDiscoveryList", "items": []}).to_string()),
            _ if self.forbidden => whole(403, "not for you".to_owned()),
            _ if path.contains("watch=1") => {
                let cut = self.cut.lock().unwrap().clone().cancelled_owned();
                let broken = stream::once(cut).map(|()| Err::<Frame<Bytes>, _>(io::Error::other("cut")));
                Ok(http::Response::new(StreamBody::new(broken).boxed_unsync()))
            }
            _ => whole(200, json!({"metadata": {"resourceVersion": "1"}, "items": []}).to_string()),
        })
    }
}

/// The lines that were logged in this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Captures until both guards are dropped. What another test logs first is asked of one subscriber only, unless there
    /// are two, and without one it is taken for unwanted everywhere.
    fn capture() -> (Lines, (tracing::subscriber::DefaultGuard, tracing::Dispatch)) {
        let lines = Lines::default();
        let second = tracing_subscriber::fmt().with_env_filter(EnvFilter::new("off")).finish();
        let second = tracing::Dispatch::new(second);
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(format!("info,{LIBRARIES_OFF}")))
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (lines, (tracing::subscriber::set_default(subscriber), second))
    }

    fn all(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.0.lock().unwrap()).lines().map(str::to_owned).collect()
    }

    async fn until(&self, part: &str) {
        for _ in 0..24_000 {
            if self.all().iter().any(|line| line.contains(part)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never: {part}; {:#?}", self.all());
    }
}

fn us_east() -> ClusterSettings {
    let rules = Arc::new(Rules::new([1; 32]));
    ClusterSettings { streaming_lists: false, ..ClusterSettings::new("us-east", rules) }
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_a_few_lines_with_the_name_of_the_cluster() {
    let (lines, _capturing) = Lines::capture();
    let (cluster, sink) = (Cluster::new(60, false), Recorder::default());
    let (task, cancel) = start_through(vec![cluster.way()], us_east(), &sink);
    lines.until("cluster us-east: connected").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = lines.all().len();
    cluster.set_up(false);
    tokio::time::sleep(Duration::from_secs(40)).await;
    cluster.set_up(true);
    lines.until("reached again after").await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let written = lines.all().split_off(before);
    assert!(written.iter().all(|line| line.contains("cluster us-east: ")), "{written:#?}");
    assert!(written[0].contains("unreachable: connection refused"), "{written:#?}");
    assert!((2..=4).contains(&written.len()), "{written:#?}");

    cluster.set_up(false);
    lines.until("unreachable for 2m (").await;
    let reminders = lines.all().iter().filter(|line| line.contains(" attempts): connection refused")).count();
    assert!((1..=3).contains(&reminders), "{:#?}", lines.all());
    end(task, &cancel).await;
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_forbidden_share_a_line() {
    let (lines, _capturing) = Lines::capture();
    let (cluster, sink) = (Cluster::new(60, true), Recorder::default());
    let (task, cancel) = start_through(vec![cluster.way()], us_east(), &sink);
    lines.until("forbidden").await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let all = lines.all();
    let forbidden: Vec<&String> = all.iter().filter(|line| line.contains("forbidden")).collect();
    assert_eq!(forbidden.len(), 1, "{all:#?}");
    let line = forbidden[0];
    assert!(line.contains("cluster us-east: 60 kinds not watched"), "{line}");
    assert!(line.contains("Kind10, Kind11, Kind12 and 57 more"), "{line}");
    end(task, &cancel).await;
}

#[tokio::test]
async fn a_watch_that_breaks_down_is_a_gap_and_starts_again() {
    let server = cluster(Arc::default()).await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.breaks = Some("append"));
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("gap restarted").await;
    let kind = sink.with(|recorded| {
        let gap = recorded.marks.iter().find(|mark| mark.reason == "restarted").cloned();
        gap.map(|gap| gap.watch).unwrap()
    });
    let again = |recorded: &super::fake::Recorded| {
        recorded.marks.iter().rfind(|mark| mark.watch == kind).is_some_and(|mark| mark.reason.is_empty())
    };
    sink.until("it is watched again", again).await;
    end(task, &cancel).await;
}

#[tokio::test]
async fn a_supervision_that_breaks_down_is_a_gap_of_its_cluster_and_starts_again() {
    let server = Server::start(|path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[]),
        "/api/v1/namespaces/kube-system" => {
            Reply::Whole(200, json!({"metadata": {"name": "kube-system", "uid": "one"}}).to_string())
        }
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.breaks = Some("identify"));
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("discovery watched").await;
    assert_eq!(sink.discovery(), ["discovery gap restarted", "discovery watched"]);
    end(task, &cancel).await;
}
