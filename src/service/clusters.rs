//! The clusters that are recorded: begun at the start, and added and removed while the service runs.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::options::{Watched, WatchedSettings};
use super::tasks::Tasks;
use crate::http::auth::{AccessQuestion, Review, ReviewAccess, ReviewToken};
use strandline_clock::Clock;
use strandline_log::Appender;
use strandline_model::{CoverageMark, WatchKey, reason};
use strandline_redact::Rules;
use strandline_watch::{
    AccessRequest, ClusterConnection, ClusterSettings, ClusterStats, ServerTime, Watcher,
};

/// A cluster that is recorded, as other parts look at it.
#[derive(Clone, Debug)]
pub(super) struct RecordedCluster {
    pub(super) name: String,
    pub(super) stats: Arc<ClusterStats>,
    pub(super) server_time: ServerTime,
    /// The first of the ways into it.
    connection: Option<ClusterConnection>,
}

/// Those of now; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters(Arc<RwLock<Arc<[RecordedCluster]>>>);

impl Clusters {
    /// All of them, in the order of the configuration.
    pub(super) fn all(&self) -> Arc<[RecordedCluster]> {
        // It is only ever replaced whole.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The time of each of them, by its name.
    pub(super) fn server_times(&self) -> Vec<(String, ServerTime)> {
        self.all().iter().map(|cluster| (cluster.name.clone(), cluster.server_time.clone())).collect()
    }

    /// Has the clusters that there are at the time review tokens.
    pub(super) fn reviews(&self) -> ReviewToken {
        let clusters = self.clone();
        Arc::new(move |review| {
            clusters.connection(&review.cluster).map_or_else(
                || std::future::ready(Err("the cluster is not recorded".to_owned())).boxed(),
                |connection| reviewed(connection, review).boxed(),
            )
        })
    }

    /// Has the clusters that there are at the time say who may read in them.
    pub(super) fn access_reviews(&self) -> ReviewAccess {
        let clusters = self.clone();
        Arc::new(move |question| {
            clusters.connection(&question.cluster).map_or_else(
                || std::future::ready(Err("the cluster is not recorded".to_owned())).boxed(),
                |connection| allowed(connection, question).boxed(),
            )
        })
    }

    fn connection(&self, name: &str) -> Option<ClusterConnection> {
        self.all().iter().find(|cluster| cluster.name == name)?.connection.clone()
    }

    fn replace(&self, clusters: Vec<RecordedCluster>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = clusters.into();
    }

    #[cfg(test)]
    pub(super) fn of(clusters: Vec<(&str, Arc<ClusterStats>)>) -> Self {
        let of = |(name, stats): (&str, Arc<ClusterStats>)| RecordedCluster {
            name: name.to_owned(),
            stats,
            server_time: ServerTime::default(),
            connection: None,
        };
        let all = Clusters::default();
        all.replace(clusters.into_iter().map(of).collect());
        all
    }
}

async fn reviewed(connection: ClusterConnection, review: Review) -> Result<Option<String>, String> {
    connection.review_token(review.token(), &review.audience).await
}

async fn allowed(connection: ClusterConnection, question: AccessQuestion) -> Result<bool, String> {
    let AccessQuestion { subject, namespace, .. } = &question;
    let request = AccessRequest {
        user: &subject.user,
        groups: &subject.groups,
        verb: &subject.permission.verb,
        group: &subject.permission.group,
        resource: &subject.permission.resource,
        namespace,
    };
    connection.review_access(request).await
}

/// Where clusters are recorded to.
#[derive(Clone)]
pub(super) struct Recording {
    pub(super) appender: Appender,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tasks: Tasks,
}

/// What records the clusters.
pub(super) struct Recorder {
    clusters: Clusters,
    rules: Arc<Rules>,
    planned: Vec<Planned>,
    running: BTreeMap<String, Running>,
}

/// A cluster that is not recorded yet.
struct Planned {
    configured: WatchedSettings,
    settings: ClusterSettings,
    watchers: Vec<Watcher>,
}

struct Running {
    configured: WatchedSettings,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Which clusters a change concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterChanges {
    pub(super) added: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl Recorder {
    /// Nothing is recorded before [`Recorder::begin`]; the clusters can be looked at once they are planned.
    pub(super) fn new(clusters: &Clusters, rules: &Arc<Rules>) -> Self {
        Recorder {
            clusters: clusters.clone(),
            rules: Arc::clone(rules),
            planned: Vec::new(),
            running: BTreeMap::new(),
        }
    }

    /// Makes these the clusters. Those that go on as they are keep what is known of them.
    pub(super) fn plan(&mut self, wanted: Vec<Watched>) {
        let before = self.clusters.all();
        let mut all = Vec::new();
        for Watched { name, watchers, settings: configured } in wanted {
            let goes_on = self.running.contains_key(&name);
            if let Some(known) = before.iter().find(|cluster| goes_on && cluster.name == name) {
                all.push(known.clone());
                continue;
            }
            let mut settings = ClusterSettings::new(name, Arc::clone(&self.rules));
            settings.selection = configured.selection.clone();
            settings.limits.consistency = configured.consistency.unwrap_or(settings.limits.consistency);
            all.push(RecordedCluster {
                name: settings.name.clone(),
                stats: Arc::clone(&settings.stats),
                server_time: settings.limits.server_time.clone(),
                connection: watchers.first().map(|watcher| watcher.connection.clone()),
            });
            self.planned.push(Planned { configured, settings, watchers });
        }
        self.clusters.replace(all);
    }

    /// Begins to record what is planned.
    pub(super) fn begin(&mut self, to: &Recording) {
        for Planned { configured, settings, watchers } in self.planned.drain(..) {
            let (name, stop) = (settings.name.clone(), to.tasks.stop().child_token());
            let (sink, clock) = (to.appender.clone(), Arc::clone(&to.clock));
            let task = strandline_watch::supervise(settings, watchers, sink, clock, stop.clone());
            let task = to.tasks.need_until(format!("cluster {name}"), stop.clone(), task);
            self.running.insert(name, Running { configured, stop, task });
        }
    }

    /// Ends the recording of what is no longer wanted, or wanted otherwise, and plans the rest. What ends is waited for,
    /// so that no two record the same cluster, and from then on it lies in a gap.
    pub(super) async fn change(&mut self, wanted: Vec<Watched>, to: &Recording) -> ClusterChanges {
        let mut changes = ClusterChanges::default();
        let wanted_of: BTreeMap<&str, &WatchedSettings> =
            wanted.iter().map(|cluster| (cluster.name.as_str(), &cluster.settings)).collect();
        let added = wanted_of.keys().filter(|name| !self.running.contains_key(**name));
        changes.added.extend(added.map(|name| (*name).to_owned()));
        for (name, running) in &self.running {
            match wanted_of.get(name.as_str()) {
                None => changes.removed.push(name.clone()),
                Some(wanted) if **wanted != running.configured => changes.changed.push(name.clone()),
                Some(_) => {}
            }
        }
        for name in changes.removed.iter().chain(&changes.changed) {
            let Some(running) = self.running.remove(name) else { continue };
            running.stop.cancel();
            // How it ended is reported by whoever watches it.
            let _ = running.task.await;
            let why = match wanted_of.get(name.as_str()) {
                None => "the cluster was removed from the configuration",
                Some(wanted) if wanted.differs_in_kubeconfig_alone(&running.configured) => {
                    "the kubeconfig of the cluster changed"
                }
                Some(_) => "the configuration of the cluster changed",
            };
            let gap =
                CoverageMark::gap(WatchKey::discovery(name, ""), to.clock.now(), reason::RESTARTED, why);
            if let Err(error) = to.appender.mark(gap).await {
                tracing::error!(cluster = name, %error, "recording that the cluster is no longer watched failed");
            }
        }
        self.plan(wanted);
        changes
    }
}
