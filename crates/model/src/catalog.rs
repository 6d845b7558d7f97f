//! Facts of the catalog: declarations of projects, agents, environments and deployments, and their sources.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::deployment::DeploymentSpec;
use strandline_syntax::Glob;

use crate::environment::EnvironmentSpec;
use crate::ids::AgentId;
use crate::key::Kind;

/// A fact of the catalog, declared as a whole under its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CatalogFact {
    /// A cluster that is watched.
    Cluster(ClusterSpec),
    /// A project.
    Project(ProjectSpec),
    /// An agent.
    Agent(Box<AgentSpec>),
    /// An environment with its resource group.
    Environment(Box<EnvironmentSpec>),
    /// A deployment to an environment.
    Deployment(Box<DeploymentSpec>),
}

/// What a fact of the catalog is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CatalogKind {
    /// A cluster that is watched.
    Cluster,
    /// A project.
    Project,
    /// An agent.
    Agent,
    /// An environment.
    Environment,
    /// A deployment.
    Deployment,
}

impl CatalogKind {
    /// The group under which the log files facts of the catalog.
    pub const GROUP: &'static str = "catalog.strandline";

    /// All of them.
    pub const ALL: [CatalogKind; 5] = [
        CatalogKind::Cluster,
        CatalogKind::Project,
        CatalogKind::Agent,
        CatalogKind::Environment,
        CatalogKind::Deployment,
    ];

    /// The kind under which the log files such facts.
    pub const fn as_str(self) -> &'static str {
        match self {
            CatalogKind::Cluster => "Cluster",
            CatalogKind::Project => "Project",
            CatalogKind::Agent => "Agent",
            CatalogKind::Environment => "Environment",
            CatalogKind::Deployment => "Deployment",
        }
    }

    /// The same with its group.
    pub fn kind(self) -> Kind {
        Kind::new(Self::GROUP, self.as_str())
    }

    /// What facts of a kind are about; none for kinds of Kubernetes.
    pub fn of(kind: &Kind) -> Option<Self> {
        let named = |known: &CatalogKind| kind.group == Self::GROUP && kind.kind == known.as_str();
        CatalogKind::ALL.into_iter().find(named)
    }
}

impl fmt::Display for CatalogKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.as_str().to_ascii_lowercase())
    }
}

impl CatalogFact {
    /// What it is about.
    pub const fn kind(&self) -> CatalogKind {
        match self {
            CatalogFact::Cluster(_) => CatalogKind::Cluster,
            CatalogFact::Project(_) => CatalogKind::Project,
            CatalogFact::Agent(_) => CatalogKind::Agent,
            CatalogFact::Environment(_) => CatalogKind::Environment,
            CatalogFact::Deployment(_) => CatalogKind::Deployment,
        }
    }

    /// The name under which it is declared, unique among facts of its kind.
    pub fn name(&self) -> String {
        match self {
            CatalogFact::Cluster(cluster) => cluster.name.clone(),
            CatalogFact::Project(project) => project.path.clone(),
            CatalogFact::Agent(agent) => agent.id.to_string(),
            CatalogFact::Environment(environment) => environment.id.to_string(),
            CatalogFact::Deployment(deployment) => deployment.name(),
        }
    }

    /// Its parent: an agent and an environment under their project, a deployment under its environment.
    pub fn place(&self) -> &str {
        match self {
            CatalogFact::Cluster(_) | CatalogFact::Project(_) => "",
            CatalogFact::Agent(agent) => agent.id.project(),
            CatalogFact::Environment(environment) => &environment.project,
            CatalogFact::Deployment(deployment) => deployment.environment.as_str(),
        }
    }
}

impl From<EnvironmentSpec> for CatalogFact {
    fn from(spec: EnvironmentSpec) -> Self {
        CatalogFact::Environment(Box::new(spec))
    }
}

/// Labels of users' own.
pub type Labels = BTreeMap<String, String>;

/// Labels as a selector writes them: each as `name=value`, in the order of their names.
pub fn label_pairs(labels: &Labels) -> Vec<String> {
    labels.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// A cluster as the configuration declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterSpec {
    /// Its name, unique in the installation.
    pub name: String,
    /// Where it runs; empty when not given.
    pub region: String,
}

/// A project. The groups it is in are those that its path names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectSpec {
    /// Full path, such as `shop/web`.
    pub path: String,
    /// GitLab's number of it, which the label `app.gitlab.com/project_id` carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Default branch; empty when not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default_branch: String,
    /// Labels, which its environments have too unless they say otherwise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// Where those may point its environments who write of it and do not see everything, besides what agents grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceGrant>,
}

/// Namespaces of one cluster that the configuration grants to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceGrant {
    /// Name of the cluster; empty where an agent is granted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    /// The agent through which the cluster is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Which namespaces.
    pub namespace: Glob,
    /// Whether everything in them is granted, and not only what carries GitLab's two labels of an environment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// An agent: the connection to a cluster that a project owns and shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// `path/to/config/project:agent-name`.
    pub id: AgentId,
    /// GitLab's number of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The cluster it connects to, by the name under which it is watched; empty when not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    /// Its configuration file as it is written; empty when it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub configuration: String,
    /// What is wrong with the present file, while the one before it is in use; empty when nothing is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

impl AgentSpec {
    /// An agent of which nothing more is known.
    pub fn new(id: AgentId) -> Self {
        AgentSpec {
            id,
            number: None,
            cluster: String::new(),
            configuration: String::new(),
            problem: String::new(),
        }
    }
}
