//! Kinds that a cluster no longer has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use super::fake::{Recorder, Reply, Server, page, settings};
use super::supervise::{cluster, discovery, end, group, start};
use strandline_model::{Kind, WatchKey};

fn widgets() -> WatchKey {
    WatchKey { cluster: "c".into(), kind: Kind::new("acme.example", "Widget"), namespace: String::new() }
}

#[tokio::test]
async fn a_kind_that_stays_away_is_a_gap_and_then_removed_and_may_come_back() {
    let there = Arc::new(AtomicBool::new(true));
    let server = cluster(Arc::clone(&there)).await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.removal = Duration::from_millis(50);
    let (task, cancel) = start(&server, settings, &sink);
    let watched = |times: usize| {
        move |recorded: &super::fake::Recorded| {
            let of_widgets = recorded.marks.iter().filter(|mark| mark.watch == widgets());
            of_widgets.filter(|mark| mark.reason.is_empty()).count() == times
        }
    };
    sink.until("widgets", watched(1)).await;
    there.store(false, Ordering::Relaxed);
    sink.until_recorded("dismissed c/Widget.acme.example for good").await;
    let reasons = sink.with(|recorded| {
        let of_widgets = recorded.marks.iter().filter(|mark| mark.watch == widgets());
        of_widgets.map(|mark| mark.reason.clone()).collect::<Vec<_>>()
    });
    assert_eq!(reasons[..2], ["", "not_served"], "a gap at first");
    sink.until_recorded("not followed removed").await;
    there.store(true, Ordering::Relaxed);
    sink.until("widgets again", watched(2)).await;
    end(task, &cancel).await;
}

/// What discovery says of the group `acme.example`.
const SERVED: u8 = 0;
const FAILING: u8 = 1;
const GONE: u8 = 2;

#[tokio::test]
async fn a_group_that_cannot_be_asked_is_never_taken_for_removed() {
    let state = Arc::new(AtomicU8::new(FAILING));
    let of_group = Arc::clone(&state);
    let server = Server::start(move |path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => match of_group.load(Ordering::Relaxed) {
            GONE => discovery(&[]),
            state => {
                let mut acme = group("acme.example", &[("widgets", "Widget", "Namespaced")]);
                if state == FAILING {
                    acme["versions"][0]["freshness"] = "Stale".into();
                    acme["versions"][0]["resources"] = serde_json::json!([]);
                }
                discovery(&[acme])
            }
        },
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let (sink, mut settings) = (Recorder::default(), settings());
    settings.limits.removal = Duration::from_millis(1);
    sink.with(|recorded| recorded.left = vec![(widgets(), None)]);
    let (task, cancel) = start(&server, settings, &sink);
    sink.until_recorded("gap unavailable").await;
    let asked = || server.requests().iter().filter(|path| *path == "/apis").count();
    let before = asked();
    while asked() < before + 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let removed = |entry: &String| entry.contains("not_served") || entry.contains("dismissed c/Widget");
    assert!(!sink.story().iter().any(removed), "{:?}", sink.story());
    state.store(GONE, Ordering::Relaxed);
    sink.until_recorded("dismissed c/Widget.acme.example for good").await;
    let story = sink.story();
    let position = |wanted: &str| story.iter().position(|word| word == wanted).unwrap_or(usize::MAX);
    assert!(position("gap not_served") < position("not followed removed"), "{story:?}");
    state.store(SERVED, Ordering::Relaxed);
    let back = |recorded: &super::fake::Recorded| {
        recorded.marks.iter().any(|mark| mark.watch == widgets() && mark.reason.is_empty())
    };
    sink.until("widgets are back", back).await;
    end(task, &cancel).await;
}
