//! What a server holds: objects, and the watch events of the recent past.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::managed::{self, Author};
use super::{ServedKind, seconds};
use crate::demo::random::{mix, uuid};
use crate::model::{Kind, Timestamp};

/// One state of an object, as lists and watches tell it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    labels: Vec<(String, String)>,
    /// What a field selector of this kind may ask for beyond name and namespace.
    fields: Vec<(&'static str, String)>,
    pub(super) version: u64,
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

    #[cfg(test)]
    pub(super) fn for_test(namespace: &str, name: &str, labels: &[(&str, &str)]) -> Self {
        let labels = labels.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let (uid, fields, body) = (String::new(), Vec::new(), Bytes::from_static(b"{}"));
        Stored { namespace, name, uid, labels, fields, version: 1, body }
    }
}

/// An object as it is now.
#[derive(Debug)]
struct Entry {
    value: Map<String, Value>,
    stored: Arc<Stored>,
}

/// One event of the retained window.
#[derive(Clone, Debug)]
pub(super) struct WatchEvent {
    pub(super) version: u64,
    pub(super) kind: Arc<ServedKind>,
    pub(super) before: Option<Arc<Stored>>,
    /// The new state, or the last one of a deleted object.
    pub(super) after: Arc<Stored>,
    pub(super) deleted: bool,
}

/// The objects of one kind.
#[derive(Debug)]
struct Shelf {
    kind: Arc<ServedKind>,
    objects: BTreeMap<(String, String), Entry>,
    /// resourceVersion of the last event of this kind.
    last: u64,
    /// When the kind was added: a watch cannot resume from before that.
    since: u64,
}

/// A list being read page by page.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) id: u64,
    pub(super) version: u64,
    pub(super) items: Arc<Vec<Arc<Stored>>>,
}

/// Everything a server holds.
#[derive(Debug)]
pub(super) struct State {
    pub(super) name: String,
    pub(super) now: Timestamp,
    pub(super) version: u64,
    /// Events up to this resourceVersion are no longer retained.
    pub(super) forgotten: u64,
    pub(super) window: usize,
    pub(super) events: VecDeque<WatchEvent>,
    pub(super) snapshots: VecDeque<Snapshot>,
    pub(super) next_snapshot: u64,
    shelves: BTreeMap<Kind, Shelf>,
}

impl State {
    pub(super) fn new(name: &str) -> Self {
        State {
            name: name.to_owned(),
            now: Timestamp::from_micros(1_767_225_600_000_000),
            version: 1,
            forgotten: 0,
            window: 2048,
            events: VecDeque::new(),
            snapshots: VecDeque::new(),
            next_snapshot: 1,
            shelves: BTreeMap::new(),
        }
    }

    pub(super) fn add_kind(&mut self, kind: ServedKind) {
        let key = kind.kind.clone();
        let shelf = Shelf { kind: Arc::new(kind), objects: BTreeMap::new(), last: 0, since: self.version };
        self.shelves.entry(key).or_insert(shelf);
    }

    pub(super) fn remove_kind(&mut self, kind: &Kind) -> bool {
        self.events.retain(|event| event.kind.kind != *kind);
        self.shelves.remove(kind).is_some()
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &Arc<ServedKind>> {
        self.shelves.values().map(|shelf| &shelf.kind)
    }

    pub(super) fn kind(&self, kind: &Kind) -> Option<&Arc<ServedKind>> {
        self.shelves.get(kind).map(|shelf| &shelf.kind)
    }

    /// The resourceVersion from which a watch of a kind can resume at the earliest.
    pub(super) fn oldest_of(&self, kind: &Kind) -> u64 {
        self.shelves.get(kind).map_or(self.forgotten, |shelf| shelf.since.max(self.forgotten))
    }

    pub(super) fn last_of(&self, kind: &Kind) -> u64 {
        self.shelves.get(kind).map_or(0, |shelf| shelf.last)
    }

    pub(super) fn objects(&self, kind: &Kind) -> impl Iterator<Item = &Arc<Stored>> {
        self.shelves.get(kind).into_iter().flat_map(|shelf| shelf.objects.values()).map(|entry| &entry.stored)
    }

    pub(super) fn values(&self, kind: &Kind) -> impl Iterator<Item = &Map<String, Value>> {
        self.shelves.get(kind).into_iter().flat_map(|shelf| shelf.objects.values()).map(|entry| &entry.value)
    }

    pub(super) fn value(&self, kind: &Kind, namespace: &str, name: &str) -> Option<&Map<String, Value>> {
        let key = (namespace.to_owned(), name.to_owned());
        self.shelves.get(kind)?.objects.get(&key).map(|entry| &entry.value)
    }

    pub(super) fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        let key = (namespace.to_owned(), name.to_owned());
        self.shelves.get(kind)?.objects.get(&key).map(|entry| &entry.stored)
    }

