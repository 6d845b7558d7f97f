//! Objects as a server keeps them: as text, written once when they are applied.

use std::ops::Range;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

use super::kinds::ServedKind;
use super::managed::{Author, Managed, renew};
use strandline_model::Kind;

/// One state of an object, as lists and watches show it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    labels: Vec<(String, String)>,
    /// What a field selector of this kind may ask for beyond name and namespace.
    fields: Vec<(&'static str, String)>,
    /// The object's JSON without `kind` and `apiVersion`: lists of built-in kinds leave them away.
    pub(super) body: Bytes,
}

impl Stored {
    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The value of a selectable field.
    pub(super) fn field(&self, path: &str) -> Option<&str> {
        match path {
            "metadata.name" => Some(&self.name),
            "metadata.namespace" => Some(&self.namespace),
            _ => self.fields.iter().find(|(name, _)| *name == path).map(|(_, value)| value.as_str()),
        }
    }

    /// The object as JSON, with its type.
    pub(super) fn value(&self, kind: &ServedKind) -> Value {
        let body: Map<String, Value> = serde_json::from_slice(&self.body).unwrap_or_default();
        let mut object = Map::new();
        object.insert("kind".into(), kind.kind.kind.as_str().into());
        object.insert("apiVersion".into(), kind.api_version().into());
        object.extend(body);
        Value::Object(object)
    }

    #[cfg(test)]
    pub(super) fn for_test(namespace: &str, name: &str, labels: &[(&str, &str)]) -> Self {
        let labels = labels.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let (uid, fields, body) = (String::new(), Vec::new(), Bytes::from_static(b"{}"));
        Stored { namespace, name, uid, labels, fields, body }
    }
}

/// What someone applies, taken apart.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: Option<String>,
    created: Option<String>,
    /// Metadata without what the server writes itself.
    metadata: Map<String, Value>,
    /// Everything but type and metadata.
    content: Map<String, Value>,
}

impl Draft {
    /// Takes an object apart; none when it has no name.
    pub(super) fn read(object: Value) -> Option<Self> {
        let Value::Object(mut content) = object else { return None };
        let mut take = |name: &str| content.shift_remove(name);
        let (api_version, kind) = (take("apiVersion")?, take("kind")?);
        let Some(Value::Object(mut metadata)) = take("metadata") else { return None };
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let uid = text(metadata.shift_remove("uid"));
        let created = text(metadata.shift_remove("creationTimestamp"));
        for own in ["resourceVersion", "generation", "managedFields"] {
            metadata.shift_remove(own);
        }
        let name = text(metadata.shift_remove("name")).filter(|name| !name.is_empty())?;
        let namespace = text(metadata.shift_remove("namespace")).unwrap_or_default();
        let kind = Kind::from_api_version(api_version.as_str()?, kind.as_str()?);
        Some(Draft { kind, namespace, name, uid, created, metadata, content })
    }
}

/// An object as it is now.
#[derive(Clone, Debug)]
pub(super) struct StoredEntry {
    pub(super) stored: Arc<Stored>,
    pub(super) version: u64,
    managed: Vec<Managed>,
    /// The applied metadata and content, to know an apply that changes nothing.
    metadata: String,
    content: Range<usize>,
    spec: Range<usize>,
    /// Where the resourceVersion is in the body.
    version_at: Range<usize>,
    generation: u64,
    created: String,
}

/// What the server adds to a draft.
pub(super) struct Circumstances<'a> {
    pub(super) served: &'a ServedKind,
    pub(super) author: Author,
    pub(super) version: u64,
    /// Now, as text.
    pub(super) time: String,
    /// The uid of a new object.
    pub(super) uid: String,
}

