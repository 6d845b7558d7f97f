//! Who wrote what: managedFields as the real server keeps them.

use serde_json::{Map, Value};

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

/// One entry of managedFields; its fields are kept as text, since nothing here reads them.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    author: Author,
    time: String,
    fields: std::sync::Arc<str>,
}

impl Managed {
    /// The entry as it is in the object.
    pub(super) fn to_json(&self, api_version: &str) -> String {
        let Author { manager, operation, subresource } = self.author;
        let (time, fields) = (&self.time, &self.fields);
        let through = if subresource.is_empty() {
            String::new()
        } else {
            format!(",\"subresource\":\"{subresource}\"")
        };
        format!(
            "{{\"manager\":\"{manager}\",\"operation\":\"{operation}\",\"apiVersion\":\"{api_version}\",\
             \"time\":\"{time}\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{fields}{through}}}"
        )
    }
}

/// The entries after `author` wrote an object: its own entry is renewed and comes last.
pub(super) fn renew(
    old: &[Managed],
    author: Author,
    time: &str,
    metadata: &Map<String, Value>,
    content: &Map<String, Value>,
) -> Vec<Managed> {
    let mut entries: Vec<Managed> = old.iter().filter(|entry| entry.author != author).cloned().collect();
    let fields = owned_fields(author.subresource, metadata, content).into();
    entries.push(Managed { author, time: time.to_owned(), fields });
    entries
}

/// The fields that a writer through this subresource owns.
fn owned_fields(subresource: &str, metadata: &Map<String, Value>, content: &Map<String, Value>) -> String {
    let mut text = String::with_capacity(2048);
    match subresource {
        "scale" => text.push_str("{\"f:spec\":{\"f:replicas\":{}}}"),
        "status" => {
            text.push_str("{\"f:status\":");
            put_fields(&mut text, content.get("status").unwrap_or(&Value::Null), 3);
            text.push('}');
        }
        _ => {
            text.push_str("{\"f:metadata\":");
            put_named(&mut text, metadata.iter().filter(|(name, _)| *name != "generateName"), 2);
            for (name, value) in content.iter().filter(|(name, _)| *name != "status") {
                put_name(&mut text, name, 1);
                put_fields(&mut text, value, 5);
            }
            text.push('}');
        }
    }
    text
}

/// Writes the paths below a value; items of named lists by their names, other lists as one field.
fn put_fields(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if depth > 0 => put_named(text, map.iter(), depth - 1),
        Value::Array(items) if depth > 0 => {
            text.push('{');
            let mut count = 0;
            for item in items {
                let id =
                    ["name", "type", "uid"].into_iter().find_map(|key| Some((key, item.get(key)?.as_str()?)));
                let Some((key, id)) = id else { continue };
                if count > 0 {
                    text.push(',');
                }
                count += 1;
                text.push_str("\"k:{\\\"");
                text.push_str(key);
                text.push_str("\\\":\\\"");
                text.extend(id.chars().filter(|c| !matches!(c, '"' | '\\') && !c.is_control()));
                text.push_str("\\\"}\":");
                put_fields(text, item, depth - 1);
            }
            text.push('}');
        }
        _ => text.push_str("{}"),
    }
}

fn put_named<'a>(text: &mut String, fields: impl Iterator<Item = (&'a String, &'a Value)>, depth: usize) {
    text.push('{');
    for (count, (name, value)) in fields.enumerate() {
        put_name(text, name, count);
        put_fields(text, value, depth);
    }
    text.push('}');
}

/// Writes the name of a field; names in Kubernetes objects that need escapes in JSON lose them here.
fn put_name(text: &mut String, name: &str, count: usize) {
    if count > 0 {
        text.push(',');
    }
    text.push_str("\"f:");
    text.extend(name.chars().filter(|c| !matches!(c, '"' | '\\') && !c.is_control()));
    text.push_str("\":");
}
