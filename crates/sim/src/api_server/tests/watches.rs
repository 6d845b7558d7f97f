//! Watches: every event once, from where the client stands.

use std::time::Duration;

use super::{CONFIG_MAPS, Lines, config_map, server};
use crate::api_server::ServedKind;

#[tokio::test]
async fn a_resumed_watch_sees_every_event_once() {
    let server = server().await;
    let start = server.apply(config_map("a", 0));
    let mut expected = Vec::new();
    let mut seen = Vec::new();
    let mut position = start;
    for round in 0..20_u64 {
        for step in 1..=5 {
            let version = server.apply(config_map("a", round * 10 + step));
            expected.push(("MODIFIED".to_owned(), "a".to_owned(), version));
        }
        let mut lines =
            Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion={position}")).await;
        // Reads some of what there is and goes away, so that the next watch has to catch up.
        for _ in 0..4 {
            let event = lines.brief().await.unwrap();
            position = event.2;
            seen.push(event);
        }
    }
    let mut rest =
        Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion={position}")).await;
    while seen.len() < expected.len() {
        seen.push(rest.brief().await.unwrap());
    }
    assert_eq!(seen, expected);
    assert!(rest.quiet().await);
}

#[tokio::test]
async fn a_watch_tells_what_enters_and_leaves_its_selection() {
    let server = server().await;
    server.apply(config_map("other", 0));
    let mut lines = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true&labelSelector=app%3Da")).await;
    server.apply(config_map("a", 0));
    assert_eq!(lines.brief().await.unwrap().0, "ADDED");
    let mut relabelled = config_map("a", 0);
    relabelled["metadata"]["labels"]["app"] = "b".into();
    server.apply(relabelled);
    assert_eq!(lines.brief().await.unwrap().0, "DELETED");
    server.delete("", "ConfigMap", "shop", "a");
    assert!(lines.quiet().await);
}

#[tokio::test]
async fn a_watch_from_before_the_window_is_told_410() {
    let server = server().await;
    server.set_window(3);
    let start = server.apply(config_map("a", 0));
    for step in 1..=4 {
        server.apply(config_map("a", step));
    }
    let mut lines = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion={start}")).await;
    let event = lines.event().await.unwrap();
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert!(lines.text().await.is_none());
    let next = start + 1;
    let mut lines = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion={next}")).await;
    assert_eq!(lines.brief().await.unwrap().2, next + 1, "the window holds the last three");
}

#[tokio::test]
async fn a_reader_that_falls_behind_the_window_is_told_410_and_holds_up_nobody() {
    let server = server().await;
    server.set_window(50);
    let mut lines = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true")).await;
    let filler = "x".repeat(20_000);
    for step in 0..2_000 {
        let mut object = config_map("a", step);
        object["data"]["filler"] = filler.clone().into();
        server.apply(object);
    }
    let mut last = String::new();
    while let Some(event) = lines.event().await {
        last = event["type"].as_str().unwrap().to_owned();
    }
    assert_eq!(last, "ERROR");
}

#[tokio::test]
async fn bookmarks_move_a_quiet_watch_forward() {
    let server = server().await;
    server.set_bookmark_interval(Duration::from_millis(20));
    let path = format!("{CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1");
    let mut lines = Lines::open(&server, &path).await;
    let node = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    let version = server.apply(node);
    let mut newest = 0;
    while let Some((kind, _, version)) = lines.brief().await {
        assert_eq!(kind, "BOOKMARK");
        newest = version;
    }
    assert_eq!(newest, version, "and the watch ended by its time limit");
}

#[tokio::test]
async fn a_streaming_list_ends_with_its_bookmark() {
    let server = server().await;
    server.apply(config_map("a", 0));
    let version = server.apply(config_map("b", 0));
    let path = format!(
        "{CONFIG_MAPS}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let mut lines = Lines::open(&server, &path).await;
    assert_eq!(lines.brief().await.unwrap().1, "a");
    assert_eq!(lines.brief().await.unwrap().1, "b");
    let end = lines.event().await.unwrap();
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(end["object"]["metadata"]["resourceVersion"], version.to_string());
    server.apply(config_map("c", 0));
    assert_eq!(lines.brief().await.unwrap().1, "c");
    let refused = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=true&sendInitialEvents=true")).await;
    assert_eq!(refused.status, 422);
}

#[tokio::test]
async fn a_removed_kind_ends_its_watches_and_forgets() {
    let server = server().await;
    let kind = ServedKind::custom("example.dev", "v1", "Widget", "widgets");
    server.add_kind(kind.clone());
    let start = server.resource_version();
    let mut lines = Lines::open(&server, "/apis/example.dev/v1/widgets?watch=true").await;
    server.remove_kind("example.dev", "Widget");
    assert!(lines.text().await.is_none());
    server.apply(config_map("a", 0));
    server.add_kind(kind);
    let path = format!("/apis/example.dev/v1/widgets?watch=true&resourceVersion={start}");
    let event = Lines::open(&server, &path).await.event().await.unwrap();
    assert_eq!(event["object"]["code"], 410, "what happened before the kind came back is not known");
}
