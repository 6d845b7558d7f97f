//! Any objects, as JSON.

use serde_json::Value;

use super::observation;
use crate::log::Observed;
use crate::model::{Kind, ResourceVersion, Uid, WatchKey};

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

/// An object as it is.
pub(super) fn applied(object: &Value, version: u64) -> Observed {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let mut body = object.clone();
    body["metadata"]["uid"] = uid(object).into();
    Observed::Applied(observation(namespace, name, &uid(object), version, &body))
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
