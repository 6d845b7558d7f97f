//! Consistency lists, which find what no event reported.

use std::sync::Arc;
use std::time::Duration;

use super::fake::{Recorder, Reply, Server, bookmark, page, settings};
use super::list_watch::follow;
use crate::ClusterSettings;
use strandline_model::Timestamp;

fn checking() -> ClusterSettings {
    let mut settings = settings();
    (settings.limits.consistency_soon, settings.limits.consistency_apart) =
        (Duration::from_millis(2), Duration::from_millis(2));
    settings
}

/// A recorder whose watch resumes at 7 with these objects.
fn resuming(live: &[(&'static str, u64)]) -> Recorder {
    let sink = Recorder::default();
    sink.with(|recorded| {
        recorded.stored = Some("7".to_owned());
        recorded.verified_at = Some(Timestamp::from_micros(3));
        recorded.live = live.to_vec();
    });
    sink
}

#[tokio::test]
async fn a_record_that_agrees_is_verified_without_a_list() {
    let server = Server::start(|path, _| match path.contains("watch=1") {
        true => Reply::Open(vec![bookmark(9)]),
        false => page(9, "", &["a"]),
    })
    .await;
    let (sink, settings) = (resuming(&[("a", 9)]), checking());
    let stats = Arc::clone(&settings.stats);
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until_recorded("verified").await;
    assert_eq!(sink.story(), ["begin", "watched", "to 9", "verified"]);
    let verified_at = stats.statuses()[0].1.verified_at;
    assert!(verified_at > Some(Timestamp::from_micros(3)), "{verified_at:?}");
    assert_eq!(server.lists(), 1);
}

#[tokio::test]
async fn what_no_event_told_is_a_gap_since_the_last_verification_and_listed() {
    // An object that is gone, one that was never reported, and one in a newer state.
    for live in [&[("a", 9), ("ghost", 5)][..], &[], &[("a", 8)]] {
        let server = Server::start(|path, _| match path.contains("watch=1") {
            true => Reply::Open(vec![bookmark(9)]),
            false => page(9, "", &["a"]),
        })
        .await;
        let (sink, settings) = (resuming(live), checking());
        let stats = Arc::clone(&settings.stats);
        let (_task, _guard) = follow(&server, settings, &sink);
        sink.until("watched again", |recorded| recorded.marks.len() == 3).await;
        let story = sink.story().join(" ");
        let expected = "begin watched to 9 gap missed begin fresh a@9 page end 9 watched";
        assert!(story.starts_with(expected), "{story}");
        assert_eq!(sink.with(|recorded| recorded.marks[1].since), Timestamp::from_micros(3));
        assert_eq!(sink.with(|recorded| recorded.since), Some(Timestamp::from_micros(3)));
        assert_eq!((stats.counts().missed, server.lists()), (1, 3), "two comparisons agree before the list");
    }
}

#[tokio::test]
async fn a_store_that_was_set_back_is_found_whether_or_not_it_was_overtaken() {
    for overtaken in [true, false] {
        let version = if overtaken { 9 } else { 3 };
        let server = Server::start(move |path, number| match (path.contains("watch=1"), number) {
            (true, 0) if overtaken => Reply::Open(vec![bookmark(9)]),
            (true, _) => Reply::Open(vec![]),
            (false, _) => {
                let text = format!(
                    r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#,
                    super::fake::object("a", 2)
                );
                Reply::Whole(200, text)
            }
        })
        .await;
        let (sink, settings) = (resuming(&[("a", 7)]), checking());
        let (_task, _guard) = follow(&server, settings, &sink);
        sink.until("watched again", |recorded| recorded.marks.len() == 3).await;
        let story = sink.story().join(" ");
        let expected = format!("gap rolled_back begin fresh a@2 page end {version} watched");
        assert!(story.contains(&expected), "{story}");
        assert_eq!(server.lists(), if overtaken { 3 } else { 2 });
    }
}

#[tokio::test]
async fn a_check_that_is_asked_for_is_made_at_once() {
    let server = Server::start(|path, _| match path.contains("watch=1") {
        true => Reply::Open(vec![bookmark(9)]),
        false => page(9, "", &["a"]),
    })
    .await;
    let (sink, settings) = (resuming(&[("a", 9)]), settings());
    let stats = Arc::clone(&settings.stats);
    let (_task, _guard) = follow(&server, settings, &sink);
    sink.until_recorded("to 9").await;
    assert_eq!(stats.request_checks(None), 1);
    sink.until_recorded("verified").await;
}

#[tokio::test]
async fn a_consistency_list_that_fails_is_only_tried_again() {
    let server = Server::start(|path, number| match path.contains("watch=1") {
        true => Reply::Open(vec![bookmark(9)]),
        false if number < 4 => Reply::Whole(410, String::new()),
        false => page(9, "", &["a"]),
    })
    .await;
    let sink = resuming(&[("a", 9)]);
    let (_task, _guard) = follow(&server, checking(), &sink);
    sink.until_recorded("verified").await;
    assert_eq!(sink.story(), ["begin", "watched", "to 9", "verified"]);
}
