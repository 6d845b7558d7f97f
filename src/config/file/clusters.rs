//! Clusters and folders of them: how each is reached, and what is watched in it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Kind, LabelSelector, Name, Path, Pattern, ProjectPath, Url};

/// An entry of `clusters`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Cluster {
    /// A unique name.
    #[schemars(with = "Name")]
    pub(in crate::config) name: Spanned<String>,
    /// Where the cluster runs. Default: the Nodes' label `topology.kubernetes.io/region`, while all Nodes that
    /// carry it agree.
    #[serde(default)]
    pub(in crate::config) region: String,
    /// A context of the kubeconfig. Default: the kubeconfig's current context.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) context: Option<Spanned<String>>,
    /// The kubeconfig file. Default: the top-level `kubeconfig`.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) kubeconfig: Option<Spanned<String>>,
    /// Use the service account of the Pod that Strandline runs in.
    #[serde(default)]
    pub(in crate::config) in_cluster: bool,
    /// An API server that needs no credentials, such as `kubectl proxy`.
    #[schemars(with = "Option<Url>")]
    pub(in crate::config) url: Option<Spanned<String>>,
    /// Watch only these namespaces. Default: all.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) namespaces: Vec<Spanned<String>>,
    /// Permit the kubeconfig to run a program for credentials.
    #[serde(default)]
    pub(in crate::config) allow_exec_plugins: bool,
    /// Several connections instead of one.
    #[serde(default)]
    #[schemars(with = "Vec<Watcher>")]
    pub(in crate::config) watchers: Vec<Spanned<Watcher>>,
    /// Follow these kinds although they are excluded by default.
    #[serde(default)]
    #[schemars(with = "Vec<Kind>")]
    pub(in crate::config) include: Vec<Spanned<String>>,
    /// Do not follow these kinds; takes precedence over `include`.
    #[serde(default)]
    #[schemars(with = "Vec<Kind>")]
    pub(in crate::config) exclude: Vec<Spanned<String>>,
    /// Namespaces that a whole-cluster watcher leaves out.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) exclude_namespaces: Vec<Spanned<String>>,
    /// Record only objects that match. Default: all.
    #[schemars(with = "Option<LabelSelector>")]
    pub(in crate::config) labels: Option<Spanned<String>>,
    /// Show each watched namespace as an environment.
    pub(in crate::config) namespace_environments: Option<NamespaceEnvironments>,
}

/// An entry of `cluster_folders`; its keys besides `path` apply to every cluster of the folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ClusterFolder {
    /// The folder; a file `us-east.yaml` in it is the kubeconfig of the cluster `us-east`.
    #[schemars(with = "Path")]
    pub(in crate::config) path: Spanned<String>,
    /// Where the clusters run. Default: the Nodes' label `topology.kubernetes.io/region`, while all Nodes that
    /// carry it agree.
    #[serde(default)]
    pub(in crate::config) region: String,
    /// Watch only these namespaces. Default: all.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) namespaces: Vec<Spanned<String>>,
    /// Permit the kubeconfigs to run programs for credentials.
    #[serde(default)]
    pub(in crate::config) allow_exec_plugins: bool,
    /// Follow these kinds although they are excluded by default.
    #[serde(default)]
    #[schemars(with = "Vec<Kind>")]
    pub(in crate::config) include: Vec<Spanned<String>>,
    /// Do not follow these kinds; takes precedence over `include`.
    #[serde(default)]
    #[schemars(with = "Vec<Kind>")]
    pub(in crate::config) exclude: Vec<Spanned<String>>,
    /// Namespaces that are left out.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) exclude_namespaces: Vec<Spanned<String>>,
    /// Record only objects that match. Default: all.
    #[schemars(with = "Option<LabelSelector>")]
    pub(in crate::config) labels: Option<Spanned<String>>,
    /// Show each watched namespace as an environment.
    pub(in crate::config) namespace_environments: Option<NamespaceEnvironments>,
}

impl ClusterFolder {
    /// A cluster with the keys that all of its clusters have, at the place of the folder.
    pub(in crate::config) fn as_cluster(&self) -> Cluster {
        Cluster {
            name: self.path.clone(),
            region: self.region.clone(),
            context: None,
            kubeconfig: None,
            in_cluster: false,
            url: None,
            namespaces: self.namespaces.clone(),
            allow_exec_plugins: self.allow_exec_plugins,
            watchers: Vec::new(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            exclude_namespaces: self.exclude_namespaces.clone(),
            labels: self.labels.clone(),
            namespace_environments: self.namespace_environments.clone(),
        }
    }
}

/// A cluster's `namespace_environments`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct NamespaceEnvironments {
    /// The project of these environments; whoever sees it sees all of these namespaces.
    #[schemars(with = "ProjectPath")]
    pub(in crate::config) project: Spanned<String>,
    /// The namespaces. Default: all that are watched.
    #[serde(default)]
    #[schemars(with = "Vec<Pattern>")]
    pub(in crate::config) names: Vec<Spanned<String>>,
}

impl Cluster {
    /// The way to the cluster that its own keys describe.
    pub(in crate::config) fn own(&self) -> Watcher {
        Watcher {
            context: self.context.clone(),
            kubeconfig: self.kubeconfig.clone(),
            in_cluster: self.in_cluster,
            url: self.url.clone(),
            namespaces: self.namespaces.clone(),
            allow_exec_plugins: self.allow_exec_plugins,
        }
    }
}

/// An entry of a cluster's `watchers`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Watcher {
    /// A context of the kubeconfig. Default: the kubeconfig's current context.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) context: Option<Spanned<String>>,
    /// The kubeconfig file. Default: the top-level `kubeconfig`.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) kubeconfig: Option<Spanned<String>>,
    /// Use the service account of the Pod that Strandline runs in.
    #[serde(default)]
    pub(in crate::config) in_cluster: bool,
    /// An API server that needs no credentials, such as `kubectl proxy`.
    #[schemars(with = "Option<Url>")]
    pub(in crate::config) url: Option<Spanned<String>>,
    /// Watch only these namespaces. Default: all.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) namespaces: Vec<Spanned<String>>,
    /// Permit the kubeconfig to run a program for credentials.
    #[serde(default)]
    pub(in crate::config) allow_exec_plugins: bool,
}

impl Watcher {
    /// The first of its keys that is written, if any.
    pub(in crate::config) fn first_key(&self) -> Option<&'static str> {
        let written = [
            ("context", self.context.is_some()),
            ("kubeconfig", self.kubeconfig.is_some()),
            ("in_cluster", self.in_cluster),
            ("url", self.url.is_some()),
            ("namespaces", !self.namespaces.is_empty()),
            ("allow_exec_plugins", self.allow_exec_plugins),
        ];
        written.into_iter().find(|(_, written)| *written).map(|(key, _)| key)
    }
}
