//! Changes that come late, and gaps in which nothing was missed.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::fake::{Recorder, Reply, Server, bookmark, event, object, page, settings};
use super::list_watch::{follow, follow_by};
use crate::ClusterSettings;
use strandline_clock::SystemClock;
use strandline_clock::testing::ManualClock;
use strandline_model::Timestamp;

const START: i64 = 1_767_225_600_000_000;

fn manual() -> Arc<ManualClock> {
    let clock = Arc::new(ManualClock::default());
    clock.set(after(0));
    clock
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_micros(START + seconds * 1_000_000)
}

/// An object that was changed then.
fn changed(name: &str, version: u64, at: Timestamp) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}",
            "managedFields":[{{"manager":"m","operation":"Update","time":"{at}"}}]}}}}"#
    )
    .replace('\n', " ")
}

fn resumed(sink: &Recorder) {
    sink.with(|recorded| {
        recorded.stored = Some("7".to_owned());
        recorded.last_seen = Some(Timestamp::from_micros(5));
    });
}

/// With so much time for what the server sends that silence never decides.
fn patient() -> ClusterSettings {
    let mut settings = settings();
    settings.limits.pace = Duration::from_secs(10_000);
    settings
}

#[tokio::test]
async fn a_cursor_that_catches_up_after_a_restart_leaves_no_gap() {
    let server = Server::start(|_, _| Reply::Open(vec![bookmark(9)])).await;
    let sink = Recorder::default();
    resumed(&sink);
    let (_task, _guard) = follow(&server, patient(), &sink);
    sink.until_recorded("watched, nothing missed").await;
    assert_eq!(sink.story(), ["begin", "gap restarted", "to 9", "watched, nothing missed"]);
    assert_eq!(server.lists(), 0);
}

#[tokio::test]
async fn what_happened_during_a_restart_is_late_since_it_happened() {
    // Before we were back, after it, and nobody knows when.
    for (dated, late) in [(Some(-20), Some(-20)), (Some(0), None), (None, Some(-60))] {
        let clock = manual();
        let server = Server::start(move |_, _| {
            let object = dated.map_or_else(|| object("a", 8), |seconds| changed("a", 8, after(seconds)));
            Reply::Open(vec![event("MODIFIED", &object), bookmark(9)])
        })
        .await;
        let sink = Recorder::default();
        resumed(&sink);
        sink.with(|recorded| recorded.last_seen = Some(after(-60)));
        let (_task, _guard) = follow_by(&server, patient(), &sink, clock);
        sink.until_recorded("watched, nothing missed").await;
        let marks = sink.with(|recorded| recorded.marks.clone());
        let found = marks.iter().find(|mark| mark.reason == "late");
        assert_eq!(found.map(|mark| mark.since), late.map(after), "{dated:?}");
        assert!(found.is_none_or(|mark| mark.until == Some(after(0))), "{marks:?}");
        assert_eq!((marks[0].reason.as_str(), marks[0].since), ("restarted", after(-60)));
    }
}

#[tokio::test]
async fn a_restart_gap_stays_where_a_list_was_needed_or_the_cluster_was_away() {
    for refusal in [410, 503] {
        let server = Server::start(move |path, number| match path.contains("watch=1") {
            true if number == 0 => Reply::Whole(refusal, String::new()),
            true => Reply::Open(vec![bookmark(40)]),
            false => page(30, "", &["a"]),
        })
        .await;
        let sink = Recorder::default();
        resumed(&sink);
        let (_task, _guard) = follow(&server, settings(), &sink);
        sink.until_recorded("to 40").await;
        let story = sink.story().join(" ");
        assert!(story.contains("begin fresh a@30 page end 30 watched"), "{story}");
        assert!(!story.contains("nothing missed"), "{story}");
    }
}

