//! The part of the file about hubs: clusters whose objects are clusters to watch.

use std::collections::{BTreeMap, HashMap};

use super::check::Check;
use super::cluster_folders::of_template;
use super::file::{File, Hub, Source};
use super::settings::{ClusterConfig, HubConfig};
use strandline_model::EnvironmentId;
use strandline_syntax::is_dns_label;
use strandline_watch::{
    ClusterAccess, ConnectSettings, CredentialProgram, HubClusters, HubSettings, HubSource,
};

/// The key of a Secret that has the kubeconfig, where none is named.
const KEY: &str = "kubeconfig";

/// The ManagedServiceAccount whose token is used, where none is named.
const SERVICE_ACCOUNT: &str = "strandline";

impl Check {
    pub(super) fn hubs(&mut self, file: &File) -> Vec<HubConfig> {
        let mut lines: HashMap<&str, u64> = HashMap::new();
        let mut hubs = Vec::new();
        for hub in &file.hubs {
            let (name, at) = (hub.name.value.as_str(), hub.name.referenced);
            if !EnvironmentId::new(name).is_plain() {
                self.report(at, "bad_name", format!("invalid name of a hub `{name}`")).hint =
                    Some("use letters, digits, `-`, `_` and `.`".to_owned());
            }
            if let Some(line) = lines.insert(name, at.line()) {
                self.report(at, "duplicate", format!("duplicate hub `{name}`, first in line {line}"));
            }
            let access =
                self.access(&hub.own(), at, &format!("the hub `{name}`"), file.kubeconfig.as_deref());
            if let Some(namespace) = &hub.namespace {
                self.namespace(namespace);
                if hub.source == Source::ManagedClusters {
                    let message = "`namespace` has no meaning with the source `managed_clusters`";
                    self.report(namespace.referenced, "conflict", message).hint =
                        Some("remove it; `selector` chooses among ManagedClusters".to_owned());
                }
            }
            let connect = ConnectSettings {
                allow_exec_plugins: hub.allow_exec_plugins,
                ..ConnectSettings::new(access)
            };
            let settings = HubSettings {
                connect,
                source: self.source(hub),
                namespace: hub.namespace.as_ref().map(|namespace| namespace.value.clone()),
                selector: self.labels(hub.selector.as_ref()).to_string(),
            };
            let template = self.cluster(&hub.as_cluster(), None);
            hubs.push(HubConfig { name: name.to_owned(), settings, template });
        }
        hubs
    }

    fn source(&mut self, hub: &Hub) -> HubSource {
        let at = hub.name.referenced;
        if let Some(key) = hub.key.as_ref().filter(|_| hub.source != Source::Secrets) {
            let message = "`key` has a meaning with the source `secrets` alone";
            self.report(key.referenced, "conflict", message).hint = Some("remove it".to_owned());
        }
        if let Some(account) = &hub.service_account {
            if hub.source != Source::ManagedClusters {
                let message = "`service_account` has a meaning with the source `managed_clusters` alone";
                self.report(account.referenced, "conflict", message).hint = Some("remove it".to_owned());
            }
            if account.value.len() > 253 || !account.value.split('.').all(is_dns_label) {
                let message = format!("invalid name of a ManagedServiceAccount `{}`", account.value);
                self.report(account.referenced, "bad_name", message).hint =
                    Some("use lower-case letters, digits, `-` and `.`".to_owned());
            }
        }
        if (hub.source == Source::ClusterProfiles) == hub.providers.is_empty() {
            let message = match hub.source {
                Source::ClusterProfiles => "the source `cluster_profiles` needs `providers`",
                _ => "`providers` have a meaning with the source `cluster_profiles` alone",
            };
            self.report(at, "conflict", format!("the hub `{}`: {message}", hub.name.value)).hint =
                Some("a provider has a `name` and the `command` that gives its credentials".to_owned());
        }
        match hub.source {
            Source::ClusterApi => HubSource::ClusterApi,
            Source::Argocd => HubSource::Argocd,
            Source::Secrets => {
                HubSource::Secrets(hub.key.as_ref().map_or(KEY.to_owned(), |key| key.value.clone()))
            }
            Source::ManagedClusters => {
                let account = hub.service_account.as_ref();
                HubSource::ManagedClusters(
                    account.map_or(SERVICE_ACCOUNT.to_owned(), |name| name.value.clone()),
                )
            }
            Source::ClusterProfiles => {
                let program = |provider: &super::file::Provider| CredentialProgram {
                    provider: provider.name.clone(),
                    command: provider.command.clone(),
                    args: provider.args.clone(),
                };
                HubSource::ClusterProfiles(hub.providers.iter().map(program).collect())
            }
        }
    }
}

/// The clusters of the hubs, and objects that are none. None of them replaces a cluster that was there before it.
pub(super) fn clusters(
    hubs: &[HubConfig],
    found: &BTreeMap<String, HubClusters>,
    listed: &[ClusterConfig],
) -> (Vec<ClusterConfig>, Vec<String>) {
    let (mut clusters, mut ignored) = (Vec::<ClusterConfig>::new(), Vec::new());
    for hub in hubs {
        let Some(of_hub) = found.get(&hub.name) else { continue };
        ignored.extend(of_hub.ignored.iter().map(|why| format!("hub {}, {why}", hub.name)));
        for cluster in &of_hub.clusters {
            let (name, origin) = (&cluster.name, format!("hub {}, {}", hub.name, cluster.origin));
            if listed.iter().chain(&clusters).any(|known| known.name == *name) {
                ignored.push(format!("{origin}: there is another cluster `{name}`"));
                continue;
            }
            let credentials = cluster.credentials.clone();
            let digest = credentials.digest();
            let connect = ConnectSettings {
                allow_exec_plugins: cluster.runs_program,
                ..ConnectSettings::new(ClusterAccess::Hub { origin, credentials })
            };
            clusters.push(of_template(&hub.template, name.clone(), &connect, digest));
        }
    }
    (clusters, ignored)
}
