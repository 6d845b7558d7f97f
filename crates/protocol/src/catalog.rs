//! Answers about the catalog: groups, projects, agents, deployments, and what stopped environments left behind.

use serde::{Deserialize, Serialize};

use strandline_model::{AgentId, DeploymentSpec, EnvironmentId, Labels, Source, Timestamp};

/// A group at a moment: what paths of projects have before a `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectGroup {
    /// Full path.
    pub id: String,
    /// The last part of it.
    pub name: String,
    /// The group that it is in; empty for one that is in none.
    pub parent: String,
    /// Projects below it, at any depth.
    pub projects: u64,
    /// Their environments.
    pub environments: u64,
}

impl ProjectGroup {
    /// A group in which nothing is counted yet.
    pub fn new(id: &str) -> Self {
        let (parent, name) = id.rsplit_once('/').unwrap_or(("", id));
        let (name, parent) = (name.to_owned(), parent.to_owned());
        ProjectGroup { id: id.to_owned(), name, parent, ..ProjectGroup::default() }
    }
}

/// A project at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// Full path.
    pub id: String,
    /// GitLab's number of it; none where it is not known.
    pub number: Option<u64>,
    /// Default branch; empty when not known.
    pub default_branch: String,
    /// Labels of users' own.
    pub labels: Labels,
    /// Who declares it.
    pub source: Source,
}

/// An agent at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// `path/to/project:agent-name`.
    pub id: AgentId,
    /// Its name.
    pub name: String,
    /// The project that owns it.
    pub project: String,
    /// GitLab's number of it; none where it is not known.
    pub number: Option<u64>,
    /// The cluster it connects to; empty when not known.
    pub cluster: String,
    /// Environments that it serves, as far as the caller sees them.
    pub environments: Vec<EnvironmentId>,
    /// What is wrong with its configuration file as it stands, while the last good one holds; empty when nothing is.
    pub problem: String,
    /// What is odd about the configuration that holds, with its places.
    pub warnings: Vec<String>,
    /// Its configuration file, the last good one; only where one agent is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Who declares it.
    pub source: Source,
}

/// What a stopped environment left in its clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// When it was stopped.
    pub stopped_at: Option<Timestamp>,
    /// The namespaces in which something of it is still there.
    pub namespaces: Vec<LeftNamespace>,
    /// How much of it is still there.
    pub resources: u64,
}

/// A namespace in which something of a stopped environment is still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftNamespace {
    /// Cluster.
    pub cluster: String,
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Resources of the environment that are still there.
    pub resources: u64,
    /// Whether the namespace is not to go as a whole: other environments look into it too, or something else is there. Who
    /// does not see everything could not know, so that it is true for them.
    pub shared: bool,
    /// What cleans up, for whoever may: Strandline itself never writes to a cluster. Empty where that would be a line of
    /// more than a hundred names.
    pub kubectl: String,
}

/// A deployment at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// All that is recorded of it.
    #[serde(flatten)]
    pub spec: DeploymentSpec,
    /// When its status was last reported.
    pub observed_at: Timestamp,
}
