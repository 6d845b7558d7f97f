//! What a service is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::cache_size::CacheSize;
use super::retention::RetentionConfig;
use super::traces::{TraceExporter, TracesConfig};
use crate::app::{Announcement, Presentation};
use crate::catalog::{AgentFolderConfig, NamespaceEnvironments, QuotaConfig};
use crate::http::auth::AccessConfig;
use crate::http::tls::TlsConfig;
use crate::http::{LoadLimits, Origins};
use strandline_model::CatalogFact;
use strandline_redact::Choices;
use strandline_view::ruleset::RuleSet;
use strandline_watch::{ConnectSettings, HubClusters, HubSettings, Selection, Watcher};

/// Reads all of a configuration at this path, with what hubs have, or says what is wrong with it.
pub type ReadOptions = dyn Fn(&str, &Path, &FoundInHubs) -> Result<Options, String> + Send + Sync;

/// The clusters of each hub, by its name.
pub type FoundInHubs = BTreeMap<String, HubClusters>;

/// A file that says how the service is to run, which is read again whenever it changes.
#[derive(Clone)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// Reads of its text who may ask and checks no more of it than that, or says what is wrong with it.
    pub access: fn(&str, &Path) -> Result<AccessConfig, String>,
    /// Reads all of its text, or says what is wrong with it.
    pub options: Arc<ReadOptions>,
}

impl fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What only a restart puts into effect.
#[derive(Clone, Debug)]
pub(super) struct FixedSettings {
    data: PathBuf,
    listen: SocketAddr,
    hosts: Vec<String>,
    tls: Option<TlsConfig>,
    origins: Origins,
    redact: Choices,
    traces: Option<TracesConfig>,
    limits: ConnectionLimits,
    cache_size: CacheSize,
}

impl FixedSettings {
    pub(super) fn of(options: &Options) -> Self {
        FixedSettings {
            data: options.data.clone(),
            listen: options.listen,
            hosts: options.hosts.clone(),
            tls: options.tls.clone(),
            origins: options.origins.clone(),
            redact: options.redact.clone(),
            traces: options.traces.clone(),
            limits: options.limits,
            cache_size: options.cache_size,
        }
    }

    /// The keys of the configuration that say something else in the other one.
    pub(super) fn differing(&self, other: &FixedSettings) -> Vec<&'static str> {
        let same = [
            ("data", self.data == other.data),
            ("listen", self.listen == other.listen),
            ("hosts", self.hosts == other.hosts),
            ("tls", self.tls == other.tls),
            ("cors_origins", self.origins == other.origins),
            ("redact", self.redact == other.redact),
            ("traces", self.traces == other.traces),
            ("limits", self.limits == other.limits),
            ("cache_size", self.cache_size == other.cache_size),
        ];
        same.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
    }
}

/// What is configured of a cluster: while it is the same, the cluster goes on being watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedSettings {
    /// How each of its watchers connects, and to which namespaces.
    pub ways: Vec<(ConnectSettings, Vec<String>)>,
    /// What of it is followed.
    pub selection: Selection,
    /// How often each kind is compared with what the cluster has; none for once a day.
    pub consistency: Option<Duration>,
    /// A digest of its kubeconfig where that is one of a folder, whose files are followed.
    pub kubeconfig_digest: Option<[u8; 32]>,
}

impl WatchedSettings {
    /// Whether nothing but the content of the kubeconfig is another.
    pub(super) fn differs_in_kubeconfig_alone(&self, other: &WatchedSettings) -> bool {
        let kubeconfig_digest = other.kubeconfig_digest;
        self.kubeconfig_digest != kubeconfig_digest
            && WatchedSettings { kubeconfig_digest, ..self.clone() } == *other
    }
}

/// A cluster to be watched.
#[derive(Debug)]
pub struct Watched {
    /// Its name in the log.
    pub name: String,
    /// The ways into it.
    pub watchers: Vec<Watcher>,
    /// What is configured of it.
    pub settings: WatchedSettings,
}

