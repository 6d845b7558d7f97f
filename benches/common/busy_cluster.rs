//! A simulated cluster of Pods that change at a steady rate while that is switched on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strandline::service::{Watched, WatchedSettings};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use strandline_watch::{ClusterAccess, ConnectSettings, Watcher};

/// A cluster, with the switch of its changes.
pub(crate) struct BusyCluster {
    pub(crate) server: Arc<ApiServer>,
    name: &'static str,
    pub(crate) is_changing: Arc<AtomicBool>,
}

impl BusyCluster {
    /// An empty one.
    pub(crate) async fn start(name: &'static str) -> Self {
        let server = ApiServer::start(name, builtin_kinds()).await.expect("a cluster");
        BusyCluster { server: Arc::new(server), name, is_changing: Arc::default() }
    }

    /// As a service watches it.
    pub(crate) async fn watched(&self) -> Watched {
        watched(self.name.into(), self.server.url()).await
    }

    /// Lets so many Pods of a namespace change, so many in a second, one after the other and then anew.
    pub(crate) fn keep_changing(
        &self,
        namespace: impl Fn(u64) -> String + Send + 'static,
        pods: u64,
        rate: f64,
    ) {
        let (server, is_changing) = (Arc::clone(&self.server), Arc::clone(&self.is_changing));
        std::thread::spawn(move || {
            let mut due = Instant::now();
            for (round, n) in (2..).flat_map(|round| (0..pods).map(move |n| (round, n))) {
                while !is_changing.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(10));
                    due = Instant::now();
                }
                server.apply(pod(&namespace(n), n, round, (n + round).is_multiple_of(2)));
                due += Duration::from_secs_f64(1.0 / rate);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        });
    }
}

/// A simulated cluster at an address, as a service watches it.
pub(crate) async fn watched(name: String, url: String) -> Watched {
    let settings = ConnectSettings::new(ClusterAccess::Url(url));
    let connection = strandline_watch::connect(&settings).await.expect("the cluster answers");
    let watchers = vec![Watcher { connection, namespaces: Vec::new() }];
    Watched { name, watchers, settings: WatchedSettings::default() }
}

/// A Pod that runs, or fails.
pub(crate) fn pod(namespace: &str, n: u64, version: u64, fails: bool) -> Value {
    let state = match fails {
        true => {
            json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}})
        }
        false => json!({"running": {"startedAt": "2026-11-20T12:00:00Z"}}),
    };
    let ready = if fails { "False" } else { "True" };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{n}"), "namespace": namespace, "labels": {"app": "web"},
            "annotations": {"version": version.to_string()}},
        "spec": {"containers": [{"name": "web", "image": format!("example.com/web:{}.{}", n % 40, n % 3)}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "web", "image": "example.com/web:1", "ready": !fails,
                "restartCount": version, "state": state}]},
    })
}
