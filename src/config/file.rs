//! The file as it is written, before it is checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) listen: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    pub(super) data: Option<String>,
    pub(super) kubeconfig: Option<String>,
    #[serde(default)]
    pub(super) clusters: Vec<Cluster>,
    #[serde(default)]
    pub(super) projects: Vec<Project>,
    #[serde(default)]
    pub(super) agents: Vec<Agents>,
    #[serde(default)]
    pub(super) environments: Vec<Environment>,
    #[serde(default)]
    pub(super) health: Health,
    pub(super) relations: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) access: Access,
    #[serde(default)]
    pub(super) views: Vec<View>,
    #[serde(default)]
    pub(super) retention: Retention,
    #[serde(default)]
    pub(super) consistency: Consistency,
    #[serde(default)]
    pub(super) diff: Diff,
    #[serde(default)]
    pub(super) redact: Redact,
    #[serde(default)]
    pub(super) quotas: Quotas,
}

/// What is hidden before it is recorded.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Redact {
    #[serde(default)]
    pub(super) names: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) keep: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) leave_out: Vec<LeaveOut>,
}

/// An entry of `leave_out`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeaveOut {
    pub(super) kind: Spanned<String>,
    #[serde(default)]
    pub(super) namespaces: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) names: Vec<Spanned<String>>,
}

/// What callers may declare, and how often.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quotas {
    pub(super) environments: Option<u64>,
    pub(super) agents: Option<u64>,
    pub(super) deployments: Option<u64>,
    pub(super) writes_per_minute: Option<u64>,
}

/// How what is recorded is compared with what clusters have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Consistency {
    pub(super) every: Option<Spanned<String>>,
}

/// What is kept for how long.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Retention {
    pub(super) age: Option<Spanned<String>>,
    pub(super) size: Option<Spanned<String>>,
    pub(super) at_least: Option<Spanned<String>>,
    pub(super) every: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) kinds: BTreeMap<String, Spanned<String>>,
}

/// What differences tell.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {
    #[serde(default)]
    pub(super) ignore: Vec<Spanned<String>>,
}

/// Who may ask.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Access {
    #[serde(default)]
    pub(super) tokens: Vec<Token>,
    pub(super) local: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) allow_anonymous_read: bool,
    #[serde(default)]
    pub(super) audit_reads: bool,
}

/// An entry of `tokens`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    pub(super) name: Spanned<String>,
    pub(super) hash: Spanned<String>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) expires: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) projects: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) groups: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) write: bool,
    #[serde(default)]
    pub(super) everything: bool,
}

/// An entry of `views`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct View {
    pub(super) name: Spanned<String>,
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) filter: ViewFilter,
    #[serde(default)]
    pub(super) group_by: Vec<Spanned<String>>,
}

/// What a view holds, by the names of the API's parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewFilter {
    #[serde(default)]
    pub(super) tier: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) region: Vec<String>,
    #[serde(default)]
    pub(super) project: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) group: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) cluster: Vec<String>,
    #[serde(default)]
    pub(super) agent: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) state: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) name: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) health: Vec<Spanned<String>>,
    pub(super) labels: Option<Spanned<String>>,
}

/// How health is judged and counted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Health {
    pub(super) scripts: Option<Spanned<String>>,
    pub(super) argocd_cm: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) ignore: Vec<Spanned<Ignored>>,
    pub(super) progressing_grace: Option<Spanned<String>>,
    pub(super) unschedulable_grace: Option<Spanned<String>>,
    pub(super) unreported_grace: Option<Spanned<String>>,
}

/// An entry of `ignore`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ignored {
    pub(super) kind: Option<Spanned<String>>,
    pub(super) labels: Option<Spanned<String>>,
}

/// An entry of `clusters`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cluster {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) region: String,
    pub(super) context: Option<Spanned<String>>,
    pub(super) kubeconfig: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) in_cluster: bool,
    pub(super) url: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) namespaces: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) allow_exec_plugins: bool,
    #[serde(default)]
    pub(super) watchers: Vec<Spanned<Watcher>>,
    #[serde(default)]
    pub(super) include: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) exclude: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) exclude_namespaces: Vec<Spanned<String>>,
    pub(super) labels: Option<Spanned<String>>,
}

impl Cluster {
    /// The way to the cluster that its own keys describe.
    pub(super) fn own(&self) -> Watcher {
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watcher {
    pub(super) context: Option<Spanned<String>>,
    pub(super) kubeconfig: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) in_cluster: bool,
    pub(super) url: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) namespaces: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) allow_exec_plugins: bool,
}

impl Watcher {
    /// The first of its keys that is written, if any.
    pub(super) fn first_key(&self) -> Option<&'static str> {
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

/// An entry of `projects`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    pub(super) path: Spanned<String>,
    pub(super) id: Option<u64>,
    #[serde(default)]
    pub(super) default_branch: String,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) namespaces: Vec<NamespaceGrant>,
}

/// An entry of a project's `namespaces`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamespaceGrant {
    pub(super) cluster: Option<Spanned<String>>,
    pub(super) agent: Option<Spanned<String>>,
    pub(super) namespace: Spanned<String>,
    #[serde(default)]
    pub(super) whole: bool,
}

/// An entry of `agents`: those of one project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agents {
    pub(super) project: Spanned<String>,
    pub(super) path: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) clusters: BTreeMap<String, Spanned<String>>,
    pub(super) clusters_by_name: Option<Spanned<bool>>,
}

/// The `metadata` of an environment.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

/// An entry of `environments`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Environment {
    pub(super) id: Option<Spanned<String>>,
    pub(super) project: Spanned<String>,
    pub(super) name: Spanned<String>,
    pub(super) tier: Option<Spanned<String>>,
    pub(super) region: Option<String>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    pub(super) state: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) external_url: String,
    #[serde(default)]
    pub(super) dynamic: bool,
    pub(super) auto_stop_at: Option<Spanned<String>>,
    pub(super) cluster: Option<Spanned<String>>,
    pub(super) agent: Option<Spanned<String>>,
    pub(super) namespace: Option<Spanned<String>>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) inventory: Option<Spanned<String>>,
    pub(super) flux_resource_path: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) targets: Vec<Target>,
}

impl Environment {
    /// The one target that its own keys describe, if they name a cluster or an agent.
    pub(super) fn own_target(&self) -> Option<Target> {
        (self.cluster.is_some() || self.agent.is_some()).then(|| Target {
            cluster: self.cluster.clone(),
            agent: self.agent.clone(),
            namespace: self.namespace.clone(),
            labels: self.labels.clone(),
            inventory: self.inventory.clone(),
            flux_resource_path: self.flux_resource_path.clone(),
        })
    }
}

/// An entry of an environment's `targets`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) cluster: Option<Spanned<String>>,
    pub(super) agent: Option<Spanned<String>>,
    pub(super) namespace: Option<Spanned<String>>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) inventory: Option<Spanned<String>>,
    pub(super) flux_resource_path: Option<Spanned<String>>,
}