    /// Stores an object and tells watches; returns its resourceVersion, or zero for what cannot be stored.
    pub(super) fn apply(&mut self, object: Value, author: Author) -> u64 {
        let Value::Object(mut object) = object else { return 0 };
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
        let kind = Kind::from_api_version(text("apiVersion"), text("kind"));
        let Some(served) = self.kind(&kind).cloned() else { return 0 };
        let mut given = match object.shift_remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => return 0,
        };
        let key = key_of(&given);
        if key.1.is_empty() {
            return 0;
        }
        let replaced = self.shelves.get(&kind).and_then(|shelf| shelf.objects.get(&key)).is_some_and(|old| {
            given.get("uid").and_then(Value::as_str).is_some_and(|uid| uid != old.stored.uid)
        });
        if replaced {
            self.delete(&kind, &key.0, &key.1, false);
        }
        let before = self.shelves.get(&kind).and_then(|shelf| shelf.objects.get(&key));
        if let Some(version) = before.and_then(|entry| unchanged(entry, &given, &object)) {
            return version;
        }
        let version = self.version + 1;
        complete(&mut given, &object, before, &served, &self.birth(version));
        let managed = before.map_or_else(Vec::new, |entry| managed_fields(&entry.value));
        object.insert("metadata".into(), Value::Object(given));
        let fields = managed::record(managed, author, &served.api_version(), &seconds(self.now), &object);
        let metadata = ordered(object.shift_remove("metadata"), fields);
        let entry = Entry::new(object, metadata, version);
        self.put(&served, key, entry);
        version
    }

    /// Removes an object; `lost` keeps it from the watches. Returns the resourceVersion, zero if it was not there.
    pub(super) fn delete(&mut self, kind: &Kind, namespace: &str, name: &str, lost: bool) -> u64 {
        let key = (namespace.to_owned(), name.to_owned());
        let Some(shelf) = self.shelves.get_mut(kind) else { return 0 };
        let Some(entry) = shelf.objects.remove(&key) else { return 0 };
        self.version += 1;
        let version = self.version;
        if lost {
            return version;
        }
        shelf.last = version;
        let served = Arc::clone(&shelf.kind);
        let Entry { mut value, stored } = entry;
        let metadata = value.shift_remove("metadata").unwrap_or_default();
        let last = Entry::new(value, metadata, version);
        self.tell(WatchEvent {
            version,
            kind: served,
            before: Some(stored),
            after: last.stored,
            deleted: true,
        });
        version
    }

    fn put(&mut self, served: &Arc<ServedKind>, key: (String, String), entry: Entry) {
        let version = entry.stored.version;
        self.version = version;
        let Some(shelf) = self.shelves.get_mut(&served.kind) else { return };
        shelf.last = version;
        let after = Arc::clone(&entry.stored);
        let before = shelf.objects.insert(key, entry).map(|entry| entry.stored);
        self.tell(WatchEvent { version, kind: Arc::clone(served), before, after, deleted: false });
    }

    fn tell(&mut self, event: WatchEvent) {
        self.events.push_back(event);
        self.shrink();
    }

    /// Forgets what exceeds the window.
    pub(super) fn shrink(&mut self) {
        while self.events.len() > self.window {
            if let Some(event) = self.events.pop_front() {
                self.forgotten = event.version;
            }
        }
    }

    /// What a new object gets at birth: its uid and time.
    fn birth(&self, version: u64) -> (String, String) {
        let name = self.name.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
        (uuid(mix(name ^ version), mix(mix(version) ^ name)), seconds(self.now))
    }
}

