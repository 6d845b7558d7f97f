//! Who wrote what: managedFields as the real server keeps them.

use serde_json::{Map, Value, json};

/// In whose name an object is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Author {
    /// Field manager, such as `helm` or `kube-controller-manager`.
    pub manager: &'static str,
    /// `Apply` or `Update`.
    pub operation: &'static str,
    /// `status`, `scale` or empty.
    pub subresource: &'static str,
}

impl Author {
    /// Someone at a keyboard.
    pub const KUBECTL: Author = Author::updates("kubectl-edit");

    /// One that writes objects by update.
    pub const fn updates(manager: &'static str) -> Self {
        Author { manager, operation: "Update", subresource: "" }
    }

    /// One that writes objects by server-side apply.
    pub const fn applies(manager: &'static str) -> Self {
        Author { manager, operation: "Apply", subresource: "" }
    }

    /// The same one writing through a subresource.
    pub const fn through(self, subresource: &'static str) -> Self {
        Author { subresource, ..self }
    }
}

/// The entries after `author` wrote `object`: its own entry is renewed and stands last.
pub(super) fn record(
    mut entries: Vec<Value>,
    author: Author,
    api_version: &str,
    time: &str,
    object: &Map<String, Value>,
) -> Vec<Value> {
    entries.retain(|entry| {
        let is = |field: &str, value: &str| entry.get(field).and_then(Value::as_str).unwrap_or("") == value;
        !(is("manager", author.manager)
            && is("operation", author.operation)
            && is("subresource", author.subresource))
    });
    let mut entry = Map::new();
    entry.insert("manager".into(), author.manager.into());
    entry.insert("operation".into(), author.operation.into());
    entry.insert("apiVersion".into(), api_version.into());
    entry.insert("time".into(), time.into());
    entry.insert("fieldsType".into(), "FieldsV1".into());
    entry.insert("fieldsV1".into(), owned_fields(author.subresource, object));
    if !author.subresource.is_empty() {
        entry.insert("subresource".into(), author.subresource.into());
    }
    entries.push(Value::Object(entry));
    entries
}

/// The fields that a writer through this subresource owns.
fn owned_fields(subresource: &str, object: &Map<String, Value>) -> Value {
    match subresource {
        "scale" => json!({"f:spec": {"f:replicas": {}}}),
        "status" => {
            let status = object.get("status").map_or_else(|| json!({}), |status| fields(status, 3));
            json!({"f:status": status})
        }
        _ => {
            let mut owned = Map::new();
            let metadata = object.get("metadata").and_then(Value::as_object);
            let named = |name: &str| metadata.and_then(|metadata| metadata.get(name));
            let mut of_metadata = Map::new();
            for name in ["labels", "annotations", "ownerReferences"] {
                if let Some(value) = named(name) {
                    of_metadata.insert(format!("f:{name}"), fields(value, 2));
                }
            }
            owned.insert("f:metadata".into(), Value::Object(of_metadata));
            for (name, value) in object {
                if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
                    owned.insert(format!("f:{name}"), fields(value, 5));
                }
            }
            Value::Object(owned)
        }
    }
}

/// The paths below a value; lists of named things are told apart by their names, other lists are one field.
fn fields(value: &Value, depth: usize) -> Value {
    let mut paths = Map::new();
    match value {
        Value::Object(map) if depth > 0 => {
            for (name, value) in map {
                paths.insert(format!("f:{name}"), fields(value, depth - 1));
            }
        }
        Value::Array(items) if depth > 0 => {
            for item in items {
                for key in ["name", "type", "uid"] {
                    if let Some(id) = item.get(key) {
                        paths.insert(format!("k:{{\"{key}\":{id}}}"), fields(item, depth - 1));
                        break;
                    }
                }
            }
        }
        _ => {}
    }
    Value::Object(paths)
}
