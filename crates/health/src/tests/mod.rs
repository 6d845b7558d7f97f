//! What holds for every kind: deletion, kinds without health, wrong types.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]

mod argo_cd;
mod fuzz;
mod operators;
mod patience;

use serde_json::{Value, json};

use super::*;

/// The verdict of an object in one readable line.
pub(super) fn line(object: &Value) -> String {
    let Verdict { health, reason, message, rule, .. } = assess(&Object::parse(&object.to_string()).unwrap());
    let health = health.map_or("none", Health::as_str);
    format!("{rule}: {health} [{reason}] {message}").trim_end().to_owned()
}

#[test]
fn what_is_being_deleted_is_pending_whatever_its_kind() {
    for (api_version, kind) in [("v1", "Pod"), ("v1", "ConfigMap"), ("example.org/v1", "Thing")] {
        let mut object = json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"deletionTimestamp": "2026-11-20T14:05:00Z", "finalizers": ["example.org/keep"]}});
        assert_eq!(line(&object), "builtin/deletion: Progressing [PendingDeletion] Pending deletion");
        object["metadata"]["finalizers"] = json!([HOOK_FINALIZER]);
        assert!(
            !line(&object).contains("deletion"),
            "a hook that is held is judged as ever: {}",
            line(&object)
        );
    }
}

#[test]
fn kinds_without_health_say_so_in_their_own_group_only() {
    let silent = [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "LimitRange"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
        ("events.k8s.io/v1", "Event"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("coordination.k8s.io/v1", "Lease"),
    ];
    for (api_version, kind) in silent {
        let status = json!({"phase": "Failed"});
        assert_eq!(
            line(&json!({"apiVersion": api_version, "kind": kind, "status": status})),
            "none: none []",
            "{kind}"
        );
        let other = json!({"apiVersion": "example.org/v1", "kind": kind, "status": status});
        assert_eq!(line(&other), "conventions/phase: Degraded [Failed]", "{kind}");
    }
}

#[test]
fn every_version_of_a_kind_is_judged_by_its_rule() {
    for (api_version, kind) in [
        ("apps/v1beta2", "Deployment"),
        ("extensions/v1beta1", "Deployment"),
        ("extensions/v1beta1", "DaemonSet"),
        ("extensions/v1beta1", "Ingress"),
        ("networking.k8s.io/v1beta1", "Ingress"),
        ("batch/v1beta1", "CronJob"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
        ("policy/v1beta1", "PodDisruptionBudget"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
        ("v1", "ReplicationController"),
    ] {
        let found = line(&json!({"apiVersion": api_version, "kind": kind}));
        assert!(found.starts_with(&format!("builtin/{kind}: ")), "{api_version}: {found}");
    }
    assert_eq!(
        line(&json!({"apiVersion": "apps/v1", "kind": "Ingress", "status": {"phase": "Ready"}})),
        "conventions/phase: Healthy [Ready]"
    );
}

#[test]
fn a_state_of_the_wrong_type_is_unknown() {
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "three"}});
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
