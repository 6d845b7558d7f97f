//! Deployments, and whether their jobs were authorised.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, EnvironmentId};
use crate::time::Timestamp;
use strandline_syntax::keywords;

/// Identifies a deployment among those of its project: GitLab's number of it, or one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeploymentId(pub u64);

impl fmt::Display for DeploymentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The status of a deployment, in GitLab's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeploymentStatus {
    /// Not begun.
    Created,
    /// Waits for an approval.
    Blocked,
    /// Under way.
    Running,
    /// Ended well.
    Success,
    /// Ended badly.
    Failed,
    /// Was ended.
    Canceled,
    /// Was passed over.
    Skipped,
}

keywords!(
    DeploymentStatus, "deployment status", Ignored,
    Created => "created",
    Blocked => "blocked",
    Running => "running",
    Success => "success",
    Failed => "failed",
    Canceled => "canceled",
    Skipped => "skipped",
);

impl DeploymentStatus {
    /// Whether nothing follows on it.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            DeploymentStatus::Success
                | DeploymentStatus::Failed
                | DeploymentStatus::Canceled
                | DeploymentStatus::Skipped
        )
    }
}

/// A deployment to an environment in its present status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentSpec {
    /// Which one.
    pub id: DeploymentId,
    /// Where to.
    pub environment: EnvironmentId,
    /// Full path of the project whose job deploys, which need not be that of the environment.
    pub project: String,
    /// Its status.
    pub status: DeploymentStatus,
    /// Branch or tag.
    #[serde(rename = "ref", default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// Whether that is a tag.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tag: bool,
    /// Commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha: String,
    /// The job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<DeploymentJob>,
    /// Who began it; empty when not given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// When it was created, where that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it ended, where that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Where it deploys to; only where the agent's configuration authorises the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentDeployment>,
    /// The authorization of the job by the agent's configuration; none where it asked for no agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Authorization>,
}

impl DeploymentSpec {
    /// The name under which it is declared: its number first, so that all of one number are found together.
    pub fn name(&self) -> String {
        Self::name_of(self.id, &self.project)
    }

    /// The name of the deployment that has a number in a project.
    pub fn name_of(id: DeploymentId, project: &str) -> String {
        format!("{id}:{project}")
    }

    /// The number and the project that a name is made of.
    pub fn parts_of(name: &str) -> Option<(DeploymentId, &str)> {
        let (number, project) = name.split_once(':')?;
        Some((DeploymentId(number.parse().ok()?), project))
    }
}

/// A job that deploys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentJob {
    /// GitLab's number of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The agent and the namespace of a deployment (seed 002, `agent_deployments`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "AgentDeploymentText", from = "AgentDeploymentText")]
pub struct AgentDeployment {
    /// Which agent.
    pub agent: AgentId,
    /// The namespace, of at most 255 characters.
    pub kubernetes_namespace: String,
    /// Whether of this namespace only what carries GitLab's two labels of the environment counts.
    pub only_labelled: bool,
}

/// The same as it is written: with the parts of the agent's name, as clients of GitLab ask for them.
#[derive(Serialize, Deserialize)]
struct AgentDeploymentText {
    id: AgentId,
    #[serde(default)]
    name: String,
    #[serde(default)]
    project: String,
    kubernetes_namespace: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    only_labelled: bool,
}

impl From<AgentDeployment> for AgentDeploymentText {
    fn from(deployment: AgentDeployment) -> Self {
        let AgentDeployment { agent, kubernetes_namespace, only_labelled } = deployment;
        let (name, project) = (agent.name().to_owned(), agent.project().to_owned());
        AgentDeploymentText { id: agent, name, project, kubernetes_namespace, only_labelled }
    }
}

impl From<AgentDeploymentText> for AgentDeployment {
    fn from(text: AgentDeploymentText) -> Self {
        let AgentDeploymentText { id: agent, kubernetes_namespace, only_labelled, .. } = text;
        AgentDeployment { agent, kubernetes_namespace, only_labelled }
    }
}

impl AgentDeployment {
    /// The longest namespace that is recorded, in characters: the width of the seed's column.
    pub const NAMESPACE_MAX: usize = 255;
}

/// Whether an agent's configuration lets a job deploy, and by which of its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// The agent that was asked for.
    pub agent: AgentId,
    /// Whether the job may use it.
    pub allowed: bool,
    /// The number of the rule that decided, counted from 1; none where no rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// The entry of the configuration that decided, such as `projects shop/web`; empty where none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entry: String,
    /// The namespace that the configuration or the job gives; empty where none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The roles of the rule, with variables expanded; null where it has none.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub roles: serde_json::Value,
    /// Stable word.
    pub reason: String,
    /// Sentence for people.
    pub message: String,
    /// Variables on which the decision depends and that only the caller has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
}
