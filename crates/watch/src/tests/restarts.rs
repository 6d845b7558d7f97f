use std::sync::Arc;

use super::fake::{Recorder, settings};
use super::supervise::{cluster, start};
use strandline_clock::{Clock as _, SystemClock};
use strandline_model::{CoverageState, Kind, WatchKey};

#[tokio::test]
async fn what_an_earlier_run_watched_is_a_gap_until_each_watch_has_resumed() {
    let server = cluster(Arc::default()).await;
    let sink = Recorder::default();
    let seen = SystemClock.now();
    let watch =
        |kind: &str| WatchKey { cluster: "c".into(), kind: Kind::new("", kind), namespace: String::new() };
    sink.with(|recorded| {
        (recorded.stored, recorded.last_seen) = (Some("10".to_owned()), Some(seen));
        recorded.left = vec![(watch("Pod"), Some(seen)), (watch("Node"), Some(seen))];
    });
    let (task, cancel) = start(&server, settings(), &sink);
    sink.until("both go on", |recorded| {
        recorded.marks.iter().filter(|mark| mark.state == CoverageState::Watched).count() == 3
    })
    .await;
    cancel.cancel();
    task.await.unwrap();
    let marks = sink.with(|recorded| recorded.all_marks.clone());
    let found: Vec<_> = marks.iter().map(|mark| (mark.watch.to_string(), mark.reason.as_str())).collect();
    let [cluster, first, second, answered, ..] = &found[..] else { panic!("{found:?}") };
    assert_eq!(cluster, &("c/".to_owned(), "restarted"), "before anything is asked of the cluster");
    let mut kinds = [first, second];
    kinds.sort();
    assert_eq!(kinds, [&("c/Node".to_owned(), "restarted"), &("c/Pod".to_owned(), "restarted")]);
    assert_eq!(answered, &("c/".to_owned(), ""), "not before each of its watches is a gap");
    assert!(marks.iter().filter(|mark| mark.reason == "restarted").all(|mark| mark.since == seen));
    assert!(marks.iter().filter(|mark| mark.reason.is_empty()).all(|mark| mark.nothing_missed), "{marks:?}");
    assert_eq!(found.len(), 6, "each is a gap once and watched once: {found:?}");
}
