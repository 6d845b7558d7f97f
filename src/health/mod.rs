//! Judges one object: a rule per kind, a file per rule.
//!
//! The rules of built-in kinds agree with those of Argo CD's gitops-engine, sentences included, since that is
//! what people compare with. A kind without a rule is Unknown, never Healthy by silence; a kind that can have
//! no health has none.

mod daemon_set;
mod deployment;
mod pod;
mod replica_set;
mod service;
mod stateful_set;

use serde_json::Value;

use crate::model::{Health, Verdict};
use crate::object::Object;

/// What a rule finds.
struct Finding {
    health: Health,
    reason: &'static str,
    message: String,
}

impl Finding {
    fn new(health: Health, reason: &'static str, message: impl Into<String>) -> Self {
        Finding { health, reason, message: message.into() }
    }

    fn healthy() -> Self {
        Finding::new(Health::Healthy, "", "")
    }

    fn progressing(message: impl Into<String>) -> Self {
        Finding::new(Health::Progressing, "Progressing", message)
    }

    fn degraded(reason: &'static str, message: impl Into<String>) -> Self {
        Finding::new(Health::Degraded, reason, message)
    }
}

type Rule = fn(&Object<'_>) -> Finding;

/// Rules by group and kind.
const RULES: &[(&str, &str, Rule)] = &[
    ("", "Pod", pod::assess),
    ("", "Service", service::assess),
    ("apps", "DaemonSet", daemon_set::assess),
    ("apps", "Deployment", deployment::assess),
    ("apps", "ReplicaSet", replica_set::assess),
    ("apps", "StatefulSet", stateful_set::assess),
];

/// Groups of which no kind has a state of its own.
const GROUPS_WITHOUT_HEALTH: &[&str] = &[
    "admissionregistration.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Kinds of other groups that only hold data, rules or records.
const KINDS_WITHOUT_HEALTH: &[(&str, &str)] = &[
    ("", "ConfigMap"),
    ("", "Endpoints"),
    ("", "Event"),
    ("", "LimitRange"),
    ("", "Namespace"),
    ("", "PodTemplate"),
    ("", "ResourceQuota"),
    ("", "Secret"),
    ("", "ServiceAccount"),
    ("apps", "ControllerRevision"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "NetworkPolicy"),
];

/// Judges an object.
pub fn assess(object: &Object<'_>) -> Verdict {
    let kind = object.kind();
    if object.is_being_deleted() {
        let finding = Finding::new(Health::Progressing, "Terminating", "Pending deletion");
        return verdict(finding, "builtin/deletion".to_owned());
    }
    if let Some((_, name, rule)) =
        RULES.iter().find(|(group, name, _)| *group == kind.group && *name == kind.kind)
    {
        return verdict(rule(object), format!("builtin/{name}"));
    }
    let none = GROUPS_WITHOUT_HEALTH.contains(&kind.group.as_str())
        || KINDS_WITHOUT_HEALTH.contains(&(kind.group.as_str(), kind.kind.as_str()));
    let health = (!none).then_some(Health::Unknown);
    let rule = if none { "none" } else { "unassessed" };
    Verdict { health, reason: String::new(), message: String::new(), rule: rule.to_owned() }
}

fn verdict(finding: Finding, rule: String) -> Verdict {
    Verdict {
        health: Some(finding.health),
        reason: finding.reason.to_owned(),
        message: finding.message,
        rule,
    }
}

/// A count; absent means zero, as Kubernetes leaves zeros out.
fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// Whether the state speaks of an earlier wish than the present one.
fn is_behind(object: &Object<'_>) -> bool {
    object.generation() > count(&object.status()["observedGeneration"])
}

#[cfg(test)]
mod tests;
