//! The state of a server: objects, and the watch events of the recent past.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::kinds::ServedKind;
use super::managed::Author;
use super::objects::{Circumstances, Draft, Stored, StoredEntry};
use super::timestamps::seconds;
use crate::random::{mix, uuid};
use strandline_model::{Kind, Timestamp};

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
#[derive(Clone, Debug)]
struct Shelf {
    kind: Arc<ServedKind>,
    objects: BTreeMap<(String, String), StoredEntry>,
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

/// The state of a server.
#[derive(Debug)]
pub(super) struct State {
    pub(super) name: String,
    now: Timestamp,
    /// Since when the clock runs; none while it shows one time.
    running_since: Option<Instant>,
    pub(super) version: u64,
    /// Events up to this resourceVersion are no longer retained.
    pub(super) forgotten: u64,
    pub(super) window: usize,
    pub(super) events: VecDeque<WatchEvent>,
    pub(super) snapshots: VecDeque<Snapshot>,
    pub(super) next_snapshot: u64,
    shelves: BTreeMap<Kind, Shelf>,
    /// How often the store was set back: what is created after that differs from what was created before it.
    restores: u64,
}

/// A copy of a server's store, to restore it from.
#[derive(Clone, Debug)]
pub struct StoreCopy {
    version: u64,
    shelves: BTreeMap<Kind, Shelf>,
}

impl State {
    pub(super) fn new(name: &str) -> Self {
        State {
            name: name.to_owned(),
            now: Timestamp::from_micros(1_767_225_600_000_000),
            running_since: None,
            version: 1,
            forgotten: 0,
            window: 2048,
            events: VecDeque::new(),
            snapshots: VecDeque::new(),
            next_snapshot: 1,
            shelves: BTreeMap::new(),
            restores: 0,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now.plus(self.running_since.map(|since| since.elapsed()).unwrap_or_default())
    }

    pub(super) fn set_time(&mut self, now: Timestamp, runs: bool) {
        self.now = now;
        self.running_since = runs.then(Instant::now);
    }

    pub(super) fn add_kind(&mut self, kind: ServedKind) {
        let key = kind.kind.clone();
        let shelf = Shelf { kind: Arc::new(kind), objects: BTreeMap::new(), last: 0, since: self.version };
        self.shelves.entry(key).or_insert(shelf);
    }

    pub(super) fn copy(&self) -> StoreCopy {
        StoreCopy { version: self.version, shelves: self.shelves.clone() }
    }

    /// Sets the objects of all kinds that are served back to a copy; nothing is left of the events since.
    pub(super) fn restore(&mut self, copy: &StoreCopy) {
        self.version = copy.version;
        self.forgotten = copy.version;
        self.restores += 1;
        self.events.clear();
        self.snapshots.clear();
        for (kind, shelf) in &mut self.shelves {
            let before = copy.shelves.get(kind);
            shelf.objects = before.map(|before| before.objects.clone()).unwrap_or_default();
            shelf.last = before.map_or(0, |before| before.last);
            shelf.since = shelf.since.min(copy.version);
        }
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

    pub(super) fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        self.entry(kind, &(namespace.to_owned(), name.to_owned())).map(|entry| &entry.stored)
    }

    /// Stores an object and publishes the event; returns its resourceVersion, or zero for what cannot be stored.
    pub(super) fn apply(&mut self, object: Value, author: Author) -> u64 {
        let Some(draft) = Draft::read(object) else { return 0 };
        let Some(served) = self.kind(&draft.kind).cloned() else { return 0 };
        let key = (draft.namespace.clone(), draft.name.clone());
        let replaced = self
            .entry(&draft.kind, &key)
            .is_some_and(|old| draft.uid.as_ref().is_some_and(|uid| *uid != old.stored.uid));
        if replaced {
            self.delete(&draft.kind, &key.0, &key.1, false);
        }
        let before = self.entry(&draft.kind, &key);
        let version = self.version + 1;
        let (time, uid) = (seconds(self.now()), self.uid(version));
        let now = Circumstances { served: &served, author, version, time, uid };
        let unchanged = before.map_or(0, |entry| entry.version);
        match StoredEntry::after(before, draft, &now) {
            Some(entry) => {
                self.put(&served, key, entry);
                version
            }
            None => unchanged,
        }
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
        let after = entry.last(version);
        self.publish(WatchEvent { version, kind: served, before: Some(entry.stored), after, deleted: true });
        version
    }

    fn put(&mut self, served: &Arc<ServedKind>, key: (String, String), entry: StoredEntry) {
        let version = entry.version;
        self.version = version;
        let Some(shelf) = self.shelves.get_mut(&served.kind) else { return };
        shelf.last = version;
        let after = Arc::clone(&entry.stored);
        let before = shelf.objects.insert(key, entry).map(|entry| entry.stored);
        self.publish(WatchEvent { version, kind: Arc::clone(served), before, after, deleted: false });
    }

    fn publish(&mut self, event: WatchEvent) {
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

    /// The uid of an object created at this resourceVersion.
    fn uid(&self, version: u64) -> String {
        let name = self.name.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
        let name = name ^ mix(self.restores) ^ mix(0);
        uuid(mix(name ^ version), mix(mix(version) ^ name))
    }

    fn entry(&self, kind: &Kind, key: &(String, String)) -> Option<&StoredEntry> {
        self.shelves.get(kind)?.objects.get(key)
    }
}
