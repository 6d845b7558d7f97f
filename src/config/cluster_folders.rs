//! The part of the file about folders of kubeconfigs: each file in one of them is a cluster.

use super::check::Check;
use super::file::File;
use super::settings::{ClusterConfig, WatcherConfig};
use crate::catalog::NamespaceEnvironments;
use crate::service::ClusterFolders;
use strandline_watch::{ClusterAccess, ConnectSettings, KubeconfigFile, KubeconfigFolder};

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
                clusters.push(of_file(file, &template));
            }
            folders.paths.push(path);
        }
        (folders, clusters)
    }
}

/// The cluster of a file, with what its folder says of all of them.
fn of_file(file: KubeconfigFile, template: &ClusterConfig) -> ClusterConfig {
    let access = ClusterAccess::Kubeconfig { path: Some(file.path), context: None };
    let watcher = |watcher: &WatcherConfig| WatcherConfig {
        connect: ConnectSettings { access: access.clone(), self_contained: true, ..watcher.connect.clone() },
        namespaces: watcher.namespaces.clone(),
    };
    let shown = template.namespace_environments.clone();
    ClusterConfig {
        watchers: template.watchers.iter().map(watcher).collect(),
        namespace_environments: shown
            .map(|shown| NamespaceEnvironments { cluster: file.name.clone(), ..shown }),
        kubeconfig_digest: Some(file.digest),
        name: file.name,
        ..template.clone()
    }
}
