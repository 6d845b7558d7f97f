//! Lists that come as streams.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::fake::{Recorder, Reply, Server, bookmark, event, object, page, settings, status};
use super::list_watch::follow;
use crate::ClusterSettings;

fn streaming() -> ClusterSettings {
    ClusterSettings { streaming_lists: true, ..settings() }
}

fn end_of_list(version: u64) -> String {
    let annotations = r#"{"k8s.io/initial-events-end":"true"}"#;
    let metadata = format!(r#"{{"resourceVersion":"{version}","annotations":{annotations}}}"#);
    event("BOOKMARK", &format!(r#"{{"kind":"Pod","metadata":{metadata}}}"#))
}

#[tokio::test]
async fn a_stream_is_a_list_up_to_its_end_and_then_the_watch() {
    let server = Server::start(|_, _| {
        let lines = [event("ADDED", &object("a", 5)), event("ADDED", &object("b", 9)), end_of_list(10)];
        let rest = [event("MODIFIED", &object("a", 11)), event("DELETED", &object("b", 12))];
        Reply::Open([lines.to_vec(), rest.to_vec()].concat())
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow(&server, streaming(), &sink);
    sink.until_recorded("to 12").await;
    // How many pieces it comes in is the network's affair.
    let story = sink.story().join(" ").replace("page ", "");
    assert!(story.starts_with("begin a@5 b@9 end 10 "), "{story}");
    assert!(story.contains("a@11") && story.contains("-b@12 to 12"), "{story}");
    assert_eq!(server.requests().len(), 1, "one request for both");
    assert!(server.requests()[0].contains("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
}

#[tokio::test]
async fn a_server_without_streams_is_listed_in_pages() {
    for silent in [false, true] {
        let server = Server::start(move |path, _| match path {
            // An older one ignores the parameter, sends what there is, and never the end of it.
            _ if path.contains("sendInitialEvents") && silent => {
                Reply::Open(vec![event("ADDED", &object("ghost", 5)), bookmark(7)])
            }
            _ if path.contains("sendInitialEvents") => Reply::Whole(422, status(422)),
            _ if path.contains("watch=1") => Reply::Open(vec![]),
            _ => page(10, "", &["a"]),
        })
        .await;
        let sink = Recorder::default();
        let (_task, _guard) = follow(&server, streaming(), &sink);
        sink.until_recorded("watched").await;
        let story = sink.story().join(" ");
        assert!(story.ends_with("begin fresh a@10 page end 10 watched"), "another run: {story}");
        assert_eq!(story.contains("ghost@5"), silent, "{story}");
    }
}

#[tokio::test]
async fn streaming_lists_are_given_up_only_for_a_server_that_does_not_know_them() {
    // What a stream may answer once, whatever the server knows.
    let nonsense: [fn() -> Reply; 3] = [
        || Reply::Closing(vec![]),
        || Reply::Whole(200, "<html>".to_owned()),
        || Reply::Whole(409, status(409)),
    ];
    for (case, nonsense) in nonsense.into_iter().enumerate() {
        let (streams, watches) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let server = Server::start(move |path, _| match path {
            _ if path.contains("sendInitialEvents") && streams.fetch_add(1, Relaxed) == 0 => nonsense(),
            _ if path.contains("sendInitialEvents") => {
                Reply::Open(vec![event("ADDED", &object("b", 16)), end_of_list(20)])
            }
            _ if path.contains("watch=1") && watches.fetch_add(1, Relaxed) == 0 => {
                Reply::Closing(vec![event("ERROR", &status(410))])
            }
            _ if path.contains("watch=1") => Reply::Open(vec![]),
            _ => page(10, "", &["a"]),
        })
        .await;
        let sink = Recorder::default();
        let (_task, _guard) = follow(&server, streaming(), &sink);
        sink.until_recorded("end 20").await;
        let story = sink.story().join(" ");
        assert!(story.contains("a@10 page end 10") && story.contains("b@16"), "{case}: {story}");
        let asked = server.requests().iter().filter(|path| path.contains("sendInitialEvents")).count();
        assert_eq!(asked, 2, "{case}: the next list comes as a stream again: {story}");
    }
}

#[tokio::test]
async fn a_server_that_knows_streams_and_is_silent_once_is_asked_for_one_again() {
    let streams = AtomicUsize::new(0);
    let server = Server::start(move |path, _| match path.contains("sendInitialEvents") {
        true => match streams.fetch_add(1, Relaxed) {
            0 => Reply::Closing(vec![end_of_list(10), event("ERROR", &status(410))]),
            1 => Reply::Open(vec![]),
            _ => Reply::Open(vec![event("ADDED", &object("b", 16)), end_of_list(20)]),
        },
        false => Reply::Closing(vec![event("ERROR", &status(410))]),
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow(&server, streaming(), &sink);
    sink.until_recorded("end 20").await;
    let paged = server.requests().iter().filter(|path| !path.contains("watch=1")).count();
    assert_eq!(paged, 0, "{:?}", server.requests());
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_nothing() {
    let server = Server::start(|_, number| match number {
        0 => Reply::Breaking(vec![event("ADDED", &object("a", 5))]),
        1 => Reply::Closing(vec![event("ADDED", &object("a", 5)), event("ERROR", &status(410))]),
        _ => Reply::Open(vec![event("ADDED", &object("b", 6)), end_of_list(10)]),
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow(&server, streaming(), &sink);
    sink.until_recorded("watched").await;
    let story = sink.story().join(" ");
    let expected = "begin a@5 page gap unreachable begin fresh a@5 page begin fresh b@6 page end 10 watched";
    assert_eq!(story, expected);
}

#[tokio::test]
async fn what_cannot_be_read_in_a_stream_is_there_all_the_same() {
    let server = Server::start(|_, _| {
        let nameless = r#"{"metadata":{"uid":"u","resourceVersion":"9"}}"#;
        let deep = format!(
            r#"{{"metadata":{{"name":"deep","uid":"u-deep","resourceVersion":"9"}},"x":{}{}}}"#,
            "[".repeat(10_001),
            "]".repeat(10_001)
        );
        Reply::Open(vec![event("ADDED", &deep), event("ADDED", nameless), end_of_list(10)])
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow(&server, streaming(), &sink);
    sink.until_recorded("watched").await;
    assert_eq!(sink.story(), ["begin", "?deep", "page", "partial end 10", "watched"]);
}
