//! What was decided about a job, and why.

use serde::Serialize;
use serde_json::Value;

use super::agent_config::AccessAs;

/// Whether a job may deploy with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whether it may.
    pub allowed: bool,
    /// The number of the rule that decided, from 1 in its entry; none where no rule did.
    pub rule: Option<usize>,
    /// The namespace that it deploys to; none when denied, or when nobody names one.
    pub namespace: Option<String>,
    /// Stable word for why.
    pub reason: Reason,
    /// The same as a sentence.
    pub message: String,
    /// The entry of the configuration that decided, or was the first to refuse.
    pub entry: Option<EntryRef>,
    /// The namespace as it was before it was truncated.
    pub namespace_before: Option<String>,
    /// What the rule's `roles` say, with variables expanded; null where it says nothing.
    pub roles: Value,
    /// As whom the job acts in the cluster; none for the agent itself, which is the default.
    pub access_as: Option<AccessAs>,
    /// Whether GitLab manages resources for the environment.
    pub resource_management: bool,
    /// Variables that the rules asked for and that are not set.
    pub unset: Vec<String>,
    /// Variables on which the decision rests and which only whoever asks says: all but those of the project, the
    /// environment and the default branch.
    pub unverified: Vec<String>,
}

/// An entry of `ci_access`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryRef {
    /// Which list it is in.
    pub kind: EntryKind,
    /// Full path of the project or group, as the entry writes it; empty for the instance.
    pub id: String,
    /// Its number, from 1, among the entries of the same project or group.
    pub block: usize,
}

/// Which list of `ci_access` an entry is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// `projects`.
    Project,
    /// None: the agent belongs to the job's project.
    OwnProject,
    /// `groups`.
    Group,
    /// `instance`.
    Instance,
}

impl EntryKind {
    /// The word for it in JSON and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            EntryKind::Project => "project",
            EntryKind::OwnProject => "own_project",
            EntryKind::Group => "group",
            EntryKind::Instance => "instance",
        }
    }
}

/// Why a job may deploy, or may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The agent belongs to the job's project, which no entry restricts.
    OwnProject,
    /// The entry has no rules.
    NoRules,
    /// A rule matched.
    RuleMatched,
    /// No rule matched, and `no_match` is `allow`.
    NoMatchAllowed,
    /// No entry is for the project, its groups, or the instance.
    NotListed,
    /// The entry is for other environments.
    EnvironmentNotListed,
    /// The entry is for protected branches only.
    RefNotProtected,
    /// There are rules, none of them matched, and `no_match` is `deny`.
    NoRuleMatched,
    /// The rule that matched says `when: never`.
    RuleNever,
    /// A variable is used as a regular expression and is none.
    BadRegex,
    /// A variable is too long to be matched.
    ValueTooLong,
    /// Variables contain each other.
    VariableCycle,
    /// A value has no measure once expanded.
    ExpansionTooLong,
    /// The namespace is empty or not a DNS label.
    BadNamespace,
    /// The namespace is longer than 63 characters.
    LongNamespace,
    /// The job asks for another namespace than its rule grants.
    NamespaceNotGranted,
}

impl Reason {
    /// The word for it in JSON and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::OwnProject => "own_project",
            Reason::NoRules => "no_rules",
            Reason::RuleMatched => "rule_matched",
            Reason::NoMatchAllowed => "no_match_allowed",
            Reason::NotListed => "not_listed",
            Reason::EnvironmentNotListed => "environment_not_listed",
            Reason::RefNotProtected => "ref_not_protected",
            Reason::NoRuleMatched => "no_rule_matched",
            Reason::RuleNever => "rule_never",
            Reason::BadRegex => "bad_regex",
            Reason::ValueTooLong => "value_too_long",
            Reason::VariableCycle => "variable_cycle",
            Reason::ExpansionTooLong => "expansion_too_long",
            Reason::BadNamespace => "bad_namespace",
            Reason::LongNamespace => "long_namespace",
            Reason::NamespaceNotGranted => "namespace_not_granted",
        }
    }
}
