//! What a service is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::access::AccessFile;
use super::retention::RetentionConfig;
use crate::app::{Announcement, LinkTemplates};
use crate::catalog::{AgentFolderConfig, NamespaceEnvironments, QuotaConfig};
use crate::http::Origins;
use crate::http::auth::AccessConfig;
use crate::http::tls::TlsConfig;
use strandline_model::{CatalogFact, SavedView};
use strandline_object_diff::PathRule;
use strandline_redact::Choices;
use strandline_view::ruleset::RuleSet;
use strandline_watch::{Selection, Watcher};

/// A cluster to be watched.
#[derive(Debug)]
pub struct Watched {
    /// Its name in the log.
    pub name: String,
    /// The ways into it.
    pub watchers: Vec<Watcher>,
    /// What of it is followed.
    pub selection: Selection,
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
    /// How objects are judged and counted.
    pub rules: RuleSet,
    /// Who may ask.
    pub access: AccessConfig,
    /// The file that says so, which is read again whenever it changes.
    pub access_file: Option<AccessFile>,
    /// Overviews by name.
    pub views: Vec<SavedView>,
    /// Links to elsewhere.
    pub links: LinkTemplates,
    /// What is kept for how long.
    pub retention: RetentionConfig,
    /// How often each kind is compared with what its cluster has; none for once a day.
    pub consistency: Option<Duration>,
    /// What differences leave out.
    pub ignored: Vec<PathRule>,
    /// What is hidden before it is recorded, besides what the program hides by itself.
    pub redact: Choices,
    /// What callers may declare, and how often.
    pub quotas: QuotaConfig,
    /// What monitoring gets.
    pub metrics: MetricsConfig,
    /// Whether `/readyz` is to wait for a word that all is prepared.
    pub preparing: bool,
    /// What the start page says above all else.
    pub announcement: Announcement,
}
