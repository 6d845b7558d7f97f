//! Clusters whose credentials cannot be read.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::fake::{Recorder, settings};
use super::supervise::{cluster, end, start_through, way};
use crate::{ClusterAccess, ClusterConnection, ConnectSettings, Watcher};
use strandline_model::{CoverageState, Kind, Timestamp, WatchKey};

/// A way by a kubeconfig.
fn way_by(kubeconfig: &std::path::Path) -> Watcher {
    let access = ClusterAccess::Kubeconfig { path: Some(kubeconfig.to_owned()), context: None };
    Watcher { connection: ClusterConnection::deferred(ConnectSettings::new(access)), namespaces: Vec::new() }
}

fn kubeconfig(url: &str) -> String {
    format!(
        "{{clusters: [{{name: c, cluster: {{server: \"{url}\"}}}}], users: [{{name: u, user: {{}}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}], current-context: c}}"
    )
}

fn watch_of(kind: &str) -> WatchKey {
    WatchKey { cluster: "c".into(), kind: Kind::new("", kind), namespace: String::new() }
}

#[tokio::test]
async fn credentials_that_cannot_be_read_are_a_gap_since_the_cluster_was_last_heard() {
    let server = cluster(Arc::new(AtomicBool::new(false))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let sink = Recorder::default();
    let at = |minutes: i64| Timestamp::from_micros(minutes * 60_000_000);
    sink.with(|recorded| {
        let seen = [("Pod", Some(at(100))), ("Node", Some(at(99))), ("Secret", Some(at(7))), ("Lease", None)];
        recorded.left = seen.map(|(kind, seen)| (watch_of(kind), seen)).to_vec();
    });
    let (task, cancel) = start_through(vec![way_by(&path)], settings(), &sink);
    sink.until_recorded("discovery gap credentials").await;
    let mark = sink.with(|recorded| recorded.marks[0].clone());
    assert!(mark.message.contains(&*path.to_string_lossy()), "{}", mark.message);
    assert_eq!(mark.since, at(99), "one that was confirmed much earlier was in a gap of its own");

    std::fs::write(&path, "clusters: [").unwrap();
    std::fs::write(&path, kubeconfig(server.connection.url())).unwrap();
    sink.until_recorded("discovery watched").await;
    sink.until_recorded("watched").await;
    end(task, &cancel).await;
    let gaps = sink.story().iter().filter(|entry| *entry == "discovery gap credentials").count();
    assert_eq!(gaps, 1, "one gap, however often they were tried");
}

#[tokio::test]
async fn one_way_without_credentials_leaves_the_others_be() {
    let server = cluster(Arc::new(AtomicBool::new(false))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let sink = Recorder::default();
    let narrow = Watcher { namespaces: vec!["shop".to_owned()], ..way_by(&path) };
    let ways = vec![way(&server, &["bank"]), narrow];
    let (task, cancel) = start_through(ways, settings(), &sink);
    let marked = |namespace: &'static str, state, reason: &'static str| {
        move |recorded: &super::fake::Recorded| {
            recorded
                .marks
                .iter()
                .any(|mark| mark.watch.namespace == namespace && mark.state == state && mark.reason == reason)
        }
    };
    sink.until("bank", marked("bank", CoverageState::Watched, "")).await;
    sink.until("shop", marked("shop", CoverageState::Gap, "credentials")).await;
    std::fs::write(&path, kubeconfig(server.connection.url())).unwrap();
    sink.until("shop", marked("shop", CoverageState::Watched, "")).await;
    end(task, &cancel).await;
}
