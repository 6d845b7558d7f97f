//! Follows the hubs: what clusters they have is read again whenever it changes.
//!
//! The names of the clusters are kept in the data directory, and nothing else of them: after a restart a cluster of a hub that
//! does not answer lies in a gap, as it would have if the hub had stopped to answer before, and does not leave the catalog.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::options::FoundInHubs;
use super::tasks::Tasks;
use strandline_watch::{Credentials, Hub, HubCluster, HubClusters, HubSettings};

/// The file with the names.
const FILE: &str = "hubs.json";

/// The least and the most time between two attempts to read a hub.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What the hubs have, as far as it was read; clones share it.
#[derive(Clone, Default)]
pub(super) struct HubStates(Arc<Mutex<States>>);

#[derive(Default)]
struct States {
    found: FoundInHubs,
    /// Whether the last attempt to read each hub succeeded.
    reachable: BTreeMap<String, bool>,
}

impl HubStates {
    fn lock(&self) -> MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each hub, and whether it could be read when that was last tried.
    pub(super) fn reachable(&self) -> Vec<(String, bool)> {
        self.lock().reachable.iter().map(|(name, reachable)| (name.clone(), *reachable)).collect()
    }
}

/// The hubs that are followed.
pub(super) struct HubFollower {
    data: PathBuf,
    states: HubStates,
    /// Those that are followed, each until its guard is dropped.
    following: BTreeMap<String, (HubSettings, DropGuard)>,
    remembered: BTreeMap<String, Vec<String>>,
}

impl HubFollower {
    /// Begins with what is remembered of them.
    pub(super) fn new(data: &Path, states: HubStates) -> Self {
        states.lock().found = remembered(data);
        HubFollower { data: data.to_owned(), states, following: BTreeMap::new(), remembered: names(data) }
    }

    /// Follows these from now on.
    pub(super) fn replace(&mut self, hubs: Vec<(String, HubSettings)>, tasks: &Tasks) {
        let is_wanted = |name: &String| hubs.iter().any(|(wanted, _)| wanted == name);
        self.following.retain(|name, _| is_wanted(name));
        {
            let mut states = self.states.lock();
            states.found.retain(|name, _| is_wanted(name));
            states.reachable.retain(|name, _| is_wanted(name));
        }
        for (name, settings) in hubs {
            if self.following.get(&name).is_some_and(|(known, _)| *known == settings) {
                continue;
            }
            let stop = tasks.stop().child_token();
            let (followed, states) = ((name.clone(), settings.clone()), self.states.clone());
            tasks.keep_until("hub", stop.clone(), move |stop| {
                let (name, settings) = followed.clone();
                follow(name, settings, states.clone(), stop)
            });
            self.following.insert(name, (settings, stop.drop_guard()));
        }
    }

    /// What they have now. The names are kept where they are others than before.
    pub(super) fn look(&mut self) -> FoundInHubs {
        let found = self.states.lock().found.clone();
        let of_hub =
            |of_hub: &HubClusters| of_hub.clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let names: BTreeMap<String, Vec<String>> =
            found.iter().map(|(hub, clusters)| (hub.clone(), of_hub(clusters))).collect();
        if names != self.remembered {
            match remember(&self.data, &names) {
                Ok(()) => self.remembered = names,
                Err(error) => tracing::debug!(%error, "keeping the names of hubs' clusters failed; retrying"),
            }
        }
        found
    }
}

async fn follow(name: String, settings: HubSettings, states: HubStates, stop: CancellationToken) {
    let hub = Hub::new(settings);
    let following = async {
        let (mut pause, mut reported) = (PAUSES.0, String::new());
        loop {
            let read = hub.read().await;
            states.lock().reachable.insert(name.clone(), read.is_ok());
            let failed = match read {
                Ok((clusters, version)) => {
                    let count = clusters.clusters.len();
                    let before = states.lock().found.insert(name.clone(), clusters);
                    if before.is_none() || !reported.is_empty() {
                        tracing::info!(hub = name, clusters = count, "the hub was read");
                    }
                    reported.clear();
                    pause = PAUSES.0;
                    hub.changed(&version).await.map_err(|error| format!("watching it failed: {error}"))
                }
                Err(error) => Err(format!("reading it failed: {error}")),
            };
            if let Err(error) = failed {
                if error != reported {
                    tracing::error!(
                        hub = name,
                        error,
                        "a hub cannot be followed; its clusters stay as they are; retrying"
                    );
                    reported = error;
                }
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(PAUSES.1);
            }
        }
    };
    stop.run_until_cancelled(following).await;
}

/// The clusters that the hubs had when a server last ran in this directory, whose credentials are not known.
pub fn remembered(data: &Path) -> FoundInHubs {
    let cluster = |hub: &str, name: String| HubCluster {
        name,
        origin: "its object".to_owned(),
        credentials: Credentials::missing(format!("the hub {hub} was not read since the server started")),
        runs_program: false,
    };
    let of_hub = |(hub, names): (String, Vec<String>)| {
        let clusters = names.into_iter().map(|name| cluster(&hub, name)).collect();
        (hub, HubClusters { clusters, ignored: Vec::new() })
    };
    names(data).into_iter().map(of_hub).collect()
}

/// The names that are kept; none where they cannot be read, which costs a gap and nothing else.
fn names(data: &Path) -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(data.join(FILE)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn remember(data: &Path, names: &BTreeMap<String, Vec<String>>) -> io::Result<()> {
    let beside = data.join(format!("{FILE}.new"));
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(&serde_json::to_vec(names)?)?;
    file.sync_all()?;
    fs::rename(beside, data.join(FILE))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_clusters_are_kept_and_nothing_else_of_them() {
        let data = tempfile::tempdir().unwrap();
        assert!(remembered(data.path()).is_empty());
        let mut follower = HubFollower::new(data.path(), HubStates::default());
        let cluster = HubCluster {
            name: "eu-1".into(),
            origin: "Secret fleet/eu-1".into(),
            credentials: Credentials::missing("tulip"),
            runs_program: false,
        };
        let found = HubClusters { clusters: vec![cluster], ignored: Vec::new() };
        follower.states.lock().found.insert("fleet".into(), found);
        follower.look();
        assert_eq!(fs::read_to_string(data.path().join(FILE)).unwrap(), r#"{"fleet":["eu-1"]}"#);
        let again = remembered(data.path());
        let problem = again["fleet"].clusters[0].credentials.problem().unwrap();
        assert_eq!(problem, "the hub fleet was not read since the server started");
        fs::write(data.path().join(FILE), "{").unwrap();
        assert!(remembered(data.path()).is_empty());
    }
}
