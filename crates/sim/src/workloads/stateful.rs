//! What keeps data: StatefulSets, claims, and databases run by an operator.

use std::sync::Arc;

use serde_json::{Value, json};

use super::catalog::{Location, Shape, Template};
use super::containers;
use super::metadata::{Identity, Metadata, chart_annotations, chart_labels, condition, selector_labels};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// The state of a StatefulSet or of a database.
#[derive(Clone, Debug)]
pub(crate) struct Stateful {
    pub(crate) identity: Identity,
    pub(crate) template: Arc<Template>,
    /// Revision that every Pod had before the present rollout.
    pub(crate) settled_hash: String,
    pub(crate) replicas: u32,
    pub(crate) generation: u64,
    pub(crate) observed_generation: u64,
    /// Numbers of the status last written: total, updated, ready.
    pub(crate) reported: (u32, u32, u32),
    /// Ordinal of a database's primary.
    pub(crate) primary: u32,
    /// Since when a database is as ready as it is.
    pub(crate) ready_since: Timestamp,
}

impl Stateful {
    /// The name of the Pod with this ordinal; operators count from one.
    pub(crate) fn pod_name(&self, ordinal: u32) -> String {
        let first = u32::from(self.template.component.shape == Shape::Database);
        format!("{}-{}", self.identity.name, ordinal + first)
    }
}

/// The object of a StatefulSet.
pub(crate) fn stateful_set(location: &Location, stateful: &Stateful) -> Value {
    let component = stateful.template.component;
    let name = &stateful.identity.name;
    let (total, updated, ready) = stateful.reported;
    let mut status = json!({
        "observedGeneration": stateful.observed_generation,
        "replicas": total,
        "readyReplicas": ready,
        "currentReplicas": total - updated,
        "updatedReplicas": updated,
        "availableReplicas": ready,
        "currentRevision": format!("{name}-{}", stateful.settled_hash),
        "updateRevision": format!("{name}-{}", stateful.template.hash),
        "collisionCount": 0,
    });
    if stateful.settled_hash == stateful.template.hash {
        status["currentReplicas"] = total.into();
    }
    Metadata::of(&stateful.identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(chart_annotations(location))
        .object(
            "apps/v1",
            "StatefulSet",
            json!({
                "spec": {
                    "replicas": stateful.replicas,
                    "selector": {"matchLabels": selector_labels(component)},
                    "template": containers::template(location, &stateful.template, None),
                    "volumeClaimTemplates": [claim_template()],
                    "serviceName": name,
                    "podManagementPolicy": "OrderedReady",
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                    "revisionHistoryLimit": 10,
                },
                "status": status,
            }),
        )
}

/// What a StatefulSet's claims are made from.
fn claim_template() -> Value {
    json!({
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "20Gi"}},
            "storageClassName": "gp3",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    })
}

/// The claim of one Pod of a stateful workload.
pub(crate) fn claim(location: &Location, stateful: &Stateful, identity: &Identity) -> Value {
    let component = stateful.template.component;
    let volume = format!("pvc-{}", identity.uid);
    let metadata = Metadata::of(identity)
        .namespace(&location.namespace)
        .labels(selector_labels(component))
        .annotations(json!({
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
        }))
        .with("finalizers", json!(["kubernetes.io/pvc-protection"]));
    let metadata = match component.shape {
        Shape::Database => metadata.owner("postgresql.example.dev/v1", "Cluster", &stateful.identity),
        _ => metadata,
    };
    metadata.object(
        "v1",
        "PersistentVolumeClaim",
        json!({
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "20Gi"}},
                "volumeName": volume,
                "storageClassName": "gp3",
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "20Gi"}},
        }),
    )
}

/// The object of a database.
pub(crate) fn database(location: &Location, stateful: &Stateful) -> Value {
    let component = stateful.template.component;
    let (total, _, ready) = stateful.reported;
    let whole = ready == stateful.replicas;
    let (reason, message) = if whole {
        ("ClusterIsReady", "Cluster is Ready")
    } else {
        ("ClusterIsNotReady", "Cluster Is Not Ready")
    };
    let phase = if whole { "Cluster in healthy state" } else { "Waiting for the instances to become active" };
    Metadata::of(&stateful.identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(chart_annotations(location))
        .object(
            "postgresql.example.dev/v1",
            "Cluster",
            json!({
                "spec": {
                    "instances": stateful.replicas,
                    "imageName": stateful.template.image(location),
                    "storage": {"size": "20Gi", "storageClass": "gp3"},
                    "postgresql": {"parameters": {"max_connections": "200", "shared_buffers": "512MB"}},
                    "superuserSecret": {"name": format!("{}-credentials", component.name)},
                },
                "status": {
                    "observedGeneration": stateful.observed_generation,
                    "instances": total,
                    "readyInstances": ready,
                    "currentPrimary": stateful.pod_name(stateful.primary),
                    "phase": phase,
                    "conditions": [
                        condition("Ready", whole, stateful.ready_since, reason, message),
                        condition("ContinuousArchiving", true, stateful.identity.created,
                            "ContinuousArchivingSuccess", "Continuous archiving is working"),
                    ],
                },
            }),
        )
}

/// The definition of the databases' kind.
pub(crate) fn database_definition(identity: &Identity) -> Value {
    let names = json!({
        "plural": "clusters",
        "singular": "cluster",
        "kind": "Cluster",
        "listKind": "ClusterList",
    });
    let created = seconds(identity.created);
    let accepted = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": created, "reason": reason, "message": message});
    Metadata::of(identity).object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        json!({
            "spec": {
                "group": "postgresql.example.dev",
                "names": names,
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    "subresources": {"status": {}},
                }],
                "conversion": {"strategy": "None"},
            },
            "status": {
                "conditions": [
                    accepted("NamesAccepted", "NoConflicts", "no conflicts found"),
                    accepted("Established", "InitialNamesAccepted", "the initial names have been accepted"),
                ],
                "acceptedNames": names,
                "storedVersions": ["v1"],
            },
        }),
    )
}