impl StoredEntry {
    /// The state after a draft was applied; none when it changes nothing.
    pub(super) fn after(before: Option<&StoredEntry>, draft: Draft, now: &Circumstances<'_>) -> Option<Self> {
        let metadata = serde_json::to_string(&draft.metadata).unwrap_or_default();
        let (content, spec) = write_content(&draft.content);
        if let Some(entry) = before {
            let same_content = entry.stored.body.get(entry.content.clone()) == Some(content.as_bytes());
            if same_content && entry.metadata == metadata {
                return None;
            }
        }
        let old_spec = before.and_then(|entry| entry.stored.body.get(entry.spec.clone()));
        let respecified = old_spec.is_some_and(|old| Some(old) != content.as_bytes().get(spec.clone()));
        let generation = before.map_or(1, |entry| entry.generation + u64::from(respecified));
        let uid = draft.uid.clone().or_else(|| before.map(|entry| entry.stored.uid.clone()));
        let uid = uid.unwrap_or_else(|| now.uid.clone());
        let created = draft.created.clone().or_else(|| before.map(|entry| entry.created.clone()));
        let created = created.unwrap_or_else(|| now.time.clone());
        let old = before.map_or(&[][..], |entry| &entry.managed);
        let managed = renew(old, now.author, &now.time, &draft.metadata, &draft.content);
        let mut body = BytesMut::with_capacity(content.len() + metadata.len() + 4096);
        let version_at = write_metadata(
            &mut body,
            &draft,
            now,
            &Own { uid: &uid, created: &created, generation },
            &managed,
        );
        let start = body.len();
        body.put_slice(content.as_bytes());
        body.put_u8(b'}');
        let labels = draft.metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
        let labels =
            labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
        let fields = selectable(&draft.kind.kind, &draft.content);
        let (namespace, name) = (draft.namespace, draft.name);
        let stored = Stored { namespace, name, uid, labels, fields, body: body.freeze() };
        Some(StoredEntry {
            stored: Arc::new(stored),
            version: now.version,
            managed,
            metadata,
            content: start..start + content.len(),
            spec: start + spec.start..start + spec.end,
            version_at,
            generation,
            created,
        })
    }

    /// The last state of an object that is deleted at this resourceVersion.
    pub(super) fn last(&self, version: u64) -> Arc<Stored> {
        let (old, at) = (&self.stored.body, &self.version_at);
        let mut body = BytesMut::with_capacity(old.len() + 4);
        body.put_slice(old.get(..at.start).unwrap_or_default());
        body.put_slice(version.to_string().as_bytes());
        body.put_slice(old.get(at.end..).unwrap_or_default());
        Arc::new(Stored { body: body.freeze(), ..Stored::clone(&self.stored) })
    }
}

/// What the server itself writes into metadata.
struct Own<'a> {
    uid: &'a str,
    created: &'a str,
    generation: u64,
}

/// Writes the body up to the end of its metadata, in the real server's order; returns where the resourceVersion is.
fn write_metadata(
    body: &mut BytesMut,
    draft: &Draft,
    now: &Circumstances<'_>,
    own: &Own<'_>,
    managed: &[Managed],
) -> Range<usize> {
    let put = |body: &mut BytesMut, name: &str, value: &Value| {
        body.put_u8(b',');
        body.put_slice(Value::from(name).to_string().as_bytes());
        body.put_u8(b':');
        body.put_slice(value.to_string().as_bytes());
    };
    body.put_slice(b"{\"metadata\":{\"name\":");
    body.put_slice(Value::from(draft.name.as_str()).to_string().as_bytes());
    if let Some(generate) = draft.metadata.get("generateName") {
        put(body, "generateName", generate);
    }
    if !draft.namespace.is_empty() {
        put(body, "namespace", &draft.namespace.as_str().into());
    }
    put(body, "uid", &own.uid.into());
    body.put_slice(b",\"resourceVersion\":\"");
    let start = body.len();
    body.put_slice(now.version.to_string().as_bytes());
    let version_at = start..body.len();
    body.put_u8(b'"');
    if now.served.has_generation() {
        put(body, "generation", &own.generation.into());
    }
    put(body, "creationTimestamp", &own.created.into());
    for (name, value) in draft.metadata.iter().filter(|(name, _)| *name != "generateName") {
        put(body, name, value);
    }
    let api_version = now.served.api_version();
    let entries: Vec<String> = managed.iter().map(|entry| entry.to_json(&api_version)).collect();
    body.put_slice(format!(",\"managedFields\":[{}]}}", entries.join(",")).as_bytes());
    version_at
}

/// The content as it follows the metadata, and where `spec` is in it.
fn write_content(content: &Map<String, Value>) -> (String, Range<usize>) {
    let mut text = String::with_capacity(4096);
    let mut spec = 0..0;
    for (name, value) in content {
        text.push(',');
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        let start = text.len();
        text.push_str(&value.to_string());
        if name == "spec" {
            spec = start..text.len();
        }
    }
    (text, spec)
}

/// The fields by which the real server selects Pods.
pub(super) const OF_PODS: [&str; 2] = ["spec.nodeName", "status.phase"];

/// The fields by which the real server selects Events.
pub(super) const OF_EVENTS: [&str; 6] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "reason",
    "type",
];

/// The fields of a kind by which the real server selects.
fn selectable(kind: &str, content: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let names: &[&'static str] = match kind {
        "Pod" => &OF_PODS,
        "Event" => &OF_EVENTS,
        _ => &[],
    };
    let value = |path: &str| {
        let mut parts = path.split('.');
        let first = content.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))?.as_str()
    };
    names.iter().map(|&name| (name, value(name).unwrap_or("").to_owned())).collect()
}