impl Entry {
    fn new(mut value: Map<String, Value>, mut metadata: Value, version: u64) -> Self {
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".into(), version.to_string().into());
        }
        let api_version = value.shift_remove("apiVersion").unwrap_or_default();
        let kind = value.shift_remove("kind").unwrap_or_default();
        value.shift_insert(0, "metadata".into(), metadata);
        let body = Bytes::from(serde_json::to_vec(&value).unwrap_or_default());
        value.shift_insert(0, "apiVersion".into(), api_version);
        value.shift_insert(0, "kind".into(), kind);
        let stored = {
            let metadata = value.get("metadata");
            let text = |name: &str| {
                metadata.and_then(|m| m.get(name)).and_then(Value::as_str).unwrap_or("").to_owned()
            };
            let labels = metadata.and_then(|m| m.get("labels")).and_then(Value::as_object);
            let labels = labels.into_iter().flatten();
            let labels = labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect();
            let (namespace, name, uid) = (text("namespace"), text("name"), text("uid"));
            let fields = selectable(&value);
            Stored { namespace, name, uid, labels, fields, version, body }
        };
        Entry { value, stored: Arc::new(stored) }
    }
}

/// The fields of a kind by which the real server selects.
fn selectable(object: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let names: &[&'static str] = match object.get("kind").and_then(Value::as_str) {
        Some("Pod") => &["spec.nodeName", "status.phase"],
        Some("Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ],
        _ => &[],
    };
    let value = |path: &str| {
        let mut parts = path.split('.');
        let first = object.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))?.as_str()
    };
    names.iter().map(|&name| (name, value(name).unwrap_or("").to_owned())).collect()
}

fn key_of(metadata: &Map<String, Value>) -> (String, String) {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    (text("namespace"), text("name"))
}

fn managed_fields(object: &Map<String, Value>) -> Vec<Value> {
    let metadata = object.get("metadata");
    metadata.and_then(|m| m.get("managedFields")).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Fields of metadata that the server writes, not the one who applies.
const SERVERS_OWN: [&str; 5] = ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];

/// The present resourceVersion when applying this would change nothing: then nothing is told.
fn unchanged(entry: &Entry, given: &Map<String, Value>, object: &Map<String, Value>) -> Option<u64> {
    let old = entry.value.get("metadata")?.as_object()?;
    let count =
        |map: &Map<String, Value>| map.keys().filter(|key| !SERVERS_OWN.contains(&key.as_str())).count();
    let same_metadata = count(old) == count(given)
        && given
            .iter()
            .all(|(key, value)| SERVERS_OWN.contains(&key.as_str()) || old.get(key) == Some(value));
    let same = same_metadata
        && entry.value.len() == object.len() + 1
        && object.iter().all(|(key, value)| entry.value.get(key) == Some(value));
    same.then_some(entry.stored.version)
}

/// Adds what the server decides: uid, creation time and generation.
fn complete(
    given: &mut Map<String, Value>,
    object: &Map<String, Value>,
    before: Option<&Entry>,
    served: &ServedKind,
    birth: &(String, String),
) {
    let old = before.and_then(|entry| entry.value.get("metadata"));
    let kept = |name: &str| old.and_then(|metadata| metadata.get(name)).cloned();
    if !given.contains_key("uid") {
        given.insert("uid".into(), kept("uid").unwrap_or_else(|| birth.0.clone().into()));
    }
    if !given.contains_key("creationTimestamp") {
        let time = kept("creationTimestamp").unwrap_or_else(|| birth.1.clone().into());
        given.insert("creationTimestamp".into(), time);
    }
    if served.has_generation() {
        let spec_changed = before.is_some_and(|entry| entry.value.get("spec") != object.get("spec"));
        let generation = kept("generation").and_then(|value| value.as_u64());
        let generation = generation.map_or(1, |number| number + u64::from(spec_changed));
        given.insert("generation".into(), generation.into());
    }
}

/// Metadata in the order in which the real server writes it.
fn ordered(metadata: Option<Value>, managed_fields: Vec<Value>) -> Value {
    const ORDER: [&str; 11] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
    ];
    let Some(Value::Object(mut given)) = metadata else { return Value::Null };
    let mut metadata = Map::new();
    given.insert("resourceVersion".into(), Value::Null);
    for name in ORDER {
        if let Some(value) = given.shift_remove(name) {
            metadata.insert(name.into(), value);
        }
    }
    given.shift_remove("managedFields");
    metadata.extend(given);
    metadata.insert("managedFields".into(), Value::Array(managed_fields));
    Value::Object(metadata)
}
