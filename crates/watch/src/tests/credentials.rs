//! Clusters whose credentials cannot be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fake::{Recorder, Reply, Server, page, settings};
use super::supervise::{cluster, discovery, end, group, start_through, way};
use crate::{ClusterAccess, ClusterConnection, ConnectSettings, Hub, HubSettings, HubSource, Watcher};
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
    let marks = sink.with(|recorded| recorded.marks.clone());
    let [absent, mark] = &marks[..] else { panic!("{marks:?}") };
    assert_eq!(absent.reason, "restarted");
    assert!(mark.message.contains(&*path.to_string_lossy()), "{}", mark.message);
    assert_eq!(
        [absent.since, mark.since],
        [at(99); 2],
        "one that was confirmed much earlier was in a gap of its own"
    );

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

/// An address at which nothing listens.
const NOBODY: &str = "http://127.0.0.1:1";

/// Kubeconfigs that can be read and lead to no cluster, each with the reason of the gap.
async fn wrong_ways() -> Vec<(String, &'static str, Option<Server>)> {
    let mut ways = vec![(NOBODY.to_owned(), "unreachable", None)];
    for (status, reason) in
        [(401, "unauthorized"), (403, "forbidden"), (404, "not_served"), (503, "unreachable")]
    {
        let other = Server::start(move |_, _| Reply::Whole(status, String::new())).await;
        ways.push((other.connection.url().to_owned(), reason, Some(other)));
    }
    let page = Server::start(|_, _| Reply::Whole(200, "<html>log in</html>".to_owned())).await;
    ways.push((page.connection.url().to_owned(), "invalid", Some(page)));
    ways
}

#[tokio::test]
async fn a_kubeconfig_that_named_another_server_connects_once_it_is_corrected() {
    let server = cluster(Arc::new(AtomicBool::new(false))).await;
    for (wrong, reason, _other) in wrong_ways().await {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, kubeconfig(&wrong)).unwrap();
        let sink = Recorder::default();
        let (task, cancel) = start_through(vec![way_by(&path)], settings(), &sink);
        sink.until_recorded(&format!("discovery gap {reason}")).await;
        // Half a file meanwhile is no reason to give up.
        std::fs::write(&path, "clusters: [").unwrap();
        std::fs::write(&path, kubeconfig(server.connection.url())).unwrap();
        sink.until_recorded("discovery watched").await;
        sink.until_recorded("watched").await;
        end(task, &cancel).await;
    }
}

#[tokio::test]
async fn one_way_to_another_server_is_corrected_beside_one_that_answers() {
    let server = cluster(Arc::new(AtomicBool::new(false))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig(NOBODY)).unwrap();
    let sink = Recorder::default();
    let narrow = Watcher { namespaces: vec!["shop".to_owned()], ..way_by(&path) };
    let (task, cancel) = start_through(vec![way(&server, &["bank"]), narrow], settings(), &sink);
    let marked = |state, reason: &'static str| {
        move |recorded: &super::fake::Recorded| {
            let mut of_shop = recorded.marks.iter().filter(|mark| mark.watch.namespace == "shop");
            of_shop.any(|mark| mark.state == state && mark.reason == reason)
        }
    };
    sink.until("shop", marked(CoverageState::Gap, "unreachable")).await;
    std::fs::write(&path, kubeconfig(server.connection.url())).unwrap();
    sink.until("shop", marked(CoverageState::Watched, "")).await;
    end(task, &cancel).await;
}

#[tokio::test]
async fn credentials_that_were_read_stay_in_use_while_their_file_is_missing() {
    let up = Arc::new(AtomicBool::new(true));
    let answering = Arc::clone(&up);
    let server = Server::start(move |path, _| match path {
        _ if !answering.load(Ordering::Relaxed) => Reply::Whole(500, String::new()),
        "/api" => discovery(&[group("", &[("pods", "Pod", "Namespaced")])]),
        "/apis" => discovery(&[]),
        _ if path.contains("watch=1") => Reply::Closing(vec![]),
        _ => page(10, "", &["a"]),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig(server.connection.url())).unwrap();
    let sink = Recorder::default();
    let (task, cancel) = start_through(vec![way_by(&path)], settings(), &sink);
    sink.until_recorded("discovery watched").await;
    std::fs::remove_file(&path).unwrap();
    up.store(false, Ordering::Relaxed);
    sink.until_recorded("discovery gap unreachable").await;
    let asked = server.requests().len();
    while server.requests().len() < asked + 20 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    up.store(true, Ordering::Relaxed);
    let again = |recorded: &super::fake::Recorded| {
        recorded.story.iter().filter(|entry| *entry == "discovery watched").count() == 2
    };
    sink.until("watched again", again).await;
    end(task, &cancel).await;
    assert!(!sink.story().iter().any(|entry| entry.contains("credentials")), "{:?}", sink.story());
}

#[tokio::test]
async fn a_hub_is_read_once_its_kubeconfig_is_corrected() {
    let server = Server::start(|_, _| page(10, "", &[])).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig(NOBODY)).unwrap();
    let access = ClusterAccess::Kubeconfig { path: Some(path.clone()), context: None };
    let hub = Hub::new(HubSettings {
        connect: ConnectSettings::new(access),
        source: HubSource::ClusterApi,
        namespace: None,
        selector: String::new(),
    });
    assert!(hub.read().await.is_err());
    std::fs::write(&path, "clusters: [").unwrap();
    let unread = hub.read().await.unwrap_err();
    assert!(unread.contains("line 1"), "{unread}");
    std::fs::write(&path, kubeconfig(server.connection.url())).unwrap();
    assert!(hub.read().await.is_ok());
}
