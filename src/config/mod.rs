//! The configuration file: which clusters to watch and which environments there are.
//!
//! [`load`] reads a file, checks all of it, and tells every mistake with its line. What is left out gets a
//! default that is said at the key.

mod catalog;
mod check;
mod clusters;
mod consistency;
mod diff;
mod error;
mod file;
mod quotas;
mod redact;
mod retention;
mod rules;
mod scripts;
mod targets;
mod tokens;
mod views;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::ConfigError;
pub use quotas::QuotaConfig;
pub use retention::RetentionConfig;
pub use scripts::{ReadScriptsError, read_all_scripts, read_customizations, read_scripts};
pub use tokens::{AccessConfig, EXPIRY_NOTICE, LocalAccess, TOKEN_PREFIX, TokenConfig, TokenHash};

use strandline_model::{AgentSpec, CatalogFact, ClusterSpec, EnvironmentSpec, ProjectSpec, SavedView};
use strandline_object_diff::PathRule;
use strandline_redact::Choices;
use strandline_relations::{MAX_RELATIONS_BYTES, RelationError, Relations};
use strandline_syntax::diagnostics::{Mistake, of_syntax};
use strandline_view::ruleset::RuleSet;
use strandline_watch::{ConnectSettings, Selection};

/// The address listened on when none is given: this machine only.
pub const LISTEN: &str = "127.0.0.1:7979";

/// The data directory when none is given, beside the configuration.
const DATA: &str = "strandline-data";

/// A configuration that was found to be sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Under which names to answer besides this machine's own.
    pub hosts: Vec<String>,
    /// Where the log and the view are kept.
    pub data: PathBuf,
    /// Clusters to watch.
    pub clusters: Vec<ClusterConfig>,
    /// Projects.
    pub projects: Vec<ProjectSpec>,
    /// Agents that the file names itself.
    pub agents: Vec<AgentSpec>,
    /// Folders in which agents' configuration files stand.
    pub agent_folders: Vec<AgentFolderConfig>,
    /// Environments.
    pub environments: Vec<EnvironmentSpec>,
    /// How objects are judged and counted.
    pub rules: RuleSet,
    /// Who may ask.
    pub access: AccessConfig,
    /// Overviews by name.
    pub views: Vec<SavedView>,
    /// What is kept for how long.
    pub retention: RetentionConfig,
    /// How often each kind is compared with what its cluster has; none for once a day.
    pub consistency: Option<Duration>,
    /// What differences do not tell.
    pub ignored: Vec<PathRule>,
    /// What is hidden before it is recorded, besides what the program hides by itself.
    pub redact: Choices,
    /// What callers may declare, and how often.
    pub quotas: QuotaConfig,
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
}

impl ClusterConfig {
    /// Whether any of the watchers looks into a namespace.
    pub fn watches(&self, namespace: &str) -> bool {
        let named = |watcher: &WatcherConfig| watcher.namespaces.iter().any(|name| name == namespace);
        let left_out = self.selection.exclude_namespaces.iter().any(|name| name == namespace);
        self.watchers.iter().any(|watcher| named(watcher) || (watcher.is_whole() && !left_out))
    }
}

/// A checkout with the configuration files of a project's agents, laid out as GitLab has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolderConfig {
    /// Full path of the project.
    pub project: String,
    /// The checkout; `.gitlab/agents/<name>/config.yaml` stands below it.
    pub path: PathBuf,
    /// To which cluster each agent connects, by the agent's name; another agent leads to none.
    pub clusters: BTreeMap<String, String>,
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

/// Reads a configuration file.
///
/// # Errors
/// When the file cannot be read, or with every mistake found in it.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    parse(&text_of(path)?, path)
}

/// The text of a configuration file.
///
/// # Errors
/// When the file cannot be read.
pub fn text_of(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        option: "--config",
        source,
    })
}

/// Reads a file of relations that users define.
///
/// # Errors
/// When the file cannot be read, or with every mistake found in it.
pub fn read_relations(path: &Path) -> Result<Relations, ConfigError> {
    let unreadable =
        |source| ConfigError::Unreadable { path: path.to_owned(), option: "--relations", source };
    let mut text = String::new();
    // One byte more than may be is enough to tell that there are too many.
    let longest = MAX_RELATIONS_BYTES as u64 + 1;
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(longest).read_to_string(&mut text).map_err(unreadable)?;
    Relations::parse(&text)
        .map_err(|RelationError { mistakes }| ConfigError::Mistakes { path: path.to_owned(), mistakes })
}

/// Reads a configuration; `origin` is named in mistakes, and relative paths start from its folder.
///
/// # Errors
/// With every mistake found.
pub fn parse(text: &str, origin: &Path) -> Result<Config, ConfigError> {
    read(text, origin, check::check)
}

/// Reads of a configuration who may ask, and checks no more of it than that.
///
/// # Errors
/// With every mistake found there, or with why the whole cannot be read.
pub fn parse_access(text: &str, origin: &Path) -> Result<AccessConfig, ConfigError> {
    read(text, origin, |file, origin| check::check_access(&file, origin))
}

fn read<T>(
    text: &str,
    origin: &Path,
    check: impl FnOnce(file::File, &Path) -> Result<T, Vec<Mistake>>,
) -> Result<T, ConfigError> {
    let mistaken = |mistakes| ConfigError::Mistakes { path: origin.to_owned(), mistakes };
    let file = serde_saphyr::from_str(text).map_err(|error| mistaken(vec![of_syntax(&error)]))?;
    check(file, origin).map_err(mistaken)
}
