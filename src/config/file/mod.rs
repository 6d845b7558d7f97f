//! The file as it is written, before it is checked.
//!
//! The doc comments of its fields are what `api/config.schema.json` and the tables of docs/configuration.md say; after
//! `Default:` comes what a key that is left out means, where that is no value.

mod access;
mod catalog;
mod clusters;
mod issuers;
mod kubernetes;
mod limits;
mod links;
mod rules;
mod tls;
mod values;
mod views;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

pub(super) use access::{Access, PROXY_GROUPS_HEADER, PROXY_USER_HEADER, Proxy, Token};
pub(super) use catalog::{Agents, Environment, NamespaceGrant, Project, Target};
pub(super) use clusters::{Cluster, ClusterFolder, Hub, Provider, Source, Watcher};
pub(super) use issuers::{CommandLine, Issuer, Jobs, Login, Users};
pub(super) use kubernetes::{
    AccessReview, AccountGrant, Kubernetes, ProxyAccessReview, RESOURCE, USERNAME_CLAIM, UserAccessReview,
    VERB,
};
pub(super) use limits::{Consistency, Limits, Metrics, Quotas, Retention, Traces};
pub(super) use links::{Link, Links};
pub(super) use rules::{Diff, Health, Ignored, LeaveOut, Redact};
pub(super) use tls::Tls;
use values::{Address, Path, Size};
pub(super) use views::{View, ViewFilter};

use crate::service::CacheSize;

/// The address that is listened on when none is given: this machine only.
pub(super) const LISTEN: &str = "127.0.0.1:7979";

/// The data directory when none is given, beside the configuration.
pub(super) const DATA: &str = "strandline-data";

/// The configuration of a Strandline server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Configuration of Strandline")]
pub(super) struct File {
    /// The address to listen on.
    #[schemars(with = "Option<Address>", extend("default" = LISTEN))]
    pub(super) listen: Option<Spanned<String>>,
    /// The data directory, with the log and the view.
    #[schemars(with = "Option<Path>", extend("default" = DATA))]
    pub(super) data: Option<String>,
    /// Host names to answer to; a request with another `Host` is refused. This machine's own names are always
    /// answered on a loopback address. Default: on a loopback address this machine's names, elsewhere any.
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    /// The certificate to listen with. Default: connections are not encrypted.
    #[serde(default)]
    #[schemars(with = "Tls")]
    pub(super) tls: Option<Tls>,
    /// Origins of sites whose pages may send requests with a token (CORS), such as `https://portal.example.com`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) cors_origins: Vec<Spanned<String>>,
    /// The kubeconfig of all clusters that name none. Default: `$KUBECONFIG`, then `~/.kube/config`.
    #[schemars(with = "Option<Path>")]
    pub(super) kubeconfig: Option<String>,
    /// Clusters to watch.
    #[serde(default)]
    pub(super) clusters: Vec<Cluster>,
    /// Folders of kubeconfigs, of which each file is a cluster.
    #[serde(default)]
    pub(super) cluster_folders: Vec<ClusterFolder>,
    /// Clusters whose objects are clusters to watch, such as those of Cluster API.
    #[serde(default)]
    pub(super) hubs: Vec<Hub>,
    /// Projects.
    #[serde(default)]
    pub(super) projects: Vec<Project>,
    /// GitLab agents and their clusters.
    #[serde(default)]
    pub(super) agents: Vec<Agents>,
    /// Environments.
    #[serde(default)]
    pub(super) environments: Vec<Environment>,
    /// How health is judged.
    #[serde(default)]
    pub(super) health: Health,
    /// A file of links between kinds.
    #[schemars(with = "Option<Path>")]
    pub(super) relations: Option<Spanned<String>>,
    /// Saved overviews.
    #[serde(default)]
    pub(super) views: Vec<View>,
    /// Links to elsewhere, such as logs and metrics.
    #[serde(default)]
    pub(super) links: Links,
    /// Tokens, and what is allowed without one.
    #[serde(default)]
    pub(super) access: Access,
    /// What is kept for how long. Default: 30 days, 10 GiB.
    #[serde(default)]
    pub(super) retention: Retention,
    /// Comparison of the record with the clusters. Default: once a day.
    #[serde(default)]
    pub(super) consistency: Consistency,
    /// What is hidden before it is recorded.
    #[serde(default)]
    pub(super) redact: Redact,
    /// What differences leave out.
    #[serde(default)]
    pub(super) diff: Diff,
    /// Limits on what API callers declare.
    #[serde(default)]
    pub(super) quotas: Quotas,
    /// Limits on what clients have open.
    #[serde(default)]
    pub(super) limits: Limits,
    /// How much of the log, the view and answers is kept in memory at most; at least `16MiB`.
    #[schemars(with = "Option<Size>", extend("default" = format!("{}MiB", CacheSize::default().mib())))]
    pub(super) cache_size: Option<Spanned<String>>,
    /// What `/metrics` shows.
    #[serde(default)]
    pub(super) metrics: Metrics,
    /// Traces by OTLP.
    #[serde(default)]
    #[schemars(with = "Traces")]
    pub(super) traces: Option<Traces>,
}
