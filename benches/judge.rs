//! What judging an object and finding its edges cost, by kind, from its bytes on.
//!
//! The projector does both for every change of every object.

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use strandline_object::Object;
use strandline_relations::{self, Relations};

fn main() {
    divan::main();
}

/// The kinds that are measured: built-in ones, one of many parts, and a custom one.
const KINDS: [&str; 10] = [
    "Certificate",
    "ConfigMap",
    "Deployment",
    "EndpointSlice",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Job",
    "PersistentVolumeClaim",
    "Pod",
    "Service",
];

fn conditions(types: &[(&str, &str)]) -> Value {
    let condition = |(of, status): &(&str, &str)| json!({"type": of, "status": status, "reason": "Known", "message": "as it should be", "lastTransitionTime": "2026-11-20T12:00:00Z"});
    types.iter().map(condition).collect()
}

fn container() -> Value {
    let env: Vec<_> = (0..9)
        .map(|n| json!({"name": format!("SETTING_{n}"), "valueFrom": {"configMapKeyRef": {"name": "settings", "key": format!("setting.{n}")}}}))
        .collect();
    json!({"name": "web", "image": "registry.example.com/shop/web:4.2.1", "env": env,
        "envFrom": [{"secretRef": {"name": "keys"}}], "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}}})
}

fn pod_spec() -> Value {
    json!({"serviceAccountName": "web", "nodeName": "node-1", "containers": [container(), container()],
        "volumes": [{"name": "s", "configMap": {"name": "settings"}}, {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]})
}

/// Version, spec and status of a kind, and what else stands at its top.
fn parts(kind: &str) -> (&'static str, Value) {
    let running = json!({"name": "web", "ready": true, "restartCount": 0, "state": {"running": {}}});
    let endpoint = |n: u32| json!({"addresses": [format!("10.1.0.{n}")], "targetRef": {"kind": "Pod", "name": format!("web-{n}"), "namespace": "shop", "uid": format!("u{n}")}});
    match kind {
        "Pod" => (
            "v1",
            json!({"spec": pod_spec(), "status": {"phase": "Running",
            "conditions": conditions(&[("Initialized", "True"), ("Ready", "True"), ("PodScheduled", "True")]),
            "containerStatuses": [running.clone(), running]}}),
        ),
        "Deployment" => (
            "apps/v1",
            json!({
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {}, "spec": pod_spec()}},
            "status": {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3,
                "conditions": conditions(&[("Available", "True"), ("Progressing", "True")])}}),
        ),
        "Job" => (
            "batch/v1",
            json!({"spec": {"template": {"spec": pod_spec()}},
            "status": {"conditions": conditions(&[("Complete", "True")])}}),
        ),
        "Service" => ("v1", json!({"spec": {"type": "ClusterIP", "selector": {"app": "web"}}, "status": {}})),
        "Ingress" => (
            "networking.k8s.io/v1",
            json!({"spec": {"ingressClassName": "nginx", "tls": [{"secretName": "tls"}],
            "rules": [{"http": {"paths": [{"backend": {"service": {"name": "web"}}}]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}),
        ),
        "EndpointSlice" => {
            ("discovery.k8s.io/v1", json!({"endpoints": (0..8).map(endpoint).collect::<Vec<_>>()}))
        }
        "HorizontalPodAutoscaler" => (
            "autoscaling/v2",
            json!({
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
            "status": {"conditions": conditions(&[("AbleToScale", "True"), ("ScalingActive", "True")])}}),
        ),
        "PersistentVolumeClaim" => (
            "v1",
            json!({"spec": {"volumeName": "pv-1", "storageClassName": "fast"}, "status": {"phase": "Bound"}}),
        ),
        "Certificate" => (
            "cert-manager.io/v1",
            json!({"spec": {"secretName": "tls", "issuerRef": {"name": "ca"}},
            "status": {"conditions": conditions(&[("Ready", "True")])}}),
        ),
        _ => ("v1", json!({"data": {"key": "value"}})),
    }
}

fn body(kind: &str) -> String {
    let (api_version, rest) = parts(kind);
    let mut body = json!({"apiVersion": api_version, "kind": kind, "metadata": {
        "name": "web", "namespace": "shop", "uid": "u", "generation": 1, "creationTimestamp": "2026-11-20T12:00:00Z",
        "labels": {"app": "web", "app.kubernetes.io/name": "web", "app.kubernetes.io/managed-by": "Helm", "kubernetes.io/service-name": "web"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "o", "controller": true}]}});
    if let (Some(body), Value::Object(rest)) = (body.as_object_mut(), rest) {
        body.extend(rest);
    }
    body.to_string()
}

#[divan::bench(args = KINDS)]
fn parse(bencher: Bencher<'_, '_>, kind: &str) {
    let body = body(kind);
    bencher.bench(|| Object::parse(black_box(&body)).is_ok());
}

#[divan::bench(args = KINDS)]
fn parse_and_judge(bencher: Bencher<'_, '_>, kind: &str) {
    let body = body(kind);
    bencher.bench(|| strandline_health::assess(&Object::parse(black_box(&body)).expect("it is an object")));
}

#[divan::bench(args = KINDS)]
fn parse_judge_and_link(bencher: Bencher<'_, '_>, kind: &str) {
    let (body, relations) = (body(kind), Relations::default());
    bencher.bench(|| {
        let object = Object::parse(black_box(&body)).expect("it is an object");
        (strandline_health::assess(&object), strandline_relations::edges(&object, &relations))
    });
}
