//! An agent's configuration, as rules are asked of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::expression::Expression;
use crate::user::UserAccess;

/// The configuration of an agent, as far as it is about access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentConfig {
    /// Which jobs may deploy.
    pub ci_access: CiAccess,
    /// Which users may see; none are let in without it.
    pub user_access: Option<UserAccess>,
}

/// The `ci_access` of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiAccess {
    /// What happens to a job that matches none of an entry's rules: seed 004's options A and B.
    pub no_match: NoMatch,
    /// What happens to a namespace that Kubernetes would not take, where the rule does not say.
    pub long_namespace: LongNamespace,
    /// Entries for projects, in the order of the file.
    pub projects: Vec<Entry>,
    /// Entries for groups, in the order of the file.
    pub groups: Vec<Entry>,
    /// For all projects.
    pub instance: Option<Grant>,
}

/// What happens to a job that matches none of an entry's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoMatch {
    /// Denied: option A of seed 004.
    #[default]
    Deny,
    /// Allowed: option B of seed 004.
    Allow,
}

/// What happens to a namespace that is longer than 63 characters or not a DNS label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongNamespace {
    /// The job is denied.
    #[default]
    Abort,
    /// It is made a DNS label and gets a digest of the whole name.
    Truncate,
}

/// An entry of `projects` or `groups`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Full path of the project or group.
    pub id: String,
    /// What is granted to it.
    pub grant: Grant,
}

/// What an entry grants, and to which jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The namespace of jobs that name none and whose rule names none.
    pub default_namespace: Option<String>,
    /// As whom jobs act in the cluster; none for the agent itself.
    pub access_as: Option<AccessAs>,
    /// The only environments, by name or with `*`; empty for any, and for jobs without one.
    pub environments: Vec<String>,
    /// Whether only jobs of protected refs may deploy.
    pub protected_branches_only: bool,
    /// Whether GitLab manages resources for the environment.
    pub resource_management: bool,
    /// Rules, in order; the first that matches decides. Empty for no restriction.
    pub rules: Vec<Rule>,
}

/// As whom a job acts in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AccessAs {
    /// As the agent itself.
    Agent {},
    /// As the job.
    CiJob {},
    /// As the user who runs the job.
    CiUser {},
    /// As someone else.
    Impersonate(Impersonate),
}

/// Whom a job acts as in the cluster, where it is someone else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impersonate {
    /// The user's name.
    pub username: String,
    /// The user's uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The user's groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// More about the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<ExtraKeyVal>,
}

/// An extra field of an impersonated user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraKeyVal {
    /// Its name.
    pub key: String,
    /// Its values.
    pub val: Vec<String>,
}

/// A rule of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// An expression of GitLab's language; without it every job matches.
    pub condition: Option<Expression>,
    /// The namespace of jobs that match, with variables.
    pub namespace: Option<String>,
    /// RBAC to apply, carried as it is written: seed 004 leaves its form open.
    pub roles: Value,
    /// Whether jobs that match are allowed.
    pub when: When,
    /// What happens to a namespace that Kubernetes would not take; none for what the whole file says.
    pub on_long_namespace: Option<LongNamespace>,
}

/// Whether jobs that match a rule are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// They are.
    #[default]
    Always,
    /// They are not.
    Never,
}
