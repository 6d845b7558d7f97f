//! What the simulated clusters really held, and when.

use std::collections::BTreeMap;

use serde_json::Value;
use strandline::demo::api_server::ApiServer;
use strandline::model::{Kind, Timestamp};

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
        for (_, life) in self.alive(&cluster, kind).filter(|(thing, _)| thing.is_at(place)) {
            life.ended = Some(now);
            life.lost = lost;
        }
    }

    /// Ceases to serve a kind, with all its objects.
    pub(super) fn remove_kind(&mut self, server: &ApiServer, now: Timestamp, kind: &Kind) {
        server.remove_kind(&kind.group, &kind.kind);
        let cluster = server.name();
        for (_, life) in self.alive(&cluster, kind) {
            life.ended = Some(now);
            life.lost = true;
        }
    }

    fn alive(&mut self, cluster: &str, kind: &Kind) -> impl Iterator<Item = (&Thing, &mut Life)> {
        let of = move |thing: &&Thing| thing.cluster == cluster && thing.kind == *kind;
        self.lives.iter_mut().filter(move |(thing, life)| of(thing) && life.ended.is_none())
    }
}

impl Thing {
    fn is_at(&self, place: (&str, &str)) -> bool {
        (self.namespace.as_str(), self.name.as_str()) == place
    }
}
