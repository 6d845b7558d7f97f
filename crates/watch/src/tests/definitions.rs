//! Kinds whose objects look otherwise than before without an event that says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::fake::{Recorder, Reply, Server, event, page, settings};
use super::supervise::{discovery, end, group, start};
use strandline_model::{Kind, WatchKey};

fn definition(generation: u64) -> String {
    json!({
        "metadata": {"name": "widgets.acme.example", "uid": "u-crd", "resourceVersion": (10 + generation).to_string(),
            "generation": generation},
        "spec": {"group": "acme.example", "names": {"kind": "Widget"}, "versions": [{"name": "v1", "storage": true}]},
    })
    .to_string()
}

fn lists_of(server: &Server, plural: &str) -> usize {
    server.requests().iter().filter(|path| path.contains(&format!("/{plural}?limit="))).count()
}

fn acme(version: &str) -> Value {
    let mut acme = group("acme.example", &[("widgets", "Widget", "Namespaced")]);
    acme["versions"][0]["version"] = version.into();
    acme
}

async fn until_listed(server: &Server, plural: &str, times: usize) {
    while lists_of(server, plural) < times {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_kind_that_is_served_in_another_version_is_listed_again() {
    let moved = Arc::new(AtomicBool::new(false));
    let newer = Arc::clone(&moved);
    let server = Server::start(move |path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[acme(if newer.load(Ordering::Relaxed) { "v2" } else { "v1" })]),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    until_listed(&server, "widgets", 1).await;
    moved.store(true, Ordering::Relaxed);
    until_listed(&server, "widgets", 2).await;
    let listed = |path: &String| path.starts_with("/apis/acme.example/v2/widgets?limit=");
    assert!(server.requests().iter().any(listed), "{:?}", server.requests());
    assert_eq!(lists_of(&server, "pods"), 1, "no other kind");
    end(task, &cancel).await;
}

/// Custom kinds whose definition the watch sends in its second generation while the switch is on.
async fn defined(changed: Arc<AtomicBool>) -> Server {
    let crds = ("customresourcedefinitions", "CustomResourceDefinition", "Cluster");
    Server::start(move |path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[acme("v1"), group("apiextensions.k8s.io", &[crds])]),
        _ if path.contains("customresourcedefinitions?watch=1") => match changed.load(Ordering::Relaxed) {
            true => Reply::Open(vec![event("MODIFIED", &definition(2))]),
            false => Reply::Closing(vec![]),
        },
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ if path.contains("customresourcedefinitions?") => {
            let list = json!({"metadata": {"resourceVersion": "11"},
                "items": [serde_json::from_str::<Value>(&definition(1)).unwrap_or_default()]});
            Reply::Whole(200, list.to_string())
        }
        _ => page(10, "", &["a"]),
    })
    .await
}

fn widgets() -> WatchKey {
    WatchKey { cluster: "c".into(), kind: Kind::new("acme.example", "Widget"), namespace: String::new() }
}

#[tokio::test]
async fn a_kind_that_is_defined_otherwise_is_listed_again() {
    let changed = Arc::new(AtomicBool::new(false));
    let server = defined(Arc::clone(&changed)).await;
    let sink = Recorder::default();
    let (task, cancel) = start(&server, settings(), &sink);
    let kept = |text: &'static str| {
        move |recorded: &super::fake::Recorded| {
            recorded.shapes.get(&widgets()).and_then(|shape| shape.1.as_deref()) == Some(text)
        }
    };
    sink.until("first definition", kept("stored v1 generation 1")).await;
    let listed = lists_of(&server, "widgets");
    assert_eq!(listed, 1, "that a definition becomes known is no change");
    changed.store(true, Ordering::Relaxed);
    until_listed(&server, "widgets", 2).await;
    sink.until("second definition", kept("stored v1 generation 2")).await;
    assert_eq!(lists_of(&server, "pods"), 1, "no other kind");
    end(task, &cancel).await;
}

#[tokio::test]
async fn a_definition_that_changed_while_nobody_watched_is_found_at_the_start() {
    let server = defined(Arc::default()).await;
    let sink = Recorder::default();
    sink.with(|recorded| {
        let kept = (Some("acme.example/v1".to_owned()), Some("stored v0 generation 1".to_owned()));
        recorded.shapes.insert(widgets(), kept);
    });
    let (task, cancel) = start(&server, settings(), &sink);
    until_listed(&server, "widgets", 2).await;
    end(task, &cancel).await;
}
