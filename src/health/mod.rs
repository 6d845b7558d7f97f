//! What the state of an object says about its health.
//!
//! Built-in kinds are judged as Argo CD judges them, message for message, so that people who come from there
//! find what they know; the reason is ours. A kind that has no health says so, and what cannot be known is
//! Unknown, never Healthy by silence. Pure: no clock, no store.

mod autoscaler;
mod conventions;
mod daemon_set;
mod deployment;
mod fields;
mod ingress;
mod job;
mod persistent_volume_claim;
mod pod;
mod replica_set;
mod service;
mod stateful_set;

use crate::model::{Health, Verdict};
use crate::object::Object;
use fields::Malformed;

/// What a rule finds; the rule's own name is added by [`assess`].
#[derive(Debug)]
struct Finding {
    health: Health,
    reason: String,
    message: String,
}

impl Finding {
    fn new(health: Health, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { health, reason: reason.into(), message: message.into() }
    }

    fn healthy() -> Self {
        Finding::new(Health::Healthy, "", "")
    }

    fn progressing(reason: &str, message: impl Into<String>) -> Self {
        Finding::new(Health::Progressing, reason, message)
    }
}

/// The reason while a controller has not yet looked at the newest spec.
const NOT_OBSERVED: &str = "GenerationNotObserved";

