//! The part of the file about folders of kubeconfigs: each file in one of them is a cluster.

use super::check::Check;
use super::file::File;
use super::settings::{ClusterConfig, WatcherConfig};
use crate::catalog::NamespaceEnvironments;
use crate::service::ClusterFolders;
use strandline_watch::{ClusterAccess, ConnectSettings, KubeconfigFolder};

impl Check {
    /// Reads the folders. A file never replaces a cluster that the configuration names itself, or one of a folder before.
    pub(super) fn cluster_folders(
        &mut self,
        file: &File,
        listed: &[ClusterConfig],
    ) -> (ClusterFolders, Vec<ClusterConfig>) {
        let (mut folders, mut clusters) = (ClusterFolders::default(), Vec::<ClusterConfig>::new());
        for folder in &file.cluster_folders {
            let template = self.cluster(&folder.as_cluster(), None);
            let path = self.path(&folder.path.value);
            if folders.paths.contains(&path) {
                let message = format!("duplicate folder `{}`", folder.path.value);
                self.report(folder.path.referenced, "duplicate", message);
                continue;
            }
            let found = KubeconfigFolder::read(&path).unwrap_or_else(|error| {
                let message = format!("the folder {} cannot be read: {error}", path.display());
                self.report(folder.path.referenced, "unreadable", message).hint = Some(
                    "create it, with a kubeconfig for each cluster, and let this user read it".to_owned(),
                );
                KubeconfigFolder::default()
            });
            folders.ignored.extend(found.ignored);
            for file in found.files {
                if listed.iter().chain(&clusters).any(|known| known.name == file.name) {
                    let (path, name) = (file.path.display(), &file.name);
                    folders
                        .ignored
                        .push(format!("{path}: there is another cluster `{name}`; rename the file"));
                    continue;
                }
                let access = ClusterAccess::Kubeconfig { path: Some(file.path), context: None };
                let connect = ConnectSettings {
                    self_contained: true,
                    allow_exec_plugins: folder.allow_exec_plugins,
                    ..ConnectSettings::new(access)
                };
                clusters.push(of_template(&template, file.name, &connect, file.digest));
            }
            folders.paths.push(path);
        }
        (folders, clusters)
    }
}

/// A cluster of this name, which is reached in this way, with what its folder or hub says of all of them.
pub(super) fn of_template(
    template: &ClusterConfig,
    name: String,
    connect: &ConnectSettings,
    kubeconfig_digest: [u8; 32],
) -> ClusterConfig {
    let watcher = |watcher: &WatcherConfig| WatcherConfig {
        connect: connect.clone(),
        namespaces: watcher.namespaces.clone(),
    };
    let shown = template.namespace_environments.clone();
    ClusterConfig {
        watchers: template.watchers.iter().map(watcher).collect(),
        namespace_environments: shown.map(|shown| NamespaceEnvironments { cluster: name.clone(), ..shown }),
        kubeconfig_digest: Some(kubeconfig_digest),
        name,
        ..template.clone()
    }
}
