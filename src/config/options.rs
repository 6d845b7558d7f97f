//! What a service is started with, of a configuration and of what the command line puts over it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::hubs;
use super::load::{parse_access, parse_again};
use super::settings::{ClusterConfig, Config, WatcherConfig};
use crate::app::Announcement;
use crate::http::auth::AccessConfig;
use crate::service::{ConfigFile, FoundInHubs, Options, Watched, WatchedSettings, remembered};
use strandline_watch::{ClusterConnection, Watcher};

/// What the command line puts over a configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Where to listen.
    pub listen: Option<SocketAddr>,
    /// The data directory.
    pub data: Option<PathBuf>,
    /// Whether everybody may read where others than this machine can reach the server and no token is configured.
    pub allow_anonymous_read: bool,
}

impl Config {
    /// The options of a service; `file` is where the configuration was read.
    pub fn into_options(self, file: &Path, overrides: Overrides) -> Options {
        let found = remembered(overrides.data.as_ref().unwrap_or(&self.data));
        self.with_hubs(file, overrides, &found)
    }

    /// The same with these clusters of the hubs.
    fn with_hubs(mut self, file: &Path, overrides: Overrides, found: &FoundInHubs) -> Options {
        let again = overrides.clone();
        let options = move |text: &str, path: &Path, found: &FoundInHubs| match parse_again(text, path) {
            Ok(config) => Ok(config.with_hubs(path, again.clone(), found)),
            Err(error) => Err(error.to_string()),
        };
        let (of_hubs, ignored) = hubs::clusters(&self.hubs, found, &self.clusters);
        self.clusters.extend(of_hubs);
        self.cluster_folders.ignored.extend(ignored);
        let clusters = self.clusters.iter().map(|cluster| watched(cluster, self.consistency)).collect();
        let shown = self.clusters.iter().filter_map(|cluster| cluster.namespace_environments.clone());
        Options {
            catalog: self.catalog(),
            data: overrides.data.unwrap_or(self.data),
            listen: overrides.listen.unwrap_or(self.listen),
            namespace_environments: shown.collect(),
            agent_folders: self.agent_folders,
            hosts: self.hosts,
            tls: self.tls,
            origins: self.origins,
            clusters,
            cluster_folders: self.cluster_folders,
            hubs: self.hubs.into_iter().map(|hub| (hub.name, hub.settings)).collect(),
            rules: self.rules,
            access: AccessConfig {
                allow_anonymous_read: self.access.allow_anonymous_read || overrides.allow_anonymous_read,
                ..self.access
            },
            file: Some(ConfigFile {
                path: file.to_owned(),
                access: |text, path| parse_access(text, path).map_err(|error| error.to_string()),
                options: Arc::new(options),
            }),
            presentation: self.presentation,
            retention: self.retention,
            redact: self.redact,
            quotas: self.quotas,
            limits: self.limits,
            cache_size: self.cache_size,
            metrics: self.metrics,
            traces: self.traces,
            trace_exporter: None,
            preparing: false,
            witnesses: true,
            announcement: Announcement::default(),
        }
    }
}

/// The ways into a cluster; the credentials are read by its own task.
fn watched(cluster: &ClusterConfig, consistency: Option<Duration>) -> Watched {
    let way = |watcher: &WatcherConfig| Watcher {
        connection: ClusterConnection::deferred(watcher.connect.clone()),
        namespaces: watcher.namespaces.clone(),
    };
    // Another kubeconfig shows in the digest.
    let configured =
        |watcher: &WatcherConfig| (watcher.connect.without_credentials(), watcher.namespaces.clone());
    Watched {
        name: cluster.name.clone(),
        watchers: cluster.watchers.iter().map(way).collect(),
        settings: WatchedSettings {
            ways: cluster.watchers.iter().map(configured).collect(),
            selection: cluster.selection.clone(),
            consistency,
            kubeconfig_digest: cluster.kubeconfig_digest,
        },
    }
}