/// Folders of kubeconfigs, of which each file is a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFolders {
    /// Where they are; they are read again whenever something in them changes.
    pub paths: Vec<PathBuf>,
    /// Files, and objects of hubs, that are no cluster, each with the reason.
    pub ignored: Vec<String>,
}

/// What monitoring gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsConfig {
    /// The most environments that `/metrics` names.
    pub environments_max: usize,
}

impl MetricsConfig {
    /// More than this no configuration may ask for: each is a series.
    pub const ENVIRONMENTS_MAX: usize = 20_000;
}

impl Default for MetricsConfig {
    fn default() -> Self {
        MetricsConfig { environments_max: 1000 }
    }
}

/// How many connections and streams clients may have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections; none for the usual number, or as many as the system allows.
    pub connections: Option<usize>,
    /// Streams of all callers.
    pub streams: usize,
    /// Streams of one caller.
    pub streams_each: usize,
}

impl ConnectionLimits {
    /// More than this no configuration may ask for.
    pub const CONNECTIONS_MAX: usize = 100_000;
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        let LoadLimits { streams, streams_each, .. } = LoadLimits::default();
        ConnectionLimits { connections: None, streams, streams_each }
    }
}

/// What a service is started with.
#[derive(Debug)]
pub struct Options {
    /// Where log and view are kept.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The catalog as it is to be.
    pub catalog: Vec<CatalogFact>,
    /// Whose namespaces are environments.
    pub namespace_environments: Vec<NamespaceEnvironments>,
    /// Folders of agents' configuration files.
    pub agent_folders: Vec<AgentFolderConfig>,
    /// Under which names to answer besides this machine's own.
    pub hosts: Vec<String>,
    /// The files of the certificate; none to listen without TLS.
    pub tls: Option<TlsConfig>,
    /// Sites whose pages may ask, by their origins.
    pub origins: Origins,
    /// Clusters to watch.
    pub clusters: Vec<Watched>,
    /// Folders whose files are among these clusters.
    pub cluster_folders: ClusterFolders,
    /// Hubs by their names, whose clusters are among these too as far as they are known.
    pub hubs: Vec<(String, HubSettings)>,
    /// How objects are judged and counted.
    pub rules: RuleSet,
    /// Who may ask.
    pub access: AccessConfig,
    /// The file that says all of this, which is read again whenever it changes.
    pub file: Option<ConfigFile>,
    /// How answers look.
    pub presentation: Presentation,
    /// What is kept for how long.
    pub retention: RetentionConfig,
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
    /// What takes them there.
    pub trace_exporter: Option<TraceExporter>,
    /// Whether `/readyz` is to wait for a word that all is prepared.
    pub preparing: bool,
    /// Whether the clocks of clusters are evidence of what time it is.
    pub witnesses: bool,
    /// What the start page says above all else.
    pub announcement: Announcement,
}

impl Options {
    /// A service over a directory that watches nothing, lets nobody ask, and is else as one without any settings.
    pub fn new(data: PathBuf, listen: SocketAddr) -> Self {
        Options {
            data,
            listen,
            catalog: Vec::new(),
            namespace_environments: Vec::new(),
            agent_folders: Vec::new(),
            hosts: Vec::new(),
            tls: None,
            origins: Origins::default(),
            clusters: Vec::new(),
            cluster_folders: ClusterFolders::default(),
            hubs: Vec::new(),
            rules: RuleSet::default(),
            access: AccessConfig::default(),
            file: None,
            presentation: Presentation::default(),
            retention: RetentionConfig::default(),
            redact: Choices::default(),
            quotas: QuotaConfig::default(),
            limits: ConnectionLimits::default(),
            cache_size: CacheSize::default(),
            metrics: MetricsConfig::default(),
            traces: None,
            trace_exporter: None,
            preparing: false,
            witnesses: true,
            announcement: Announcement::default(),
        }
    }
}
