use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fake::{Recorder, Reply, Server, page, settings};
use super::supervise::{cluster, discovery, group, start_through, way};

#[tokio::test]
async fn namespaces_are_watched_one_by_one() {
    let server = cluster(Arc::default()).await;
    let sink = Recorder::default();
    let (task, cancel) = start_through(vec![way(&server, &["shop", "bank"])], settings(), &sink);
    sink.until("both", |recorded| recorded.marks.len() == 3).await;
    let mut watches: Vec<String> =
        sink.with(|recorded| recorded.marks.iter().map(|mark| mark.watch.to_string()).collect());
    watches.sort();
    assert_eq!(watches, ["c/", "c/Pod in bank", "c/Pod in shop"]);
    assert!(server.requests().iter().any(|path| path.starts_with("/api/v1/namespaces/shop/pods?watch=1")));
    cancel.cancel();
    task.await.unwrap();
}

/// Pods that the whole cluster's watcher may not see while the switch is on, and that one of `shop` may.
async fn narrow_cluster(refused: Arc<AtomicBool>) -> Server {
    Server::start(move |path, _| match path {
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[]),
        _ if path.starts_with("/api/v1/pods") && refused.load(Ordering::Relaxed) => {
            Reply::Whole(403, "not for you".to_owned())
        }
        _ if path.contains("watch=1") => Reply::Open(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await
}

#[tokio::test]
async fn where_the_whole_cluster_is_refused_namespaces_are_watched_until_it_is_not() {
    let refused = Arc::new(AtomicBool::new(true));
    let server = narrow_cluster(Arc::clone(&refused)).await;
    let sink = Recorder::default();
    let ways = vec![way(&server, &[]), way(&server, &["shop"])];
    let (task, cancel) = start_through(ways, settings(), &sink);
    sink.until_recorded("watched").await;
    let has_mark = |wanted: &'static str| {
        move |recorded: &super::fake::Recorded| {
            let matches = |mark: &strandline_model::CoverageMark| {
                format!("{} {:?} {}", mark.watch, mark.state, mark.reason).trim_end() == wanted
            };
            recorded.marks.iter().any(matches)
        }
    };
    sink.until("refused", has_mark("c/Pod Gap forbidden")).await;
    sink.until("the namespace", has_mark("c/Pod in shop Watched")).await;
    refused.store(false, Ordering::Relaxed);
    sink.until("allowed", has_mark("c/Pod Watched")).await;
    sink.until("covered", has_mark("c/Pod in shop Excluded covered")).await;
    cancel.cancel();
    task.await.unwrap();
    assert!(!sink.story().iter().any(|entry| entry.ends_with("for good")), "nothing was taken for gone");
}
