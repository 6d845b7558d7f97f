//! Clusters, folders and hubs of them: how each is reached, and what is watched in it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Kind, LabelSelector, Name, Path, Pattern, ProjectPath, Url};

/// A type with the keys that every source of clusters has, after those of its own.
macro_rules! with_cluster_keys {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(in crate::config) struct $name {
            $($own)*
            /// Where it runs. Default: the Nodes' label `topology.kubernetes.io/region`, while all Nodes that carry it agree.
            #[serde(default)]
            pub(in crate::config) region: String,
            /// Watch only these namespaces. Default: all.
            #[serde(default)]
            #[schemars(with = "Vec<Name>")]
            pub(in crate::config) namespaces: Vec<Spanned<String>>,
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
    };
}

/// A cluster with the keys that every cluster of a source has, at the place of the source.
macro_rules! as_cluster {
    ($source:expr, $place:expr, $allow_exec_plugins:expr) => {
        Cluster {
            name: $place.clone(),
            context: None,
            kubeconfig: None,
            in_cluster: false,
            url: None,
            allow_exec_plugins: $allow_exec_plugins,
            watchers: Vec::new(),
            region: $source.region.clone(),
            namespaces: $source.namespaces.clone(),
            include: $source.include.clone(),
            exclude: $source.exclude.clone(),
            exclude_namespaces: $source.exclude_namespaces.clone(),
            labels: $source.labels.clone(),
            namespace_environments: $source.namespace_environments.clone(),
        }
    };
}

with_cluster_keys! {
    /// An entry of `clusters`.
    Cluster {
        /// A unique name.
        #[schemars(with = "Name")]
        pub(in crate::config) name: Spanned<String>,
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
        /// Permit the kubeconfig to run a program for credentials.
        #[serde(default)]
        pub(in crate::config) allow_exec_plugins: bool,
        /// Several connections instead of one.
        #[serde(default)]
        #[schemars(with = "Vec<Watcher>")]
        pub(in crate::config) watchers: Vec<Spanned<Watcher>>,
    }
}

with_cluster_keys! {
    /// An entry of `cluster_folders`; its keys besides `path` apply to every cluster of the folder.
    ClusterFolder {
        /// The folder; a file `us-east.yaml` in it is the kubeconfig of the cluster `us-east`.
        #[schemars(with = "Path")]
        pub(in crate::config) path: Spanned<String>,
        /// Permit the kubeconfigs to run programs for credentials.
        #[serde(default)]
        pub(in crate::config) allow_exec_plugins: bool,
    }
}

impl ClusterFolder {
    /// A cluster with the keys that all of its clusters have.
    pub(in crate::config) fn as_cluster(&self) -> Cluster {
        as_cluster!(self, self.path, self.allow_exec_plugins)
    }
}

with_cluster_keys! {
    /// An entry of `hubs`; the keys that clusters have too apply to every cluster of the hub.
    Hub {
        /// A unique name.
        #[schemars(with = "Name")]
        pub(in crate::config) name: Spanned<String>,
        /// What the clusters are in the hub.
        pub(in crate::config) source: Source,
        /// The only namespace of the hub to look in; not with the source `managed_clusters`. Default: all, and then a cluster's
        /// name begins with its namespace and a dot.
        #[schemars(with = "Option<Name>")]
        pub(in crate::config) namespace: Option<Spanned<String>>,
        /// Which objects of the hub are clusters. Default: all of the source.
        #[schemars(with = "Option<LabelSelector>")]
        pub(in crate::config) selector: Option<Spanned<String>>,
        /// With the source `secrets`, the key of the Secrets that has the kubeconfig. Default: `kubeconfig`.
        #[schemars(with = "Option<String>")]
        pub(in crate::config) key: Option<Spanned<String>>,
        /// With the source `managed_clusters`, the ManagedServiceAccount whose token is used. Default: `strandline`.
        #[schemars(with = "Option<String>")]
        pub(in crate::config) service_account: Option<Spanned<String>>,
        /// With the source `cluster_profiles`, programs that give credentials; the first that a ClusterProfile offers is run.
        #[serde(default)]
        pub(in crate::config) providers: Vec<Provider>,
        /// A context of the kubeconfig of the hub. Default: the kubeconfig's current context.
        #[schemars(with = "Option<String>")]
        pub(in crate::config) context: Option<Spanned<String>>,
        /// The kubeconfig file of the hub. Default: the top-level `kubeconfig`.
        #[schemars(with = "Option<Path>")]
        pub(in crate::config) kubeconfig: Option<Spanned<String>>,
        /// The hub is the cluster that Strandline runs in.
        #[serde(default)]
        pub(in crate::config) in_cluster: bool,
        /// A hub that needs no credentials, such as `kubectl proxy`.
        #[schemars(with = "Option<Url>")]
        pub(in crate::config) url: Option<Spanned<String>>,
        /// Permit the kubeconfig of the hub to run a program for credentials; those of its clusters never may.
        #[serde(default)]
        pub(in crate::config) allow_exec_plugins: bool,
    }
}

impl Hub {
    /// A cluster with the keys that all of its clusters have.
    pub(in crate::config) fn as_cluster(&self) -> Cluster {
        as_cluster!(self, self.name, false)
    }

    /// The way to the hub itself.
    pub(in crate::config) fn own(&self) -> Watcher {
        Watcher {
            context: self.context.clone(),
            kubeconfig: self.kubeconfig.clone(),
            in_cluster: self.in_cluster,
            url: self.url.clone(),
            namespaces: Vec::new(),
            allow_exec_plugins: self.allow_exec_plugins,
        }
    }
}

/// What the clusters of a hub are.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Source {
    ClusterApi,
    Argocd,
    Secrets,
    ClusterProfiles,
    ManagedClusters,
}

/// An entry of a hub's `providers`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Provider {
    /// The name under which ClusterProfiles offer it.
    pub(in crate::config) name: String,
    /// The program, as a credential plugin of kubectl.
    pub(in crate::config) command: String,
    /// Its arguments.
    #[serde(default)]
    pub(in crate::config) args: Vec<String>,
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
