use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fake::{Recorder, Reply, Server, event, object, page, settings};
use crate::{Watcher, supervise};
use strandline_clock::SystemClock;
use strandline_log::AppendError;
use strandline_model::{CoverageMark, CoverageState};

pub(super) fn group(name: &str, resources: &[(&str, &str, &str)]) -> Value {
    let resources: Vec<Value> = resources
        .iter()
        .map(|(plural, kind, scope)| {
            json!({"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": ["list", "watch"]})
        })
        .collect();
    json!({"metadata": {"name": name}, "versions": [{"version": "v1", "resources": resources, "freshness": "Current"}]})
}

pub(super) fn discovery(groups: &[Value]) -> Reply {
    Reply::Whole(200, groups_text(groups))
}

fn groups_text(groups: &[Value]) -> String {
    json!({"kind": "APIGroupDiscoveryList", "items": groups}).to_string()
}

/// A cluster with Pods and Nodes, and with Widgets while the switch is on.
pub(super) async fn cluster(widgets: Arc<AtomicBool>) -> Server {
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

pub(super) fn start(
    server: &Server,
    settings: crate::ClusterSettings,
    sink: &Recorder,
) -> (tokio::task::JoinHandle<()>, CancellationToken) {
    start_through(vec![way(server, &[])], settings, sink)
}

pub(super) fn way(server: &Server, namespaces: &[&str]) -> Watcher {
    let namespaces = namespaces.iter().map(|&namespace| namespace.to_owned()).collect();
    Watcher { connection: server.connection.clone(), namespaces }
}

pub(super) fn start_through(
    ways: Vec<Watcher>,
    settings: crate::ClusterSettings,
    sink: &Recorder,
) -> (tokio::task::JoinHandle<()>, CancellationToken) {
    let cancel = CancellationToken::new();
    let run = supervise(settings, ways, sink.clone(), Arc::new(SystemClock), cancel.clone());
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
    sink.until_recorded("gap not_served").await;
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(stats.counts().watches, 0);
    assert_eq!(sink.with(|recorded| recorded.marks.len()), 5, "an orderly end leaves no marks");
}

#[tokio::test]
async fn no_kind_counts_as_known_before_its_first_list() {
    let server = cluster(Arc::new(AtomicBool::new(true))).await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until("three kinds and discovery", |recorded| recorded.marks.len() == 4).await;
    end(task, &cancel).await;
    let marks = sink.with(|recorded| recorded.all_marks.clone());
    let known = |mark: &CoverageMark| mark.watch.is_discovery() && mark.state == CoverageState::Watched;
    let at = marks.iter().position(known).unwrap();
    let gaps = marks[..at].iter().filter(|mark| mark.state == CoverageState::Gap);
    let (mut watches, since): (Vec<_>, Vec<_>) = gaps.map(|gap| (gap.watch.to_string(), gap.since)).unzip();
    watches.sort();
    assert_eq!(watches, ["c/", "c/Node", "c/Pod", "c/Widget.acme.example"], "by offset");
    assert!(since.iter().all(|since| *since <= marks[at].since), "by time: {marks:?}");
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
    sink.until_recorded("discovery gap unreachable").await;
    up.store(true, Ordering::Relaxed);
    sink.until_recorded("discovery watched").await;
    assert_eq!(sink.discovery(), ["discovery gap unreachable", "discovery watched"]);
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn a_slow_cluster_is_waited_for_and_not_asked_twice() {
    let gate = CancellationToken::new();
    let opened = gate.clone();
    let server = Server::start(move |path, _| match path {
        "/api" => Reply::Gated(opened.clone(), groups_text(&[group("", &[("pods", "Pod", "Namespaced")])])),
        "/apis" => discovery(&[]),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.patience = std::time::Duration::from_millis(20);
    settings.rediscover = std::time::Duration::from_secs(3600);
    let (task, cancel) = start(&server, settings, &sink);
    sink.until_recorded("discovery gap unreachable").await;
    gate.cancel();
    sink.until_recorded("discovery watched").await;
    assert_eq!(sink.discovery(), ["discovery gap unreachable", "discovery watched"]);
    assert_eq!(server.requests().iter().filter(|path| *path == "/api").count(), 1);
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
    sink.until("both kinds and two groups", |recorded| recorded.marks.len() == 5).await;
    let watches =
        sink.with(|recorded| recorded.marks.iter().map(|mark| mark.watch.to_string()).collect::<Vec<_>>());
    assert!(
        watches.contains(&"c/Pod".to_owned()) && watches.contains(&"c/Deployment.apps".to_owned()),
        "{watches:?}"
    );
    assert!(sink.story().contains(&"discovery gap unavailable".to_owned()), "{:?}", sink.story());
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

/// Ends it; whatever it waits for, that takes no longer than a moment.
pub(super) async fn end(task: tokio::task::JoinHandle<()>, cancel: &CancellationToken) {
    cancel.cancel();
    // A bound on hanging, not on speed.
    tokio::time::timeout(std::time::Duration::from_secs(60), task).await.unwrap().unwrap();
}

#[tokio::test]
async fn waiting_for_the_log_can_be_ended() {
    let server = cluster(Arc::default()).await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.full = true);
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("waits").await;
    end(task, &cancel).await;
}

#[tokio::test]
async fn waiting_for_who_the_cluster_is_can_be_ended() {
    const IDENTITY: &str = "/api/v1/namespaces/kube-system";
    let server = Server::start(|path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[]),
        IDENTITY => Reply::Gated(CancellationToken::new(), String::new()),
        _ => Reply::Open(vec![]),
    })
    .await;
    let (task, cancel) = start(&server, settings(), &Recorder::default());
    while !server.requests().iter().any(|path| path == IDENTITY) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    end(task, &cancel).await;
}

#[tokio::test]
async fn a_change_of_what_tells_the_kinds_is_followed_at_once() {
    let widgets = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&widgets);
    let server = Server::start(move |path, _| {
        let crds = ("customresourcedefinitions", "CustomResourceDefinition", "Cluster");
        let extensions = group("apiextensions.k8s.io", &[crds]);
        match path {
            "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
            "/apis" if there.load(Ordering::Relaxed) => {
                discovery(&[extensions, group("acme.example", &[("widgets", "Widget", "Namespaced")])])
            }
            "/apis" => discovery(&[extensions]),
            _ if path.contains("customresourcedefinitions?watch=1") => {
                there.store(true, Ordering::Relaxed);
                Reply::Open(vec![event("ADDED", &object("widgets.acme.example", 11))])
            }
            _ if path.contains("watch=1") => Reply::Open(vec![]),
            _ => page(10, "", &[]),
        }
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.rediscover = std::time::Duration::from_secs(3600);
    let (task, cancel) = start(&server, settings, &sink);
    let widget = |mark: &strandline_model::CoverageMark| mark.watch.kind.kind == "Widget";
    sink.until("widgets", |recorded| recorded.marks.iter().any(widget)).await;
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn the_last_deletions_of_a_vanished_kind_still_arrive() {
    let widgets = Arc::new(AtomicBool::new(true));
    let there = Arc::clone(&widgets);
    let server = Server::start(move |path, number| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" if there.load(Ordering::Relaxed) => {
            discovery(&[group("acme.example", &[("widgets", "Widget", "Namespaced")])])
        }
        "/apis" => discovery(&[]),
        // The first watch ends with the kind; what it had not sent comes with the next.
        _ if path.contains("widgets?watch=1") && there.swap(false, Ordering::Relaxed) => {
            Reply::Closing(vec![event("MODIFIED", &object("a", 11))])
        }
        _ if path.contains("widgets?watch=1") && number < 1000 => {
            Reply::Open(vec![event("DELETED", &object("a", 12))])
        }
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.retirement_delay = std::time::Duration::from_millis(300);
    let (task, cancel) = start(&server, settings, &sink);
    sink.until_recorded("gap not_served").await;
    let story = sink.story();
    let position = |wanted: &str| story.iter().position(|word| word == wanted).unwrap_or(usize::MAX);
    assert!(position("-a@12") < position("gap not_served"), "{story:?}");
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn another_cluster_under_the_same_name_is_listed_anew() {
    let moved = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&moved);
    let server = Server::start(move |path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[]),
        "/api/v1/namespaces/kube-system" => {
            let uid = if other.load(Ordering::Relaxed) { "two" } else { "one" };
            Reply::Whole(200, json!({"metadata": {"name": "kube-system", "uid": uid}}).to_string())
        }
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("watched").await;
    moved.store(true, Ordering::Relaxed);
    sink.until_recorded("replaced").await;
    let ends = |recorded: &super::fake::Recorded| {
        recorded.story.iter().filter(|entry| *entry == "end 10").count() == 2
    };
    sink.until("a second list", ends).await;
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn what_earlier_runs_left_is_put_right() {
    let server = cluster(Arc::default()).await;
    let sink = Recorder::default();
    let watch = |group: &str, kind: &str, namespace: &str| strandline_model::WatchKey {
        cluster: "c".into(),
        kind: strandline_model::Kind::new(group, kind),
        namespace: namespace.into(),
    };
    sink.with(|recorded| {
        let left = [
            watch("", "Pod", ""),
            watch("", "Pod", "shop"),
            watch("acme.example", "Widget", ""),
            watch("broken.example", "", ""),
        ];
        recorded.left = left.map(|watch| (watch, None)).to_vec();
    });
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("gap not_served").await;
    let mut retired: Vec<String> =
        sink.story().into_iter().filter(|word| word.starts_with("dismissed")).collect();
    retired.sort();
    assert_eq!(retired, ["dismissed c/.broken.example", "dismissed c/Pod in shop"]);
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn a_kind_that_cannot_be_read_disturbs_no_other() {
    // As where the conversion of one custom kind is broken: its group is there, its lists fail.
    let server = Server::start(|path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced"), ("nodes", "Node", "Cluster")])]),
        "/apis" => discovery(&[]),
        _ if path.starts_with("/api/v1/nodes") => Reply::Whole(
            500,
            r#"{"kind":"Status","code":500,"message":"conversion webhook failed"}"#.to_owned(),
        ),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("watched").await;
    sink.until_recorded("gap unreachable").await;
    let message = sink.with(|recorded| {
        let gap = recorded.marks.iter().find(|mark| mark.reason == "unreachable").cloned();
        gap.map(|gap| (gap.watch.kind.kind, gap.message)).unwrap_or_default()
    });
    assert_eq!(message.0, "Node");
    assert!(message.1.contains("conversion webhook failed"), "{message:?}");
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn what_is_not_followed_is_said_once_with_its_reason() {
    let server = Server::start(|path, _| match path {
        "/api" => discovery(&[json!({"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [
            {"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "verbs": ["list", "watch"]},
            {"resource": "endpoints", "responseKind": {"kind": "Endpoints"}, "scope": "Namespaced", "verbs": ["list", "watch"]},
            {"resource": "things", "responseKind": {"kind": "Thing"}, "scope": "Namespaced", "verbs": ["get", "list"]},
            {"resource": "bindings", "responseKind": {"kind": "Binding"}, "scope": "Namespaced", "verbs": ["create"]},
        ]}]})]),
        "/apis" => discovery(&[]),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until_recorded("watched").await;
    let discovered = |server: &Server| server.requests().iter().filter(|path| *path == "/apis").count();
    while discovered(&server) < 4 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let mut marks = sink.with(|recorded| {
        let excluded =
            recorded.marks.iter().filter(|mark| mark.state == strandline_model::CoverageState::Excluded);
        excluded.map(|mark| format!("{} {}", mark.watch, mark.reason)).collect::<Vec<_>>()
    });
    marks.sort();
    assert_eq!(marks, ["c/Endpoints excluded", "c/Thing not_watchable"]);
    cancel.cancel();
    task.await.unwrap();
}
