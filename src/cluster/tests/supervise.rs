use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fake::{Recorder, Reply, Server, page, settings};
use crate::clock::SystemClock;
use crate::cluster::supervise;
use crate::log::AppendError;

fn group(name: &str, resources: &[(&str, &str, &str)]) -> Value {
    let resources: Vec<Value> = resources
        .iter()
        .map(|(plural, kind, scope)| {
            json!({"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": ["list", "watch"]})
        })
        .collect();
    json!({"metadata": {"name": name}, "versions": [{"version": "v1", "resources": resources, "freshness": "Current"}]})
}

fn discovery(groups: &[Value]) -> Reply {
    Reply::Whole(200, json!({"kind": "APIGroupDiscoveryList", "items": groups}).to_string())
}

/// A cluster with Pods and Nodes, and with Widgets while the switch is on.
async fn cluster(widgets: Arc<AtomicBool>) -> Server {
    Server::start(move |path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced"), ("nodes", "Node", "Cluster")])]),
        "/apis" if widgets.load(Ordering::Relaxed) => {
            discovery(&[group("acme.example", &[("widgets", "Widget", "Namespaced")])])
        }
        "/apis" => discovery(&[]),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await
}

fn start(
    server: &Server,
    settings: crate::cluster::ClusterSettings,
    sink: &Recorder,
) -> (tokio::task::JoinHandle<()>, CancellationToken) {
    let cancel = CancellationToken::new();
    let run =
        supervise(settings, server.connection.clone(), sink.clone(), Arc::new(SystemClock), cancel.clone());
    (tokio::spawn(run), cancel)
}

#[tokio::test]
async fn kinds_come_and_go() {
    let widgets = Arc::new(AtomicBool::new(false));
    let server = cluster(Arc::clone(&widgets)).await;
    let (sink, settings) = (Recorder::default(), settings());
    let stats = Arc::clone(&settings.stats);
    let (task, cancel) = start(&server, settings, &sink);
    sink.until("two kinds and discovery", |recorded| recorded.marks.len() == 3).await;
    assert_eq!(stats.counts().watches, 2);

    widgets.store(true, Ordering::Relaxed);
    sink.until("widgets", |recorded| recorded.marks.len() == 4).await;
    assert_eq!(sink.with(|recorded| recorded.marks[3].watch.to_string()), "c/Widget.acme.example");

    widgets.store(false, Ordering::Relaxed);
    sink.until_told("gap not_served").await;
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(stats.counts().watches, 0);
    assert_eq!(sink.with(|recorded| recorded.marks.len()), 5, "an orderly end leaves no marks");
}

#[tokio::test]
async fn namespaces_are_watched_one_by_one() {
    let server = cluster(Arc::default()).await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.namespaces = vec!["shop".to_owned(), "bank".to_owned()];
    let (task, cancel) = start(&server, settings, &sink);
    sink.until("both", |recorded| recorded.marks.len() == 3).await;
    let mut watches: Vec<String> =
        sink.with(|recorded| recorded.marks.iter().map(|mark| mark.watch.to_string()).collect());
    watches.sort();
    assert_eq!(watches, ["c/", "c/Pod in bank", "c/Pod in shop"]);
    assert!(server.requests().iter().any(|path| path.starts_with("/api/v1/namespaces/shop/pods?watch=1")));
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_a_gap_until_it_does() {
    let up = Arc::new(AtomicBool::new(false));
    let answering = Arc::clone(&up);
    let server = Server::start(move |path, _| match path {
        _ if !answering.load(Ordering::Relaxed) => Reply::Whole(500, String::new()),
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[]),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_told("discovery gap unreachable").await;
    up.store(true, Ordering::Relaxed);
    sink.until_told("watched").await;
    assert_eq!(sink.story()[..2], ["discovery gap unreachable", "discovery watched"]);
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn an_older_cluster_with_a_broken_group_is_followed_as_far_as_it_goes() {
    let server = Server::start(|path, _| {
        let resources = |plural: &str, kind: &str| {
            let verbs = ["list", "watch"];
            let one = json!({"name": plural, "kind": kind, "namespaced": true, "verbs": verbs});
            Reply::Whole(200, json!({"kind": "APIResourceList", "resources": [one]}).to_string())
        };
        let version = |name: &str| json!({"name": name, "versions": [{"version": "v1"}]});
        match path {
            "/api" => Reply::Whole(200, json!({"kind": "APIVersions", "versions": ["v1"]}).to_string()),
            "/api/v1" => resources("pods", "Pod"),
            "/apis" => {
                let groups = [version("broken.example"), version("empty.example"), version("apps")];
                Reply::Whole(200, json!({"kind": "APIGroupList", "groups": groups}).to_string())
            }
            "/apis/apps/v1" => resources("deployments", "Deployment"),
            "/apis/broken.example/v1" => Reply::Whole(503, "down".to_owned()),
            "/apis/empty.example/v1" => Reply::Whole(200, String::new()),
            _ if path.contains("watch=1") => Reply::Open(vec![]),
            _ => page(10, "", &["a"]),
        }
    })
    .await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until("both kinds", |recorded| recorded.marks.len() == 3).await;
    let watches =
        sink.with(|recorded| recorded.marks.iter().map(|mark| mark.watch.to_string()).collect::<Vec<_>>());
    assert!(
        watches.contains(&"c/Pod".to_owned()) && watches.contains(&"c/Deployment.apps".to_owned()),
        "{watches:?}"
    );
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_log_is_the_end() {
    let server = cluster(Arc::default()).await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.refuse = Some(AppendError::Closed));
    let (task, _cancel) = start(&server, settings(), &sink);
    task.await.unwrap();
}
