//! What the simulated clusters really held, and when.

use std::collections::BTreeMap;

use serde_json::Value;
use strandline_model::{Kind, ResourceKey, Timestamp, Uid};
use strandline_sim::api_server::ApiServer;

/// Which object: cluster, kind, namespace, name and uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Thing {
    pub(super) cluster: String,
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

/// One state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) since: Timestamp,
    pub(super) version: String,
    pub(super) round: String,
}

/// The life of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) states: Vec<State>,
    pub(super) ended: Option<Timestamp>,
    /// Its end was never told to any watch.
    pub(super) lost: bool,
}

/// Everything that happened.
#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) lives: BTreeMap<Thing, Life>,
    /// From when on each thing was in which state, as [`state_name`] has it, empty where it was not there.
    timelines: BTreeMap<Thing, Vec<(Timestamp, String)>>,
    /// When the end of a thing was first kept from the watches.
    lost: BTreeMap<Thing, Timestamp>,
    /// When a store that had been set back first gave a thing a version that it had had before in another state.
    reused: BTreeMap<Thing, Timestamp>,
}

impl Truth {
    /// Stores an object whose state is told apart from every other by `round`.
    pub(super) fn apply(
        &mut self,
        server: &ApiServer,
        now: Timestamp,
        kind: &Kind,
        place: (&str, &str),
        round: u64,
    ) {
        let (namespace, name) = place;
        let api_version = match kind.group.as_str() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        let object = serde_json::json!({
            "apiVersion": api_version, "kind": kind.kind,
            "metadata": {"namespace": namespace, "name": name, "annotations": {"round": round.to_string()}},
        });
        if server.apply(object) == 0 {
            return;
        }
        let Some(stored) = server.object(&kind.group, &kind.kind, namespace, name) else { return };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = State {
            since: now,
            version: text(&stored["metadata"]["resourceVersion"]),
            round: round.to_string(),
        };
        let thing = Thing {
            cluster: server.name(),
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: text(&stored["metadata"]["uid"]),
        };
        let (name, version) = (state_name(&state.version, &state.round), state_name(&state.version, ""));
        let timeline = self.timelines.entry(thing.clone()).or_default();
        if timeline.iter().any(|(_, before)| before.starts_with(&version)) {
            self.reused.entry(thing.clone()).or_insert(now);
        }
        timeline.push((now, name));
        self.lives.entry(thing).or_default().states.push(state);
    }

    /// Removes an object.
    pub(super) fn delete(
        &mut self,
        server: &ApiServer,
        now: Timestamp,
        kind: &Kind,
        place: (&str, &str),
        lost: bool,
    ) {
        if server.delete(&kind.group, &kind.kind, place.0, place.1) == 0 {
            return;
        }
        let cluster = server.name();
        let mut ended = Vec::new();
        for (thing, life) in self.alive(&cluster, kind).filter(|(thing, _)| thing.is_at(place)) {
            life.ended = Some(now);
            life.lost = lost;
            ended.push(thing.clone());
        }
        self.end(ended, now);
    }

    /// Ceases to serve a kind, with all its objects.
    pub(super) fn remove_kind(&mut self, server: &ApiServer, now: Timestamp, kind: &Kind) {
        server.remove_kind(&kind.group, &kind.kind);
        let cluster = server.name();
        let mut ended = Vec::new();
        for (thing, life) in self.alive(&cluster, kind) {
            life.ended = Some(now);
            life.lost = true;
            ended.push(thing.clone());
        }
        self.end(ended, now);
    }

    /// What a cluster holds, to be set back to later.
    pub(super) fn copy(&self, cluster: &str) -> BTreeMap<Thing, String> {
        let of = |thing: &&Thing| thing.cluster == cluster;
        let last = |(_, state): &(Timestamp, String)| state.clone();
        let now = self.timelines.iter().filter(|(thing, _)| of(thing));
        now.map(|(thing, states)| (thing.clone(), states.last().map(last).unwrap_or_default())).collect()
    }

    /// A cluster is set back to what it held: things are again as they were then, or not there again.
    pub(super) fn restore(&mut self, cluster: &str, now: Timestamp, copy: &BTreeMap<Thing, String>) {
        for (thing, states) in self.timelines.iter_mut().filter(|(thing, _)| thing.cluster == cluster) {
            let state = copy.get(thing).cloned().unwrap_or_default();
            if let Some(life) = self.lives.get_mut(thing) {
                life.ended = state.is_empty().then(|| life.ended.unwrap_or(now));
            }
            if states.last().is_none_or(|(_, last)| *last != state) {
                states.push((now, state));
            }
        }
    }

    fn end(&mut self, things: Vec<Thing>, now: Timestamp) {
        for thing in things {
            if self.lives.get(&thing).is_some_and(|life| life.lost) {
                self.lost.entry(thing.clone()).or_insert(now);
            }
            self.timelines.entry(thing).or_default().push((now, String::new()));
        }
    }

    /// The states that a thing was in between two moments, empty where it was not there.
    pub(super) fn states(&self, thing: &Thing, from: Timestamp, to: Timestamp) -> impl Iterator<Item = &str> {
        let timeline = self.timelines.get(thing).map_or(&[][..], Vec::as_slice);
        let first = timeline.partition_point(|(since, _)| *since <= from);
        let before = first.checked_sub(1).map_or("", |index| timeline[index].1.as_str());
        let during = timeline[first..].iter().take_while(move |(since, _)| *since <= to);
        std::iter::once(before).chain(during.map(|(_, version)| version.as_str()))
    }

    /// Whether there is a way to know how a thing was at a moment: not where a server keeps an end to itself, nor where
    /// one version stands for two states.
    pub(super) fn is_answerable(&self, thing: &Thing, time: Timestamp) -> bool {
        let before = |since: Option<&Timestamp>| since.is_none_or(|since| time < *since);
        before(self.lost.get(thing)) && before(self.reused.get(thing))
    }

    /// When anything happened.
    pub(super) fn times(&self) -> Vec<Timestamp> {
        self.timelines.values().flatten().map(|(since, _)| *since).collect()
    }

    fn alive(&mut self, cluster: &str, kind: &Kind) -> impl Iterator<Item = (&Thing, &mut Life)> {
        let of = move |thing: &&Thing| thing.cluster == cluster && thing.kind == *kind;
        self.lives.iter_mut().filter(move |(thing, life)| of(thing) && life.ended.is_none())
    }
}

/// A state told apart from every other: a store that was set back gives the same version to another state.
pub(super) fn state_name(version: &str, round: &str) -> String {
    format!("{version} round {round}")
}

impl Thing {
    pub(super) fn of(key: &ResourceKey, uid: &Uid) -> Self {
        Thing {
            cluster: key.cluster.clone(),
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: uid.to_string(),
        }
    }

    fn is_at(&self, place: (&str, &str)) -> bool {
        (self.namespace.as_str(), self.name.as_str()) == place
    }
}
