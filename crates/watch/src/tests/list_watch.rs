use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::task::AbortOnDropHandle;

use super::fake::{
    Recorder, Reply, Server, bookmark, cancelled_at_the_end, event, object, page, settings, status,
};
use crate::coverage::Coverage;
use crate::list_watch::{End, Ended, ListWatch, Shared};
use crate::{ClusterSettings, ServedKind};
use strandline_clock::{Clock, SystemClock};
use strandline_log::AppendError;
use strandline_model::{Kind, Timestamp, WatchKey};

type Task = AbortOnDropHandle<Ended>;

pub(super) fn follow(
    server: &Server,
    settings: ClusterSettings,
    sink: &Recorder,
) -> (Task, tokio_util::sync::DropGuard) {
    follow_by(server, settings, sink, Arc::new(SystemClock))
}

/// The same under another clock.
pub(super) fn follow_by(
    server: &Server,
    settings: ClusterSettings,
    sink: &Recorder,
    clock: Arc<dyn Clock>,
) -> (Task, tokio_util::sync::DropGuard) {
    let kind = Kind::new("", "Pod");
    let served =
        ServedKind { kind: kind.clone(), version: "v1".into(), plural: "pods".into(), namespaced: true };
    let watch = WatchKey { cluster: settings.name.clone(), kind, namespace: String::new() };
    let settings = Arc::new(settings);
    let coverage = Coverage::new(watch.clone(), sink.clone(), clock, Arc::clone(&settings.stats));
    let shared = Shared::new(&settings);
    let follow = ListWatch::new(&served, watch, settings, &server.connection, coverage, sink.clone(), shared);
    let (cancel, guard) = cancelled_at_the_end();
    (AbortOnDropHandle::new(tokio::spawn(follow.run(cancel))), guard)
}

