//! Objects with wrong types in any place, members left out, deep nesting: always a verdict, never a better one.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::assess;
use strandline_model::{Health, Verdict};
use strandline_object::Object;

fn object(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "it", "generation": 2},
        "spec": spec, "status": status})
}

fn condition(of_type: &str, status: &str) -> Value {
    json!({"type": of_type, "status": status, "reason": "Why", "message": "so", "observedGeneration": 2})
}

/// Objects that are not as they should be, each for one reason.
fn unwell() -> Vec<Value> {
    let conditions = |list: Value| json!({ "conditions": list });
    let waiting =
        json!([{"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "m"}}}]);
    let ended = json!([{"name": "main", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]);
    let behind = json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 1, "updatedReplicas": 1,
        "availableReplicas": 1, "desiredNumberScheduled": 3, "updatedNumberScheduled": 1});
    let scaling = json!([{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}]);
    let parents = json!([{"parentRef": {"name": "gw"}, "conditions": [condition("ResolvedRefs", "False")]}]);
    let mut all = vec![
        object(
            "v1",
            "Pod",
            json!({"restartPolicy": "Always"}),
            json!({"phase": "Running", "containerStatuses": waiting}),
        ),
        object(
            "v1",
            "Pod",
            json!({"restartPolicy": "Never"}),
            json!({"phase": "Failed", "containerStatuses": ended}),
        ),
        object("v1", "Service", json!({"type": "LoadBalancer"}), json!({"loadBalancer": {"ingress": []}})),
        object("v1", "PersistentVolumeClaim", json!({}), json!({"phase": "Lost"})),
        object("v1", "PersistentVolume", json!({}), json!({"phase": "Failed"})),
        object("v1", "Namespace", json!({}), json!({"phase": "Terminating"})),
        object("v1", "Node", json!({}), conditions(json!([condition("Ready", "False")]))),
        object(
            "apps/v1",
            "StatefulSet",
            json!({"replicas": 3, "updateStrategy": {"type": "RollingUpdate"}}),
            behind.clone(),
        ),
        object("batch/v1", "Job", json!({}), conditions(json!([condition("Failed", "True")]))),
        object("autoscaling/v2", "HorizontalPodAutoscaler", json!({}), conditions(scaling)),
        object(
            "apiregistration.k8s.io/v1",
            "APIService",
            json!({}),
            conditions(json!([condition("Available", "False")])),
        ),
        object(
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
            json!({}),
            conditions(json!([condition("Approved", "True")])),
        ),
        object(
            "gateway.networking.k8s.io/v1",
            "Gateway",
            json!({}),
            conditions(json!([condition("Accepted", "False")])),
        ),
        object("gateway.networking.k8s.io/v1", "HTTPRoute", json!({}), json!({"parents": parents})),
        object("storage.k8s.io/v1", "VolumeAttachment", json!({}), json!({"attached": false})),
        object("example.org/v1", "Thing", json!({}), conditions(json!([condition("Ready", "False")]))),
        object("example.org/v1", "Thing", json!({}), json!({"phase": "Failed"})),
        object("example.org/v1", "Thing", json!({"replicas": 3}), json!({"replicas": 3, "readyReplicas": 1})),
        object("example.org/v1", "Thing", json!({}), json!({"parts": [{"state": "Failed"}]})),
        object("example.org/v1", "Thing", json!({}), json!({"error": {"message": "no"}})),
        object("example.org/v1", "Thing", json!({}), json!({"observedGeneration": 1})),
    ];
    for kind in ["Deployment", "ReplicaSet", "DaemonSet"] {
        all.push(object("apps/v1", kind, json!({"replicas": 3}), behind.clone()));
    }
    all
}

static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(unwell);

/// The places of all values below one, as JSON pointers.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, below)| places(below, &format!("{here}/{name}"), found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, below)| places(below, &format!("{here}/{at}"), found));
        }
        _ => {}
    }
}

/// A value of another type than `old`, and never null, which is the same as leaving it out.
fn another(old: &Value, choice: usize) -> Value {
    let nested =
        (0..20).fold(json!(7), |inner, at| if at % 2 == 0 { json!([inner]) } else { json!({"a": inner}) });
    let others =
        [json!("Odd"), json!(7), json!(-1.5), json!(false), json!([7]), json!({"a": 7}), json!([[]]), nested];
    let same = |value: &&Value| std::mem::discriminant(*value) == std::mem::discriminant(old);
    let others: Vec<_> = others.iter().filter(|value| !same(value)).collect();
    others.get(choice % others.len()).map_or(Value::Null, |value| (*value).clone())
}

fn assessed(object: &Value) -> Verdict {
    assess(&Object::parse(&object.to_string()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..strandline_testkit::cases(512) })]

    /// What is not well does not become well because a field is no longer what it should be.
    #[test]
    fn a_wrong_type_is_never_taken_for_health(sample: Index, place: Index, choice: usize) {
        let mut object = sample.get(&SAMPLES).clone();
        let mut found = Vec::new();
        places(&object["status"], "/status", &mut found);
        let place = place.get(&found).clone();
        let value = object.pointer_mut(&place).unwrap();
        let was = value.take();
        *value = another(&was, choice);
        let verdict = assessed(&object);
        prop_assert_ne!(verdict.health, Some(Health::Healthy), "{} in {}: {:?}", place, object, verdict);
        prop_assert!(verdict.health.is_some(), "{} in {}: {:?}", place, object, verdict);
        let silent = verdict.reason.is_empty() && verdict.message.is_empty();
        prop_assert!(!silent || verdict.health != Some(Health::Unknown), "{:?}", verdict);
    }

    /// However many members are wrong or gone, there is a verdict that says by which rule.
    #[test]
    fn there_is_always_a_verdict(
        sample: Index,
        changes in prop::collection::vec((any::<Index>(), any::<usize>(), any::<bool>()), 1..6),
    ) {
        let mut object = sample.get(&SAMPLES).clone();
        for (place, choice, drop) in changes {
            let mut found = Vec::new();
            places(&object, "", &mut found);
            let place = place.get(&found).clone();
            let Some(value) = object.pointer_mut(&place).filter(|_| !place.is_empty()) else { continue };
            let was = value.take();
            *value = if drop { Value::Null } else { another(&was, choice) };
        }
        prop_assert!(!assessed(&object).rule.is_empty());
    }
}

#[test]
fn what_nests_deeper_than_anyone_reads_is_not_taken_for_health() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (api_version, kind) in [("v1", "Pod"), ("v1", "Node"), ("example.org/v1", "Thing")] {
        let text = format!(
            r#"{{"apiVersion": "{api_version}", "kind": "{kind}", "status": {{"conditions": {deep}}}}}"#
        );
        let verdict = assess(&Object::parse(&text).unwrap());
        assert!(!matches!(verdict.health, None | Some(Health::Healthy)), "{kind}: {verdict:?}");
    }
}

#[test]
fn every_sample_is_unwell_as_it_stands() {
    for object in unwell() {
        let verdict = assessed(&object);
        assert!(!matches!(verdict.health, None | Some(Health::Healthy)), "{object}: {verdict:?}");
    }
}
