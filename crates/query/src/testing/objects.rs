//! Any objects, as JSON.

use serde_json::{Map, Value, json};

use strandline_log::{Observation, Observed};
use strandline_model::{ChangedBy, Kind, ResourceVersion, Uid, WatchKey};
use strandline_object::digest::Digest;

/// Fields that make the rules judge in several ways; 0 to 6, of which 0 is healthy.
pub fn judged_fields(health: usize) -> Map<String, Value> {
    let phase = ["Running", "Pending", "Failed", "Succeeded", "Unknown", "Odd", "Running"][health % 7];
    let ready = if health == 0 { "True" } else { "False" };
    let fields = json!({
        "spec": {"replicas": health, "restartPolicy": "Always"},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// A state as a cluster would tell it, whose digest is that of its body.
pub fn observation(namespace: &str, name: &str, uid: &str, version: u64, body: &Value) -> Observation {
    let body = body.to_string();
    let hash = blake3::hash(body.as_bytes());
    Observation {
        namespace: namespace.into(),
        name: name.into(),
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new(version.to_string()),
        digest: Digest(*hash.as_bytes().first_chunk().expect("a digest is shorter than a hash")),
        body,
        changed_by: None,
    }
}

fn text<'o>(object: &'o Value, path: &str) -> &'o str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The watch of an object's kind in a cluster.
pub(super) fn watch(cluster: &str, object: &Value) -> WatchKey {
    let kind = Kind::from_api_version(text(object, "/apiVersion"), text(object, "/kind"));
    WatchKey { cluster: cluster.into(), kind, namespace: String::new() }
}

/// A uid of its own, or one made of kind, namespace and name.
fn uid(object: &Value) -> String {
    match text(object, "/metadata/uid") {
        "" => ["/kind", "/metadata/namespace", "/metadata/name"].map(|path| text(object, path)).join("-"),
        uid => uid.to_owned(),
    }
}

/// An object as it is, by its field manager, where it names one.
pub(super) fn applied(object: &Value, version: u64) -> Observed {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let manager = text(object, "/metadata/managedFields/0/manager");
    let mut body = object.clone();
    body["metadata"]["uid"] = uid(object).into();
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    let changed_by = (!manager.is_empty()).then(|| ChangedBy {
        manager: manager.to_owned(),
        operation: "Update".to_owned(),
        subresource: text(object, "/metadata/managedFields/0/subresource").to_owned(),
        time: None,
    });
    Observed::Applied(Observation {
        changed_by,
        ..observation(namespace, name, &uid(object), version, &body)
    })
}

/// An object that is gone.
pub(super) fn deleted(object: &Value, version: u64) -> Observed {
    Observed::Deleted {
        namespace: text(object, "/metadata/namespace").into(),
        name: text(object, "/metadata/name").into(),
        uid: Uid::new(uid(object)),
        resource_version: ResourceVersion::new(version.to_string()),
    }
}