#[tokio::test]
async fn pages_come_in_order_and_the_watch_goes_on_from_their_state() {
    let server = Server::start(|path, _| {
        if path.contains("watch=1") {
            let moved = object("a", 12);
            return Reply::Open(vec![
                event("MODIFIED", &moved),
                event("DELETED", &object("b", 13)),
                bookmark(20),
            ]);
        }
        match path.split_once("continue=").map(|(_, token)| token) {
            None => page(10, "x/1", &["a", "b"]),
            Some("x%2F1") => page(10, "x2", &["c", "d"]),
            Some(_) => page(10, "", &["e"]),
        }
    })
    .await;
    let (sink, settings) = (Recorder::default(), settings());
    let stats = Arc::clone(&settings.stats);
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until("the bookmark", |recorded| recorded.cursor.as_deref() == Some("20")).await;
    let story = sink.story().join(" ");
    let list = "begin a@10 b@10 page c@10 d@10 page e@10 page end 10 watched";
    assert!(story.starts_with(list), "{story}");
    assert!(story.contains("a@12") && story.contains("-b@13"), "{story}");
    let requests = server.requests();
    assert_eq!(requests[0], "/api/v1/pods?limit=2");
    let watch = "/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=";
    assert!(requests[3].starts_with(watch), "{requests:?}");
    let counts = stats.counts();
    assert_eq!((counts.received, counts.relists, counts.requests), (7, 1, 4));
    assert!(
        sink.with(|recorded| recorded.bodies[0].starts_with(r#"{"apiVersion":"v1","kind":"Pod","metadata""#))
    );
}

#[tokio::test]
async fn a_stored_cursor_is_resumed_without_a_list_and_the_absence_is_told() {
    // An event and a bookmark that come together: the bookmark proves that no list is needed.
    let server =
        Server::start(|_, _| Reply::Open(vec![event("ADDED", &object("a", 8)) + &bookmark(9)])).await;
    let sink = Recorder::default();
    sink.with(|recorded| {
        recorded.stored = Some("7".to_owned());
        recorded.last_seen = Some(Timestamp::from_micros(5));
    });
    let mut settings = settings();
    settings.limits.pace = Duration::from_secs(10_000);
    let (_task, _guard) = follow(&server, settings, &sink);
    let caught_up = "watched, nothing missed";
    sink.until_recorded(caught_up).await;
    assert_eq!(sink.story(), ["begin", "gap restarted", "a@8", "to 9", "closed gap late", caught_up]);
    assert_eq!(sink.with(|recorded| recorded.marks[0].since), Timestamp::from_micros(5));
    assert_eq!(server.lists(), 0);
    assert!(server.watches()[0].contains("resourceVersion=7&"));
}

#[tokio::test]
async fn a_list_that_expires_is_begun_again_as_another_run() {
    let server = Server::start(|path, number| match number {
        0 => page(10, "t", &["a", "b"]),
        1 => Reply::Whole(410, status(410)),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(11, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow(&server, settings(), &sink);
    sink.until_recorded("watched").await;
    let expected = ["begin", "a@10", "b@10", "page", "begin fresh", "a@11", "page", "end 11", "watched"];
    assert_eq!(sink.story(), expected);
}

#[tokio::test]
async fn gone_at_the_start_or_within_a_watch_leads_to_a_list() {
    for in_stream in [false, true] {
        let server = Server::start(move |path, _| {
            if path.contains("resourceVersion=7&") {
                let gone = event("ERROR", &status(410));
                if in_stream { Reply::Closing(vec![gone]) } else { Reply::Whole(410, status(410)) }
            } else if path.contains("watch=1") {
                Reply::Open(vec![])
            } else {
                page(30, "", &["a"])
            }
        })
        .await;
        let sink = Recorder::default();
        sink.with(|recorded| recorded.stored = Some("7".to_owned()));
        let (_task, _guard) = follow(&server, settings(), &sink);
        sink.until_recorded("end 30").await;
        sink.until("watched again", |recorded| recorded.story.last().unwrap() == "watched").await;
        let first = if in_stream { &["begin", "watched"][..] } else { &["begin"] };
        let rest = ["gap restarted", "begin fresh", "a@30", "page", "end 30", "watched"];
        assert_eq!(sink.story(), [first, &rest].concat());
    }
}

#[tokio::test]
async fn a_cursor_that_was_given_up_stays_so_while_the_log_refuses_another_run() {
    let server = Server::start(|path, _| match path {
        _ if path.contains("resourceVersion=7&") => Reply::Whole(410, status(410)),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(30, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    sink.with(|recorded| {
        recorded.stored = Some("7".to_owned());
        recorded.refuse_fresh = Some(AppendError::Busy);
    });
    let (_task, _guard) = follow(&server, settings(), &sink);
    sink.until_recorded("watched").await;
    let expected = ["begin", "gap restarted", "refused", "begin fresh", "a@30", "page", "end 30", "watched"];
    assert_eq!(sink.story(), expected);
    assert_eq!(server.watches().len(), 2, "the cursor is tried once: {:?}", server.watches());
}

#[tokio::test]
async fn a_bookmark_from_the_past_leads_to_a_list() {
    let server = Server::start(|path, _| match path {
        _ if path.contains("resourceVersion=70&") => Reply::Open(vec![bookmark(9)]),
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &[]),
    })
    .await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.stored = Some("70".to_owned()));
    let (_task, _guard) = follow(&server, settings(), &sink);
    sink.until_recorded("end 10").await;
    assert_eq!(sink.with(|recorded| recorded.cursor.clone()).as_deref(), Some("10"));
}

#[tokio::test]
async fn watches_that_close_at_once_are_paced_and_end_in_a_list() {
    let server = Server::start(|path, _| match path.contains("watch=1") {
        true => Reply::Closing(vec![]),
        false => page(10, "", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.pace = Duration::from_millis(40);
    let begun = Instant::now();
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until("two fresh lists", |recorded| {
        recorded.story.iter().filter(|entry| *entry == "begin fresh").count() >= 2
    })
    .await;
    let most = begun.elapsed().as_millis() / 40 + 2;
    assert!(server.watches().len() as u128 <= most, "{} watches, {most} allowed", server.watches().len());
    let marks =
        sink.with(|recorded| recorded.marks.iter().map(|mark| mark.reason.clone()).collect::<Vec<_>>());
    assert_eq!(marks, ["", "invalid"], "an answer alone does not count as watched again");
}

#[tokio::test]
async fn a_short_hiccup_is_no_gap_and_a_long_one_is() {
    let server = Server::start(|path, number| match (path.contains("watch=1"), number) {
        (false, 0) => page(10, "", &["a"]),
        (false, _) => page(12, "", &["a"]),
        (true, 1) => Reply::Breaking(vec![event("ADDED", &object("b", 11))]),
        (true, 2) => Reply::Breaking(vec![event("ADDED", &object("c", 12))]),
        (true, 3) => Reply::Whole(503, String::new()),
        (true, _) => Reply::Open(vec![event("ADDED", &object("d", 13))]),
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow(&server, settings(), &sink);
    sink.until_recorded("to 13").await;
    let story = sink.story().join(" ");
    let expected = "begin a@10 page end 10 watched b@11 to 11 c@12 to 12 gap unreachable \
                    begin fresh a@12 page end 12 watched d@13 to 13";
    assert_eq!(story, expected);
    sink.with(|recorded| assert!(recorded.marks[1].since < recorded.marks[2].since));
}

#[tokio::test]
async fn what_is_not_allowed_or_not_there_is_a_gap_and_deletes_nothing() {
    for (code, gap) in [(403, "gap forbidden"), (401, "gap unauthorized"), (404, "gap not_served")] {
        let server = Server::start(move |path, number| match (path.contains("watch=1"), number) {
            (true, 0 | 1) => Reply::Whole(code, status(code)),
            _ => Reply::Open(vec![bookmark(9)]),
        })
        .await;
        let sink = Recorder::default();
        sink.with(|recorded| recorded.stored = Some("7".to_owned()));
        let (_task, _guard) = follow(&server, settings(), &sink);
        sink.until_recorded("to 9").await;
        assert_eq!(sink.story(), ["begin", gap, "watched", "to 9"]);
        assert_eq!(server.lists(), 0);
    }
}

#[tokio::test]
async fn garbage_is_counted_and_the_stream_goes_on() {
    let server = Server::start(|_, _| {
        let nameless = r#"{"metadata":{"uid":"u","resourceVersion":"9"}}"#;
        let lines =
            ["garbage\n", "{\"type\":\"ADDED\"}\n", "{\"type\":\"NEWS\",\"object\":{}}\n"].map(str::to_owned);
        let mut lines = lines.to_vec();
        lines.extend([event("ADDED", nameless), event("ADDED", &object("a", 10))]);
        Reply::Open(lines)
    })
    .await;
    let (sink, settings) = (Recorder::default(), settings());
    let stats = Arc::clone(&settings.stats);
    sink.with(|recorded| recorded.stored = Some("7".to_owned()));
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until_recorded("to 10").await;
    assert_eq!(stats.counts().undecodable, 4);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_line_without_end_is_a_gap_and_leads_to_a_list() {
    let server = Server::start(|path, _| match path {
        _ if path.contains("resourceVersion=7&") => {
            Reply::Open(vec![event("ADDED", &object("a", 8)), "x".repeat(5000), "x".repeat(5000)])
        }
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.line_bytes = 4096;
    sink.with(|recorded| recorded.stored = Some("7".to_owned()));
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until_recorded("end 10").await;
    let story = sink.story();
    assert_eq!(story[..6], ["begin", "watched", "a@8", "to 8", "gap invalid", "begin fresh"]);
}

#[tokio::test]
async fn a_line_cut_off_is_told_again() {
    let server = Server::start(|path, _| match path {
        _ if path.contains("resourceVersion=7&") => {
            let cut = event("ADDED", &object("b", 9));
            Reply::Closing(vec![event("ADDED", &object("a", 8)), cut[..cut.len() / 2].to_owned()])
        }
        _ => Reply::Open(vec![event("ADDED", &object("b", 9))]),
    })
    .await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.stored = Some("7".to_owned()));
    let (_task, _guard) = follow(&server, settings(), &sink);
    sink.until_recorded("to 9").await;
    assert_eq!(sink.story(), ["begin", "watched", "a@8", "to 8", "b@9", "to 9"]);
    assert!(server.watches()[1].contains("resourceVersion=8&"));
}

#[tokio::test]
async fn silence_is_answered_with_another_connection() {
    let server = Server::start(|_, number| match number {
        0 => Reply::Open(vec![]),
        _ => Reply::Open(vec![bookmark(9)]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.idle = Duration::from_millis(100);
    sink.with(|recorded| recorded.stored = Some("7".to_owned()));
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until_recorded("to 9").await;
    assert_eq!(sink.story(), ["begin", "watched", "to 9"]);
}

#[tokio::test]
async fn too_large_pages_are_asked_for_in_smaller_ones() {
    let server = Server::start(|path, _| match path {
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ if path.contains("limit=8") => page(10, "", &["a"; 100]),
        _ if path.contains("continue") => page(10, "", &["b"]),
        _ => page(10, "t", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    (settings.limits.page_objects, settings.limits.page_bytes) = (8, 1000);
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until_recorded("watched").await;
    let asked: Vec<String> = server.requests().into_iter().take(3).collect();
    assert_eq!(asked, ["/api/v1/pods?limit=8", "/api/v1/pods?limit=2", "/api/v1/pods?limit=2&continue=t"]);
}

#[tokio::test]
async fn the_log_decides_about_the_end() {
    for (error, end) in [
        (AppendError::Closed, Some(End::Closed)),
        (
            AppendError::Superseded(WatchKey {
                cluster: "c".into(),
                kind: Kind::new("", "Pod"),
                namespace: String::new(),
            }),
            Some(End::Superseded),
        ),
        (AppendError::Failed("disk full".to_owned()), None),
    ] {
        let server = Server::start(|_, _| Reply::Open(vec![event("ADDED", &object("a", 8))])).await;
        let sink = Recorder::default();
        sink.with(|recorded| {
            recorded.stored = Some("7".to_owned());
            recorded.refuse = Some(error);
        });
        let (task, guard) = follow(&server, settings(), &sink);
        if let Some(end) = end {
            assert_eq!(task.await.unwrap().end, end);
        } else {
            sink.until_recorded("to 8").await;
            assert_eq!(
                sink.story(),
                ["begin", "watched", "begin", "a@8", "to 8"],
                "sent again once the log accepts it"
            );
            drop(guard);
            assert_eq!(task.await.unwrap().end, End::Cancelled);
        }
    }
}

#[tokio::test]
async fn a_list_without_end_is_broken_off() {
    for repeating in [false, true] {
        let server = Server::start(move |path, number| match path.contains("watch=1") {
            true => Reply::Open(vec![]),
            false if repeating => page(10, "again", &["a"]),
            false => page(10, &format!("t{number}"), &["a"]),
        })
        .await;
        let (sink, mut settings) = (Recorder::default(), settings());
        settings.limits.list_objects = 8;
        let (_task, _guard) = follow(&server, settings, &sink);
        sink.until_recorded("gap invalid").await;
        let message = sink.with(|recorded| recorded.marks[0].message.clone());
        let expected = if repeating { "do not advance" } else { "more than 8 objects" };
        assert!(message.contains(expected), "{message}");
        assert!(!sink.story().iter().any(|entry| entry.starts_with("end")), "no list has ended");
    }
}

#[tokio::test]
async fn a_list_from_the_past_is_asked_for_again_before_it_is_believed() {
    let server = Server::start(|path, number| match (path.contains("watch=1"), number) {
        (true, 0) => Reply::Closing(vec![event("ADDED", &object("a", 90)), event("ERROR", &status(410))]),
        (true, _) => Reply::Open(vec![]),
        (false, _) => page(30, "", &["a"]),
    })
    .await;
    let sink = Recorder::default();
    sink.with(|recorded| recorded.stored = Some("70".to_owned()));
    let (_task, _guard) = follow(&server, settings(), &sink);
    sink.until_recorded("end 30").await;
    assert_eq!(server.lists(), 3);
    let story = sink.story().join(" ");
    let expected = "gap invalid begin fresh gap rolled_back begin fresh a@30 page end 30";
    assert!(story.contains(expected), "{story}");
}

#[tokio::test]
async fn silence_where_bookmarks_were_sent_is_a_gap_since_the_last_of_them() {
    for bookmarks in [true, false] {
        let server = Server::start(move |path, number| match (path.contains("watch=1"), number) {
            (false, 0) => page(10, "", &["a"]),
            (false, _) => page(12, "", &["a"]),
            (true, 1) if bookmarks => Reply::Open(vec![bookmark(11)]),
            (true, 1) => Reply::Open(vec![]),
            (true, _) => Reply::Open(vec![bookmark(13)]),
        })
        .await;
        let (sink, mut settings) = (Recorder::default(), settings());
        settings.limits.idle = Duration::from_millis(100);
        let (_task, _guard) = follow(&server, settings, &sink);
        sink.until_recorded("to 13").await;
        let story = sink.story().join(" ");
        let expected = match bookmarks {
            true => {
                "begin a@10 page end 10 watched to 11 gap unreachable begin fresh a@12 page end 12 watched to 13"
            }
            false => "begin a@10 page end 10 watched to 13",
        };
        assert!(story.starts_with(expected), "{story}");
        assert!(
            server.watches()[1].contains(if bookmarks { "=12&" } else { "=10&" }),
            "a cursor is not trusted where the other end was gone"
        );
    }
}
