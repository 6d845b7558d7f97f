//! Runs a service by a configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Options, Service, ServiceError, Watched, end};
use crate::api::Announcement;
use crate::config::{AccessConfig, ClusterConfig, Config, WatcherConfig};
use strandline_clock::SystemClock;
use strandline_watch::{ClusterConnection, Watcher};

/// What goes before what a configuration says.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Where to listen.
    pub listen: Option<SocketAddr>,
    /// Where log and view are kept.
    pub data: Option<PathBuf>,
    /// Whether everybody may read where others than this machine can reach the server and no token is configured.
    pub allow_anonymous_read: bool,
}

/// Serves what the configuration in this file says, until the process is asked to end.
///
/// # Errors
/// When the configuration cannot be carried out or a part fails.
pub fn serve(config: &Config, file: &Path, overrides: Overrides) -> Result<(), ServiceError> {
    end::run(|asked| async move {
        let clusters = config.clusters.iter().map(watched).collect();
        let options = Options {
            data: overrides.data.unwrap_or_else(|| config.data.clone()),
            listen: overrides.listen.unwrap_or(config.listen),
            catalog: config.catalog(),
            agent_folders: config.agent_folders.clone(),
            hosts: config.hosts.clone(),
            clusters,
            rules: config.rules.clone(),
            access: AccessConfig {
                allow_anonymous_read: config.access.allow_anonymous_read || overrides.allow_anonymous_read,
                ..config.access.clone()
            },
            access_file: Some(file.to_owned()),
            views: config.views.clone(),
            retention: config.retention.clone(),
            consistency: config.consistency,
            ignored: config.ignored.clone(),
            redact: config.redact.clone(),
            quotas: config.quotas,
            preparing: false,
            announcement: Announcement::default(),
        };
        tracing::info!(data = %options.data.display(), "recording");
        let starting = Service::start(options, Arc::new(SystemClock));
        let Some(started) = asked.run_until_cancelled(starting).await else { return Ok(()) };
        let service = started?;
        tracing::info!("listening on http://{}", service.address);
        service.run_until(asked.cancelled_owned()).await
    })
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
