//! Projects, agents and environments.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Agent, Name, Path, Pattern, ProjectPath, State, Tier, Time, Url};

/// An entry of `projects`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Project {
    /// The project.
    #[schemars(with = "ProjectPath")]
    pub(in crate::config) path: Spanned<String>,
    /// GitLab's project number, which resources carry in `app.gitlab.com/project_id`.
    pub(in crate::config) id: Option<u64>,
    /// The branch that rules of agents mean.
    #[serde(default)]
    pub(in crate::config) default_branch: String,
    /// Labels to filter and group by; the project's environments inherit them.
    #[serde(default)]
    pub(in crate::config) labels: BTreeMap<String, String>,
    /// Namespaces at which the project's own tokens may point its environments, besides what agents grant.
    #[serde(default)]
    pub(in crate::config) namespaces: Vec<NamespaceGrant>,
}

/// An entry of a project's `namespaces`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct NamespaceGrant {
    /// The cluster; this or `agent` is required.
    #[schemars(with = "Option<Name>")]
    pub(in crate::config) cluster: Option<Spanned<String>>,
    /// An agent in place of `cluster`.
    #[schemars(with = "Option<Agent>")]
    pub(in crate::config) agent: Option<Spanned<String>>,
    /// A namespace, or a pattern such as `web-*`.
    #[schemars(with = "Pattern")]
    pub(in crate::config) namespace: Spanned<String>,
    /// Grant the whole namespace, not only what carries the environment's labels.
    #[serde(default)]
    pub(in crate::config) whole: bool,
}

/// An entry of `agents`: those of one project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Agents {
    /// The project that owns the agents.
    #[schemars(with = "ProjectPath")]
    pub(in crate::config) project: Spanned<String>,
    /// A checkout of that project, with `.gitlab/agents/<name>/config.yaml` in it.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) path: Option<Spanned<String>>,
    /// The cluster of each agent, by the name of the agent; an agent that is not named here leads to no cluster.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Name>")]
    pub(in crate::config) clusters: BTreeMap<String, Spanned<String>>,
    /// Agents of this checkout lead to the clusters of the same name.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub(in crate::config) clusters_by_name: Option<Spanned<bool>>,
}

/// An entry of `environments`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Environment {
    /// The project.
    #[schemars(with = "ProjectPath")]
    pub(in crate::config) project: Spanned<String>,
    /// The name, such as `production` or `production/us-region`.
    #[schemars(with = "String")]
    pub(in crate::config) name: Spanned<String>,
    /// The id in addresses and commands. Default: from project and name, as `shop.web.production`.
    #[schemars(with = "Option<Name>")]
    pub(in crate::config) id: Option<Spanned<String>>,
    /// The deployment tier. Default: guessed from the name by GitLab's table.
    #[schemars(with = "Option<Tier>")]
    pub(in crate::config) tier: Option<Spanned<String>>,
    /// Where it runs. Default: the label `region` or `topology.kubernetes.io/region`, the name, then the cluster's
    /// region.
    pub(in crate::config) region: Option<String>,
    /// What describes the environment itself.
    #[serde(default)]
    pub(in crate::config) metadata: Metadata,
    /// A stopped environment has no resources.
    #[schemars(with = "Option<State>", extend("default" = "available"))]
    pub(in crate::config) state: Option<Spanned<String>>,
    /// As in GitLab; without a login.
    #[serde(default)]
    #[schemars(with = "Url")]
    pub(in crate::config) external_url: String,
    /// As in GitLab.
    #[serde(default)]
    pub(in crate::config) dynamic: bool,
    /// As in GitLab.
    #[schemars(with = "Option<Time>")]
    pub(in crate::config) auto_stop_at: Option<Spanned<String>>,
    /// The cluster.
    #[schemars(with = "Option<Name>")]
    pub(in crate::config) cluster: Option<Spanned<String>>,
    /// An agent in place of `cluster`.
    #[schemars(with = "Option<Agent>")]
    pub(in crate::config) agent: Option<Spanned<String>>,
    /// The namespace. Default: required with `cluster` or `agent`, unless an inventory is given.
    #[schemars(with = "Option<Name>")]
    pub(in crate::config) namespace: Option<Spanned<String>>,
    /// Which resources of the namespace belong. Default: GitLab's two labels where the project has an `id`; else
    /// all resources.
    pub(in crate::config) labels: Option<BTreeMap<String, String>>,
    /// The mark of a GitOps tool, see below.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) inventory: Option<Spanned<String>>,
    /// The same as GitLab writes it: `helm.toolkit.fluxcd.io/v2/namespaces/shop/helmreleases/web`.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) flux_resource_path: Option<Spanned<String>>,
    /// Where the resources are, for several clusters or namespaces.
    #[serde(default)]
    pub(in crate::config) targets: Vec<Target>,
}

impl Environment {
    /// The one target that its own keys describe, if they name a cluster or an agent.
    pub(in crate::config) fn own_target(&self) -> Option<Target> {
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

/// The `metadata` of an environment.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Metadata {
    /// Labels of the environment itself, to filter and group by.
    #[serde(default)]
    pub(in crate::config) labels: BTreeMap<String, String>,
}

/// An entry of an environment's `targets`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Target {
    /// The cluster; this or `agent` is required.
    #[schemars(with = "Option<Name>")]
    pub(in crate::config) cluster: Option<Spanned<String>>,
    /// An agent in place of `cluster`.
    #[schemars(with = "Option<Agent>")]
    pub(in crate::config) agent: Option<Spanned<String>>,
    /// The namespace. Default: required, unless an inventory is given.
    #[schemars(with = "Option<Name>")]
    pub(in crate::config) namespace: Option<Spanned<String>>,
    /// Which resources of the namespace belong. Default: GitLab's two labels where the project has an `id`; else
    /// all resources.
    pub(in crate::config) labels: Option<BTreeMap<String, String>>,
    /// The mark of a GitOps tool, see below.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) inventory: Option<Spanned<String>>,
    /// The same as GitLab writes it: `helm.toolkit.fluxcd.io/v2/namespaces/shop/helmreleases/web`.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) flux_resource_path: Option<Spanned<String>>,
}
