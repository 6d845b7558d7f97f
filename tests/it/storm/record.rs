//! What the log says, folded to what is alive, and how it compares with the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use strandline_log::LogReader;
use strandline_model::{
    Change, CoverageMark, CoverageState, Kind, Offset, ResourceKey, ResourceVersion, Uid, WatchKey,
};
use strandline_object::digest::Noise;
use strandline_redact::{Rules, TypeMeta, clean};

use super::truth::Truth;
use crate::server::Result;

/// The log as far as it was read.
pub(super) struct Record {
    reader: LogReader,
    at: Offset,
    live: BTreeMap<(ResourceKey, Uid), State>,
    marks: BTreeMap<WatchKey, CoverageMark>,
    ever: BTreeSet<(Kind, Uid)>,
    rules: Rules,
}

/// The last recorded state of an object.
struct State {
    resource_version: ResourceVersion,
    body: String,
}

impl Record {
    pub(super) fn open(data: &Path) -> Result<Self> {
        let key =
            std::fs::read(data.join("redaction.key"))?.try_into().map_err(|_| "a key of another length")?;
        Ok(Record {
            reader: LogReader::open(data)?,
            at: Offset::ZERO,
            live: BTreeMap::new(),
            marks: BTreeMap::new(),
            ever: BTreeSet::new(),
            rules: Rules::new(key),
        })
    }

    /// Folds what was appended since.
    pub(super) fn read_on(&mut self) -> Result<()> {
        loop {
            let records = self.reader.after(self.at, 1000)?;
            let Some(last) = records.last() else { return Ok(()) };
            self.at = last.offset;
            for record in records {
                self.apply(record.change);
            }
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            // What was said stays said, so Events never equal what a cluster still holds.
            Change::Applied { key, .. } if key.kind.is_event() => {}
            Change::Applied { key, uid, resource_version, body, .. } => {
                self.ever.insert((key.kind.clone(), uid.clone()));
                self.live.insert((key, uid), State { resource_version, body });
            }
            Change::Deleted { key, uid, .. } => {
                let known = self.live.remove(&(key, uid));
                assert!(known.is_some(), "what was not there was deleted");
            }
            Change::Coverage(mark) => {
                self.marks.insert(mark.watch.clone(), mark);
            }
            Change::Clock(_)
            | Change::Forgotten { .. }
            | Change::Declared { .. }
            | Change::Erased(_)
            | Change::Withdrawn { .. } => {}
        }
    }

    /// The newest offset read.
    pub(super) fn head(&self) -> Offset {
        self.at
    }

    /// How many objects of a kind of the core group are alive.
    pub(super) fn live_of(&self, kind: &str) -> usize {
        self.live.keys().filter(|(key, _)| key.kind == Kind::new("", kind)).count()
    }

    /// How many there ever were.
    pub(super) fn incarnations_of(&self, kind: &str) -> usize {
        self.ever.iter().filter(|(other, _)| *other == Kind::new("", kind)).count()
    }

    pub(super) fn is_watched(&self, cluster: &str, kind: &Kind) -> bool {
        self.mark(cluster, kind).is_some_and(|mark| mark.state == CoverageState::Watched)
    }

    fn mark(&self, cluster: &str, kind: &Kind) -> Option<&CoverageMark> {
        let (cluster, kind) = (cluster.to_owned(), kind.clone());
        self.marks.get(&WatchKey { cluster, kind, namespace: String::new() })
    }

    /// What is still recorded of kinds that a cluster no longer has: their end was not seen, and that is told.
    pub(super) fn leftovers(&self, truth: &Truth) -> Vec<&(ResourceKey, Uid)> {
        let gone = |key: &ResourceKey| key.cluster == truth.cluster && !truth.kinds.contains(&key.kind);
        let leftovers: Vec<_> = self.live.keys().filter(|(key, _)| gone(key)).collect();
        for (key, _) in &leftovers {
            let mark = self.mark(truth.cluster, &key.kind);
            assert!(mark.is_some_and(|mark| mark.reason == "not_served"), "{key}: {mark:?}");
        }
        leftovers
    }
}

/// Where the record is not what kubectl says of a cluster, a line each.
pub(super) fn differences(truth: &Truth, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for (object @ (key, uid), raw) in &truth.objects {
        match record.live.get(object) {
            None => found.push(format!("{key} {uid} is not recorded")),
            Some(state) => found.extend(difference(key, raw.get(), state, &record.rules)),
        }
    }
    for object @ (key, uid) in record.live.keys() {
        let followed = key.cluster == truth.cluster && truth.kinds.contains(&key.kind);
        if followed && !truth.objects.contains_key(object) {
            found.push(format!("{key} {uid} is recorded and not there"));
        }
    }
    for kind in &truth.kinds {
        if !record.is_watched(truth.cluster, kind) {
            found.push(format!("{}/{kind} is not watched", truth.cluster));
        }
    }
    found
}

/// Whether an object differs from its recorded state by more than noise, which is not recorded.
fn difference(key: &ResourceKey, raw: &str, state: &State, rules: &Rules) -> Option<String> {
    let types = TypeMeta { api_version: "", kind: "" };
    let seen = match clean(raw, types, rules) {
        Ok(seen) => seen,
        Err(error) => return Some(format!("{key}: {error}")),
    };
    let (there, recorded) =
        (without_noise(&seen.body, &rules.noise), without_noise(&state.body, &rules.noise));
    let (version, other) = (&seen.resource_version, &state.resource_version);
    (there != recorded).then(|| format!("{key}: {version:?} {there}\n is recorded as {other:?} {recorded}"))
}

/// An object without what counts as no change.
fn without_noise(body: &str, noise: &Noise) -> Value {
    let mut object: Value = serde_json::from_str(body).unwrap_or_default();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !noise.annotations.contains(name));
        }
    }
    if let Some(status) = object.get_mut("status") {
        remove_members(status, &noise.status_members);
    }
    object
}

fn remove_members(value: &mut Value, names: &[String]) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !names.contains(name));
            members.values_mut().for_each(|member| remove_members(member, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_members(item, names)),
        _ => {}
    }
}
