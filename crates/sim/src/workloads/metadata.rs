//! Metadata that all objects share: names, labels, owners and times.

use serde_json::{Map, Value, json};

use super::catalog::{Component, Location};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// The identity of an object that others refer to.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) created: Timestamp,
}

/// Metadata being put together.
#[derive(Clone, Debug)]
pub(crate) struct Metadata(Map<String, Value>);

impl Metadata {
    /// Metadata of an object with this identity.
    pub(crate) fn of(identity: &Identity) -> Self {
        let mut map = Map::new();
        map.insert("name".into(), identity.name.as_str().into());
        map.insert("uid".into(), identity.uid.as_str().into());
        map.insert("creationTimestamp".into(), seconds(identity.created).into());
        Metadata(map)
    }

    /// In a namespace.
    pub(crate) fn namespace(self, namespace: &str) -> Self {
        self.with("namespace", namespace)
    }

    /// With labels.
    pub(crate) fn labels(self, labels: Value) -> Self {
        self.with("labels", labels)
    }

    /// With annotations.
    pub(crate) fn annotations(self, annotations: Value) -> Self {
        self.with("annotations", annotations)
    }

    /// Owned by the controller of this identity.
    pub(crate) fn owner(self, api_version: &str, kind: &str, owner: &Identity) -> Self {
        let reference = json!({
            "apiVersion": api_version,
            "kind": kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        });
        self.with("ownerReferences", json!([reference]))
    }

    /// Being deleted since, when it is.
    pub(crate) fn deleting(self, since: Option<Timestamp>, grace_seconds: u64) -> Self {
        match since {
            Some(time) => {
                let deleted = self.with("deletionTimestamp", seconds(time));
                deleted.with("deletionGracePeriodSeconds", grace_seconds)
            }
            None => self,
        }
    }

    /// With any other field.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The object: type, metadata, and these fields.
    pub(crate) fn object(self, api_version: &str, kind: &str, fields: Value) -> Value {
        let mut object = Map::new();
        object.insert("kind".into(), kind.into());
        object.insert("apiVersion".into(), api_version.into());
        object.insert("metadata".into(), Value::Object(self.0));
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        Value::Object(object)
    }
}

/// The two labels by which GitLab finds the objects of an environment.
pub(crate) fn environment_labels(location: &Location) -> Value {
    json!({
        "app.gitlab.com/project_id": location.project.id.to_string(),
        "app.gitlab.com/environment_slug": location.slug,
    })
}

/// The labels by which a workload selects its Pods.
pub(crate) fn selector_labels(component: &Component) -> Value {
    json!({
        "app.kubernetes.io/name": component.name,
        "app.kubernetes.io/instance": component.name,
    })
}

/// Labels of what a chart creates itself.
pub(crate) fn chart_labels(location: &Location, component: &Component) -> Value {
    let labels = merge(selector_labels(component), environment_labels(location));
    let chart = format!("{}-1.8.2", component.name);
    merge(labels, json!({"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": chart}))
}

/// Labels of a Pod template; not every chart puts GitLab's labels there.
pub(crate) fn pod_labels(location: &Location, component: &Component) -> Value {
    let labels = merge(
        selector_labels(component),
        json!({"app.kubernetes.io/part-of": location.project.path.replace('/', "-")}),
    );
    if location.project.labels_pods { merge(labels, environment_labels(location)) } else { labels }
}

/// Annotations of what GitLab deployed.
pub(crate) fn chart_annotations(location: &Location) -> Value {
    json!({
        "app.gitlab.com/app": location.project.path.replace('/', "-"),
        "app.gitlab.com/env": location.slug,
        "meta.helm.sh/release-name": location.project.path.rsplit('/').next().unwrap_or(""),
        "meta.helm.sh/release-namespace": location.namespace,
    })
}

/// Both maps in one; the second wins.
pub(crate) fn merge(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

/// A condition as most kinds write it.
pub(crate) fn condition(kind: &str, is_true: bool, since: Timestamp, reason: &str, message: &str) -> Value {
    json!({
        "type": kind,
        "status": if is_true { "True" } else { "False" },
        "lastTransitionTime": seconds(since),
        "reason": reason,
        "message": message,
    })
}
