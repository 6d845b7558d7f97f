//! A configuration after it was checked: settings of each part of the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::app::Presentation;
use crate::catalog::{AgentFolderConfig, NamespaceEnvironments, QuotaConfig};
use crate::http::Origins;
use crate::http::auth::AccessConfig;
use crate::http::tls::TlsConfig;
use crate::service::{
    CacheSize, ClusterFolders, ConnectionLimits, MetricsConfig, RetentionConfig, TracesConfig,
};
use strandline_model::{AgentSpec, CatalogFact, ClusterSpec, EnvironmentSpec, ProjectSpec};
use strandline_redact::Choices;
use strandline_view::ruleset::RuleSet;
use strandline_watch::{ConnectSettings, HubSettings, Selection};

/// A configuration that was found to be sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Under which names to answer besides this machine's own.
    pub hosts: Vec<String>,
    /// The files of the certificate.
    pub tls: Option<TlsConfig>,
    /// Sites whose pages may ask.
    pub origins: Origins,
    /// Where the log and the view are kept.
    pub data: PathBuf,
    /// Clusters to watch, those of the folders last.
    pub clusters: Vec<ClusterConfig>,
    /// Folders whose files are among these clusters.
    pub cluster_folders: ClusterFolders,
    /// Hubs, whose clusters are found while the server runs.
    pub hubs: Vec<HubConfig>,
    /// Projects.
    pub projects: Vec<ProjectSpec>,
    /// Agents that the file names itself.
    pub agents: Vec<AgentSpec>,
    /// Folders in which agents' configuration files are.
    pub agent_folders: Vec<AgentFolderConfig>,
    /// Environments.
    pub environments: Vec<EnvironmentSpec>,
    /// How objects are judged and counted.
    pub rules: RuleSet,
    /// Who may ask.
    pub access: AccessConfig,
    /// How answers look.
    pub presentation: Presentation,
    /// What is kept for how long.
    pub retention: RetentionConfig,
    /// How often each kind is compared with what its cluster has; none for once a day.
    pub consistency: Option<Duration>,
    /// What is hidden before it is recorded, besides what the program hides by itself.
    pub redact: Choices,
    /// What callers may declare, and how often.
    pub quotas: QuotaConfig,
    /// How many connections and streams clients may have open.
    pub limits: ConnectionLimits,
    /// How much of the log, the view and answers is kept in memory at most.
    pub cache_size: CacheSize,
    /// What monitoring gets.
    pub metrics: MetricsConfig,
    /// Where traces are sent; none to send none.
    pub traces: Option<TracesConfig>,
}

/// A cluster to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Its name, unique in the configuration.
    pub name: String,
    /// Where it runs; empty when not said.
    pub region: String,
    /// The ways in which it is watched, at least one; no two of them watch the same namespace.
    pub watchers: Vec<WatcherConfig>,
    /// What is watched in it.
    pub selection: Selection,
    /// Which of its namespaces are environments; none where they are not.
    pub namespace_environments: Option<NamespaceEnvironments>,
    /// A digest of its kubeconfig where that is one of a folder.
    pub kubeconfig_digest: Option<[u8; 32]>,
}

/// A cluster whose objects are clusters to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubConfig {
    /// Its name, unique in the configuration.
    pub name: String,
    /// How it is read.
    pub settings: HubSettings,
    /// What all of its clusters have.
    pub template: ClusterConfig,
}

impl ClusterConfig {
    /// Whether any of the watchers looks into a namespace.
    pub fn watches(&self, namespace: &str) -> bool {
        let named = |watcher: &WatcherConfig| watcher.namespaces.iter().any(|name| name == namespace);
        let left_out = self.selection.exclude_namespaces.iter().any(|name| name == namespace);
        self.watchers.iter().any(|watcher| named(watcher) || (watcher.is_whole() && !left_out))
    }
}

/// A way to a cluster, with what is watched through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatcherConfig {
    /// How the cluster is reached.
    pub connect: ConnectSettings,
    /// The only namespaces to watch; empty for the whole cluster.
    pub namespaces: Vec<String>,
}

impl WatcherConfig {
    /// Whether it watches the whole cluster.
    pub fn is_whole(&self) -> bool {
        self.namespaces.is_empty()
    }
}

impl Config {
    /// All that it declares for the catalog.
    pub fn catalog(&self) -> Vec<CatalogFact> {
        let cluster = |c: &ClusterConfig| ClusterSpec { name: c.name.clone(), region: c.region.clone() };
        let clusters = self.clusters.iter().map(|config| CatalogFact::Cluster(cluster(config)));
        let projects = self.projects.iter().cloned().map(CatalogFact::Project);
        let agents = self.agents.iter().cloned().map(|agent| CatalogFact::Agent(Box::new(agent)));
        let environments = self.environments.iter().cloned().map(CatalogFact::from);
        clusters.chain(projects).chain(agents).chain(environments).collect()
    }
}