type Rule = fn(&Object<'_>) -> Result<Finding, Malformed>;

/// Judges an object by its state alone.
pub fn assess(object: &Object<'_>) -> Verdict {
    if object.metadata.deletion_timestamp.is_some() {
        let finding = Finding::progressing("PendingDeletion", "Pending deletion");
        return verdict("builtin/deletion", finding);
    }
    let (rule, judge): (&str, Rule) = match (object.group(), object.kind.as_ref()) {
        ("", "PersistentVolumeClaim") => ("builtin/PersistentVolumeClaim", persistent_volume_claim::judge),
        ("", "Pod") => ("builtin/Pod", pod::judge),
        ("", "Service") => ("builtin/Service", service::judge),
        ("apps", "DaemonSet") => ("builtin/DaemonSet", daemon_set::judge),
        ("apps", "Deployment") => ("builtin/Deployment", deployment::judge),
        ("apps", "ReplicaSet") => ("builtin/ReplicaSet", replica_set::judge),
        ("apps", "StatefulSet") => ("builtin/StatefulSet", stateful_set::judge),
        ("autoscaling", "HorizontalPodAutoscaler") => ("builtin/HorizontalPodAutoscaler", autoscaler::judge),
        ("batch", "Job") => ("builtin/Job", job::judge),
        ("networking.k8s.io", "Ingress") => ("builtin/Ingress", ingress::judge),
        (group, kind) if has_no_health(group, kind) => {
            return Verdict {
                health: None,
                reason: String::new(),
                message: String::new(),
                rule: "none".to_owned(),
            };
        }
        _ => return by_conventions(object),
    };
    verdict(rule, judge(object).unwrap_or_else(Finding::from))
}

fn by_conventions(object: &Object<'_>) -> Verdict {
    match conventions::judge(object) {
        Ok(Some(finding)) => verdict("conventions/Ready", finding),
        Ok(None) => verdict("unassessed", Finding::new(Health::Unknown, "", "")),
        Err(malformed) => verdict("conventions/Ready", malformed.into()),
    }
}

fn verdict(rule: &str, finding: Finding) -> Verdict {
    let Finding { health, reason, message } = finding;
    Verdict { health: Some(health), reason, message, rule: rule.to_owned() }
}

/// Kinds that only hold data or rules: they have no state that could be good or bad.
fn has_no_health(group: &str, kind: &str) -> bool {
    match group {
        "" => matches!(
            kind,
            "ConfigMap"
                | "Endpoints"
                | "Event"
                | "LimitRange"
                | "Namespace"
                | "PodTemplate"
                | "ResourceQuota"
                | "Secret"
                | "ServiceAccount"
        ),
        "discovery.k8s.io" | "events.k8s.io" | "rbac.authorization.k8s.io" => true,
        "admissionregistration.k8s.io" => {
            kind.ends_with("WebhookConfiguration")
                || kind.ends_with("Binding")
                || kind == "MutatingAdmissionPolicy"
        }
        "apps" => kind == "ControllerRevision",
        "coordination.k8s.io" => matches!(kind, "Lease" | "LeaseCandidate"),
        "networking.k8s.io" => matches!(kind, "IPAddress" | "IngressClass" | "NetworkPolicy"),
        "node.k8s.io" => kind == "RuntimeClass",
        "scheduling.k8s.io" => kind == "PriorityClass",
        "storage.k8s.io" => matches!(
            kind,
            "CSIDriver" | "CSINode" | "CSIStorageCapacity" | "StorageClass" | "VolumeAttributesClass"
        ),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The verdict of an object in one readable line.
    pub(super) fn line(object: &Value) -> String {
        let Verdict { health, reason, message, rule } = assess(&Object::parse(&object.to_string()).unwrap());
        let health = health.map_or("none", Health::as_str);
        format!("{rule}: {health} [{reason}] {message}").trim_end().to_owned()
    }

    #[test]
    fn what_is_being_deleted_is_pending_whatever_its_kind() {
        for (api_version, kind) in [("v1", "Pod"), ("v1", "ConfigMap"), ("example.org/v1", "Thing")] {
            let object = json!({"apiVersion": api_version, "kind": kind,
                "metadata": {"deletionTimestamp": "2026-11-20T14:05:00Z"}});
            assert_eq!(line(&object), "builtin/deletion: Progressing [PendingDeletion] Pending deletion");
        }
    }

    #[test]
    fn kinds_without_health_say_so_and_others_are_unknown_by_their_group() {
        let cases = [
            ("v1", "ConfigMap", "none: none []"),
            ("v1", "Secret", "none: none []"),
            ("v1", "Namespace", "none: none []"),
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "none: none []"),
            ("discovery.k8s.io/v1", "EndpointSlice", "none: none []"),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "none: none []"),
            ("networking.k8s.io/v1", "NetworkPolicy", "none: none []"),
            ("example.org/v1", "Ingress", "unassessed: Unknown []"),
            ("example.org/v1", "ConfigMap", "unassessed: Unknown []"),
            ("example.org/v1", "Deployment", "unassessed: Unknown []"),
            ("v1", "Node", "unassessed: Unknown []"),
            ("", "", "unassessed: Unknown []"),
        ];
        for (api_version, kind, expected) in cases {
            assert_eq!(line(&json!({"apiVersion": api_version, "kind": kind})), expected, "{kind}");
        }
    }

    #[test]
    fn a_state_of_the_wrong_type_is_unknown() {
        let deployment =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "three"}});
        assert_eq!(
            line(&deployment),
            "builtin/Deployment: Unknown [Malformed] spec.replicas is not a whole number"
        );
        let containers = [
            (json!(4), "status.containerStatuses is not a list"),
            (json!([7]), "status.containerStatuses is not an object"),
            (json!([{"state": "waiting"}]), "status.containerStatuses.state is not an object"),
            (
                json!([{"state": {"waiting": {"reason": 7}}}]),
                "status.containerStatuses.state.waiting.reason is not text",
            ),
        ];
        for (containers, expected) in containers {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"containerStatuses": containers}});
            assert_eq!(line(&pod), format!("builtin/Pod: Unknown [Malformed] {expected}"));
        }
    }

    /// Argo CD's own cases; they lie beside the checkout, or where `STRANDLINE_SHARED` says.
    #[test]
    fn built_in_kinds_agree_with_argo_cd() {
        let shared = std::env::var_os("STRANDLINE_SHARED")
            .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")), PathBuf::from);
        let path = shared.join("data/health/argo-cd-cases.jsonl");
        let Ok(cases) = std::fs::read_to_string(&path) else {
            eprintln!("NOT TESTED against Argo CD's cases: {} is not there", path.display());
            return;
        };
        let mut compared = 0;
        for case in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let name = case["case"].as_str().unwrap();
            let text = case["object"].to_string();
            let verdict = assess(&Object::parse(&text).unwrap());
            if !name.starts_with("builtin/") || verdict.rule == "unassessed" {
                continue;
            }
            let health = verdict.health.map_or("", Health::as_str);
            assert_eq!(health, case["want"].as_str().unwrap(), "{name}: {verdict:?}");
            if let Some(message) = case["message"].as_str() {
                assert_eq!(verdict.message, message, "{name}");
            }
            compared += 1;
        }
        assert!(compared >= 15, "only {compared} cases are of kinds judged here");
    }

    /// Any JSON, with the words that rules look for made likely.
    fn anything() -> impl Strategy<Value = Value> {
        let word =
            prop::sample::select(vec!["Always", "Running", "Failed", "True", "Ready", "RollingUpdate", ""]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            Just(json!(1.5)),
            word.prop_map(Value::from),
        ];
        let name = prop::sample::select(vec![
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "observedGeneration",
            "conditions",
            "type",
            "status",
            "updateStrategy",
            "rollingUpdate",
            "partition",
            "phase",
            "restartPolicy",
            "containerStatuses",
            "state",
            "waiting",
            "terminated",
            "reason",
            "loadBalancer",
            "ingress",
            "desiredNumberScheduled",
        ]);
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..6).prop_map(|members| {
                    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_state_makes_a_rule_panic(spec in anything(), status in anything(), generation: i64) {
            for (api_version, kind) in [
                ("v1", "Pod"),
                ("v1", "Service"),
                ("apps/v1", "Deployment"),
                ("apps/v1", "ReplicaSet"),
                ("apps/v1", "StatefulSet"),
                ("apps/v1", "DaemonSet"),
            ] {
                let object = json!({"apiVersion": api_version, "kind": kind, "spec": spec, "status": status,
                    "metadata": {"generation": generation}});
                line(&object);
            }
        }
    }
}
