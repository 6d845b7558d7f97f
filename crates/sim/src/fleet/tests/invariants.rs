//! What must hold between objects whenever a step has ended.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::text;
use crate::api_server::ApiServer;

/// The Pods of a server by the uid of their controller, deleted ones left out.
fn pods_by_owner(pods: &[Value]) -> BTreeMap<&str, Vec<&Value>> {
    let mut owned: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod["metadata"].get("deletionTimestamp").is_none()) {
        owned.entry(text(pod, "/metadata/ownerReferences/0/uid")).or_default().push(pod);
    }
    owned
}

fn is_ready(pod: &&&Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.is_some_and(|list| list.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Namespaces that are being deleted: order is not kept in them.
fn dying(server: &ApiServer) -> BTreeSet<String> {
    let namespaces = server.objects("", "Namespace");
    let dying = namespaces.iter().filter(|namespace| text(namespace, "/status/phase") == "Terminating");
    dying.map(|namespace| text(namespace, "/metadata/name").to_owned()).collect()
}

/// Checks everything about one server.
pub(super) fn check(server: &ApiServer) {
    let dying = dying(server);
    let alive = |object: &Value| !dying.contains(text(object, "/metadata/namespace"));
    let objects = |group: &str, kind: &str| {
        let mut objects = server.objects(group, kind);
        objects.retain(|object| alive(object));
        objects
    };
    let pods = objects("", "Pod");
    let sets = objects("apps", "ReplicaSet");
    owners_exist(server, &alive);
    replica_sets_count_their_pods(&sets, &pods);
    deployments_add_up(&objects("apps", "Deployment"), &sets);
    slices_hold_the_ready(&objects("discovery.k8s.io", "EndpointSlice"), &pods);
    for pod in pods.iter().filter(|pod| text(pod, "/metadata/deletionTimestamp").is_empty()) {
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        for volume in volumes {
            let claim = text(volume, "/persistentVolumeClaim/claimName");
            let namespace = text(pod, "/metadata/namespace");
            let there =
                claim.is_empty() || server.object("", "PersistentVolumeClaim", namespace, claim).is_some();
            assert!(there, "{claim} of {}", text(pod, "/metadata/name"));
        }
    }
}

fn owners_exist(server: &ApiServer, alive: &dyn Fn(&Value) -> bool) {
    let all: Vec<Value> = server
        .kinds()
        .iter()
        .filter(|kind| kind.kind.kind != "Event")
        .flat_map(|kind| server.objects(&kind.kind.group, &kind.kind.kind))
        .collect();
    let uids: BTreeSet<&str> = all.iter().map(|object| text(object, "/metadata/uid")).collect();
    assert_eq!(uids.len(), all.len(), "uids are unique");
    for object in all.iter().filter(|object| alive(object)) {
        let owner = text(object, "/metadata/ownerReferences/0/uid");
        let leaving = !text(object, "/metadata/deletionTimestamp").is_empty();
        assert!(owner.is_empty() || leaving || uids.contains(owner), "the owner is missing of {object}");
    }
}

fn replica_sets_count_their_pods(sets: &[Value], pods: &[Value]) {
    let owned = pods_by_owner(pods);
    for set in sets {
        let pods = owned.get(text(set, "/metadata/uid")).cloned().unwrap_or_default();
        let name = text(set, "/metadata/name");
        assert_eq!(number(set, "/status/replicas"), pods.len() as u64, "replicas of {name}");
        assert_eq!(number(set, "/spec/replicas"), pods.len() as u64, "wanted of {name}");
        let ready = pods.iter().filter(is_ready).count();
        assert_eq!(number(set, "/status/readyReplicas"), ready as u64, "ready of {name}");
        assert_eq!(number(set, "/status/observedGeneration"), number(set, "/metadata/generation"), "{name}");
    }
}

fn deployments_add_up(deployments: &[Value], sets: &[Value]) {
    for deployment in deployments {
        let name = text(deployment, "/metadata/name");
        let uid = text(deployment, "/metadata/uid");
        let mine: Vec<_> =
            sets.iter().filter(|set| text(set, "/metadata/ownerReferences/0/uid") == uid).collect();
        assert!(mine.len() <= 6, "{name} keeps {} ReplicaSets", mine.len());
        for field in ["/status/replicas", "/status/readyReplicas"] {
            let sum: u64 = mine.iter().map(|set| number(set, field)).sum();
            assert_eq!(number(deployment, field), sum, "{field} of {name}");
        }
        let behind =
            number(deployment, "/metadata/generation") - number(deployment, "/status/observedGeneration");
        assert!(behind <= 1, "{name} is {behind} generations behind");
    }
}

fn slices_hold_the_ready(slices: &[Value], pods: &[Value]) {
    for slice in slices {
        let namespace = text(slice, "/metadata/namespace");
        let service = text(slice, "/metadata/labels/kubernetes.io~1service-name");
        let expected: BTreeSet<&str> = pods
            .iter()
            .filter(|pod| text(pod, "/metadata/namespace") == namespace)
            .filter(|pod| text(pod, "/metadata/labels/app.kubernetes.io~1name") == service)
            .filter(|pod| text(pod, "/metadata/deletionTimestamp").is_empty() && is_ready(&pod))
            .map(|pod| text(pod, "/metadata/uid"))
            .collect();
        let endpoints = slice["endpoints"].as_array().unwrap();
        let ready = endpoints.iter().filter(|endpoint| endpoint["conditions"]["ready"] == true);
        let told: BTreeSet<&str> = ready.map(|endpoint| text(endpoint, "/targetRef/uid")).collect();
        assert_eq!(told, expected, "{namespace}/{service}");
    }
}
