//! Deployments and their ReplicaSets.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::catalog::{Location, Template};
use super::containers;
use super::metadata::{
    Identity, Metadata, chart_annotations, chart_labels, merge, pod_labels, selector_labels,
};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// How many Pods of a ReplicaSet there are, and how far they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) total: u32,
    pub(crate) ready: u32,
}

/// A ReplicaSet's state.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaSet {
    pub(crate) identity: Identity,
    pub(crate) template: Arc<Template>,
    pub(crate) revision: u32,
    pub(crate) replicas: u32,
    /// What its controller last saw.
    pub(crate) counts: Counts,
    pub(crate) generation: u64,
}

/// How far a rollout is, as the condition `Progressing` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) reason: &'static str,
    pub(crate) set: String,
    pub(crate) since: Timestamp,
    pub(crate) updated: Timestamp,
}

/// A Deployment's state.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    pub(crate) identity: Identity,
    pub(crate) template: Arc<Template>,
    pub(crate) replicas: u32,
    pub(crate) revision: u32,
    pub(crate) generation: u64,
    pub(crate) observed_generation: u64,
    pub(crate) sets: Vec<ReplicaSet>,
    pub(crate) progress: Progress,
    pub(crate) available: bool,
    pub(crate) available_since: Timestamp,
    /// Numbers of the status last written: total, updated, ready.
    pub(crate) reported: (u32, u32, u32),
}

impl Deployment {
    /// How many Pods may be there beyond the wanted ones during a rollout.
    pub(crate) const fn surge(&self) -> u32 {
        self.replicas.div_ceil(4)
    }

    /// How many of the wanted Pods must be ready.
    pub(crate) const fn minimum(&self) -> u32 {
        self.replicas - self.replicas / 4
    }

    /// The ReplicaSet of the present template.
    pub(crate) fn current(&self) -> Option<usize> {
        self.sets.iter().position(|set| set.template.hash == self.template.hash)
    }
}

/// The object of a Deployment.
pub(crate) fn deployment(location: &Location, deployment: &Deployment) -> Value {
    let component = deployment.template.component;
    let revision = json!({"deployment.kubernetes.io/revision": deployment.revision.to_string()});
    Metadata::of(&deployment.identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(merge(chart_annotations(location), revision))
        .object(
            "apps/v1",
            "Deployment",
            json!({
                "spec": {
                    "replicas": deployment.replicas,
                    "selector": {"matchLabels": selector_labels(component)},
                    "template": containers::template(location, &deployment.template, None),
                    "strategy": {
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                    },
                    "revisionHistoryLimit": 3,
                    "progressDeadlineSeconds": 600,
                },
                "status": deployment_status(deployment),
            }),
        )
}

fn deployment_status(deployment: &Deployment) -> Value {
    let mut status = Map::new();
    status.insert("observedGeneration".into(), deployment.observed_generation.into());
    let (total, updated, ready) = deployment.reported;
    let numbers = [
        ("replicas", total),
        ("updatedReplicas", updated),
        ("readyReplicas", ready),
        ("availableReplicas", ready),
        ("unavailableReplicas", deployment.replicas.saturating_sub(ready)),
    ];
    // Like the real controller's: a number that is zero is not written.
    let numbers = numbers.into_iter().filter(|(_, number)| *number > 0);
    status.extend(numbers.map(|(name, number)| (name.to_owned(), number.into())));
    status.insert("conditions".into(), json!([available(deployment), progressing(&deployment.progress)]));
    Value::Object(status)
}

fn available(deployment: &Deployment) -> Value {
    let (status, reason, message) = if deployment.available {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    let since = seconds(deployment.available_since);
    json!({
        "type": "Available",
        "status": status,
        "lastUpdateTime": since,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    })
}

fn progressing(progress: &Progress) -> Value {
    let set = &progress.set;
    let message = match progress.reason {
        "NewReplicaSetCreated" => format!("Created new replica set \"{set}\""),
        "FoundNewReplicaSet" => format!("Found new replica set \"{set}\""),
        "ProgressDeadlineExceeded" => format!("ReplicaSet \"{set}\" has timed out progressing."),
        "NewReplicaSetAvailable" => format!("ReplicaSet \"{set}\" has successfully progressed."),
        _ => format!("ReplicaSet \"{set}\" is progressing."),
    };
    json!({
        "type": "Progressing",
        "status": if progress.reason == "ProgressDeadlineExceeded" { "False" } else { "True" },
        "lastUpdateTime": seconds(progress.updated),
        "lastTransitionTime": seconds(progress.since),
        "reason": progress.reason,
        "message": message,
    })
}

/// The object of a ReplicaSet.
pub(crate) fn replica_set(location: &Location, deployment: &Deployment, set: &ReplicaSet) -> Value {
    let component = set.template.component;
    let hash = json!({"pod-template-hash": set.template.hash});
    let annotations = json!({
        "deployment.kubernetes.io/desired-replicas": deployment.replicas.to_string(),
        "deployment.kubernetes.io/max-replicas": (deployment.replicas + deployment.surge()).to_string(),
        "deployment.kubernetes.io/revision": set.revision.to_string(),
    });
    let mut status = json!({"replicas": set.counts.total});
    if set.counts.total > 0 {
        status["fullyLabeledReplicas"] = set.counts.total.into();
    }
    if set.counts.ready > 0 {
        status["readyReplicas"] = set.counts.ready.into();
        status["availableReplicas"] = set.counts.ready.into();
    }
    status["observedGeneration"] = set.generation.into();
    Metadata::of(&set.identity)
        .namespace(&location.namespace)
        .labels(merge(pod_labels(location, component), hash.clone()))
        .annotations(merge(chart_annotations(location), annotations))
        .owner("apps/v1", "Deployment", &deployment.identity)
        .object(
            "apps/v1",
            "ReplicaSet",
            json!({
                "spec": {
                    "replicas": set.replicas,
                    "selector": {"matchLabels": merge(selector_labels(component), hash)},
                    "template": containers::template(location, &set.template, Some(&set.template.hash)),
                },
                "status": status,
            }),
        )
}
