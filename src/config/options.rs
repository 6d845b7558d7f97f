//! What a service is started with, of a configuration and of what the command line puts over it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::load::parse_access;
use super::settings::{ClusterConfig, Config, WatcherConfig};
use crate::app::Announcement;
use crate::http::auth::AccessConfig;
use crate::service::{AccessFile, Options, Watched};
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
        let clusters = self.clusters.iter().map(watched).collect();
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
            rules: self.rules,
            access: AccessConfig {
                allow_anonymous_read: self.access.allow_anonymous_read || overrides.allow_anonymous_read,
                ..self.access
            },
            access_file: Some(AccessFile {
                path: file.to_owned(),
                parse: |text, path| parse_access(text, path).map_err(|error| error.to_string()),
            }),
            views: self.views,
            links: self.links,
            retention: self.retention,
            consistency: self.consistency,
            ignored: self.ignored,
            redact: self.redact,
            quotas: self.quotas,
            metrics: self.metrics,
            preparing: false,
            announcement: Announcement::default(),
        }
    }
}

/// The ways into a cluster; the credentials are read by its own task.
fn watched(cluster: &ClusterConfig) -> Watched {
    let way = |watcher: &WatcherConfig| Watcher {
        connection: ClusterConnection::deferred(watcher.connect.clone()),
        namespaces: watcher.namespaces.clone(),
    };
    Watched {
        name: cluster.name.clone(),
        watchers: cluster.watchers.iter().map(way).collect(),
        selection: cluster.selection.clone(),
    }
}