/// What is recorded when an event of this time, if any, arrives a minute after the list, and a bookmark after it.
async fn story_of(dated: Option<i64>) -> (Recorder, String) {
    let (clock, gate) = (manual(), CancellationToken::new());
    let opened = gate.clone();
    let server = Server::start(move |path, number| match (path.contains("watch=1"), number) {
        (false, _) => page(10, "", &["a"]),
        (true, 1) => {
            let object = dated.map_or_else(|| object("a", 11), |seconds| changed("a", 11, after(seconds)));
            Reply::Gated(opened.clone(), event("MODIFIED", &object))
        }
        (true, _) => Reply::Open(vec![bookmark(12)]),
    })
    .await;
    let sink = Recorder::default();
    let (_task, _guard) = follow_by(&server, settings(), &sink, clock.clone());
    sink.until_recorded("watched").await;
    clock.set(after(60));
    gate.cancel();
    sink.until_recorded("to 12").await;
    sink.until("the end of the gap", |recorded| recorded.marks.last().is_some_and(|m| m.reason.is_empty()))
        .await;
    let story = sink.story().join(" ");
    (sink, story)
}

#[tokio::test]
async fn an_event_that_comes_late_is_a_gap_before_it_is_recorded() {
    let (sink, story) = story_of(Some(20)).await;
    assert_eq!(story, "begin a@10 page end 10 watched gap late a@11 to 11 to 12 watched");
    assert_eq!(sink.with(|recorded| recorded.marks[1].since), after(20));
}

#[tokio::test]
async fn an_event_that_proves_no_lateness_is_no_gap() {
    // Of now, of an old object whose times stay as they are, without times, and of a clock that is ahead.
    for dated in [Some(58), Some(-1000), None, Some(1000)] {
        let (_, story) = story_of(dated).await;
        assert_eq!(story, "begin a@10 page end 10 watched a@11 to 11 to 12", "{dated:?}");
    }
}

#[tokio::test]
async fn an_event_confirms_what_happened_before_it() {
    let clock = manual();
    let server = Server::start(|path, _| match path.contains("watch=1") {
        true => Reply::Open(vec![event("MODIFIED", &changed("a", 11, after(57)))]),
        false => page(10, "", &["a"]),
    })
    .await;
    let (sink, settings) = (Recorder::default(), settings());
    let stats = Arc::clone(&settings.stats);
    clock.set(after(-1));
    let list = clock.clone();
    let (_task, _guard) = follow_by(&server, settings, &sink, list);
    sink.until_recorded("to 11").await;
    // It is still to come by our clock, so it proves nothing.
    assert_eq!(stats.confirmed_until(), Some(after(-1)));
    drop((_task, _guard));
    let server = Server::start(|path, _| match path.contains("watch=1") {
        true => Reply::Open(vec![event("MODIFIED", &changed("a", 12, after(57)))]),
        false => page(11, "", &["a"]),
    })
    .await;
    let (sink, settings) = (Recorder::default(), patient());
    let stats = Arc::clone(&settings.stats);
    sink.with(|recorded| {
        recorded.stored = Some("11".to_owned());
        recorded.last_seen = Some(after(50));
    });
    clock.set(after(60));
    let (_task, _guard) = follow_by(&server, settings, &sink, clock);
    sink.until_recorded("watched, nothing missed").await;
    assert_eq!(stats.confirmed_until(), Some(after(57)));
}

#[tokio::test]
async fn a_watch_that_is_cut_after_each_event_keeps_up() {
    let server = Server::start(|path, number| match path.contains("watch=1") {
        true if number <= 30 => Reply::Closing(vec![event("MODIFIED", &object("a", 10 + number as u64))]),
        true => Reply::Open(vec![]),
        false => page(10, "", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    // With a single pause this would never end.
    (settings.limits.pace, settings.limits.backoff_least) =
        (Duration::from_secs(10_000), Duration::from_secs(10_000));
    let (_task, _guard) = follow_by(&server, settings, &sink, Arc::new(SystemClock));
    sink.until_recorded("to 40").await;
    assert_eq!(server.lists(), 1);
}
