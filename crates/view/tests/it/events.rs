//! Events in generated histories, and what they amount to by a fold in memory.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{KINDS, OBJECTS, Told, uid};
use strandline_log::Observed;
use strandline_model::*;
use strandline_protocol::FoldedEvent;
use strandline_query::testing::{self, observation};
use strandline_query::{EventFilter, PageRequest, Queries, QueryError, Scope};
use strandline_query::{ListEnvironmentEvents, ListResourceEvents};

/// Event objects, of which several say the same.
pub(super) const EVENTS: usize = 4;

/// A state of an Event object.
#[derive(Clone, Debug)]
pub(super) struct Saying {
    pub(super) event: usize,
    /// By which of its doors it is seen.
    pub(super) door: usize,
    /// Of which object it speaks.
    n: usize,
    incarnation: usize,
    by_name: bool,
    note: usize,
    count: u32,
    minute: u32,
}

pub(super) fn sayings() -> impl Strategy<Value = Saying> {
    let about = (0..OBJECTS, 0..2_usize, any::<bool>());
    ((0..EVENTS, 0..EVENT_API_GROUPS.len()), about, 0..2_usize, 0..4_u32, 0..60_u32).prop_map(
        |((event, door), (n, incarnation, by_name), note, count, minute)| Saying {
            event,
            door,
            n,
            incarnation,
            by_name,
            note,
            count,
            minute,
        },
    )
}

pub(super) fn name(event: usize) -> (String, String) {
    (format!("e{event}"), format!("event-{event}"))
}

pub(super) fn observed(said: &Saying, version: usize) -> Observed {
    let (name, own) = name(said.event);
    // Nodes, for one, have their name for a uid.
    let about = if said.by_name { format!("o{}", said.n) } else { uid(said.n, said.incarnation) };
    let object = json!({
        "apiVersion": "v1", "kind": KINDS[said.n % 3], "namespace": super::namespace(said.n), "name": format!("o{}", said.n), "uid": about,
    });
    let last = format!("2026-11-20T12:{:02}:00Z", said.minute);
    let note = format!("note {}", said.note);
    let metadata = json!({"name": name, "uid": own, "creationTimestamp": "2026-11-20T12:30:00Z"});
    let body = if EVENT_API_GROUPS[said.door].is_empty() {
        json!({"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": object, "type": "Normal",
            "reason": "Said", "message": note, "count": said.count, "lastTimestamp": last})
    } else {
        json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata, "regarding": object,
            "type": "Normal", "reason": "Said", "note": note,
            "series": {"count": said.count, "lastObservedTime": last}})
    };
    Observed::Applied(observation("shop", &name, &own, version as u64, &body))
}

/// What is said of what: kind, name and uid of the object, and the note.
type Entry = (String, String, String, String);

/// How often, and when first and last.
type Tally = (u64, Timestamp, Timestamp);

/// What all Events up to an offset amount to.
#[derive(Clone, Default)]
pub(super) struct Heard {
    counted: BTreeMap<String, u64>,
    entries: BTreeMap<Entry, Tally>,
}

impl Heard {
    pub(super) fn take(&mut self, change: &Change) {
        let Change::Applied { key, uid, body, .. } = change else { return };
        if !key.kind.is_event() {
            return;
        }
        let event: Value = serde_json::from_str(body).unwrap();
        let either = |one: &str, other: &str| {
            let found = [one, other].map(|path| event.pointer(path).cloned().unwrap_or_default());
            found.into_iter().find(|value| !value.is_null()).unwrap_or_default()
        };
        let text = |value: Value| value.as_str().unwrap().to_owned();
        let object = either("/regarding", "/involvedObject");
        let (name, about) = (text(object["name"].clone()), text(object["uid"].clone()));
        let about = if about == name { String::new() } else { about };
        let entry = (text(object["kind"].clone()), name, about, text(either("/note", "/message")));
        let first: Timestamp = text(event["metadata"]["creationTimestamp"].clone()).parse().unwrap();
        let last: Timestamp = text(either("/series/lastObservedTime", "/lastTimestamp")).parse().unwrap();
        let last = last.max(first);
        let count = either("/series/count", "/count").as_u64().unwrap().max(1);
        let counted = self.counted.entry(uid.as_str().to_owned()).or_default();
        let growth = count.saturating_sub(*counted);
        *counted = count.max(*counted);
        let tally = self.entries.entry(entry);
        tally
            .and_modify(|(count, _, newest)| (*count, *newest) = (*count + growth, last.max(*newest)))
            .or_insert((growth.max(1), first, last));
    }

    fn of<'a>(&'a self, of: &'a str) -> impl Iterator<Item = (&'a Entry, &'a Tally)> {
        let number: usize = of.split('-').nth(1).unwrap().parse().unwrap();
        let (kind, name) = (KINDS[number % 3], format!("o{number}"));
        self.entries.iter().filter(move |((of_kind, of_name, uid, _), _)| {
            uid == of || (uid.is_empty() && of_kind == kind && *of_name == name)
        })
    }
}

/// Uids of all that an entry may be about.
fn carriers((_, name, uid, _): &Entry) -> Vec<String> {
    let number = || name.trim_start_matches('o').parse().unwrap();
    if uid.is_empty() {
        (0..2).map(|incarnation| self::uid(number(), incarnation)).collect()
    } else {
        vec![uid.clone()]
    }
}

/// What is there at each offset, told without the view.
pub(super) struct History {
    pub(super) heard: Vec<Heard>,
    /// The members of each environment.
    pub(super) told: BTreeMap<&'static str, Vec<Option<Told>>>,
    /// Into which namespace each of them looks, while it is there.
    pub(super) looks: BTreeMap<&'static str, Vec<Option<String>>>,
    /// Uids of all objects.
    pub(super) alive: Vec<BTreeSet<String>>,
}

impl History {
    /// What an environment shows at an offset: of each entry the last tally that it tells.
    fn expected(&self, environment: &str, at: usize) -> BTreeMap<Entry, Tally> {
        let tally = |entry: &Entry, n: usize| self.heard[n].entries.get(entry).copied();
        let told = |entry: &Entry| {
            let mut said = (1..=at).rev().filter(|n| tally(entry, *n) != tally(entry, n - 1));
            tally(entry, said.find(|said| self.is_told(environment, &carriers(entry), *said, at))?)
        };
        self.heard[at].entries.keys().filter_map(|entry| Some((entry.clone(), told(entry)?))).collect()
    }

    /// Whether an environment tells at an offset what was said at another of what goes by a uid or a name: it had it then; or
    /// nobody had, and it had it next; or had it last, before that ended, and looks where it looked.
    fn is_told(&self, environment: &str, carriers: &[String], said: usize, at: usize) -> bool {
        let held = |name: &str, n: usize| {
            let told = self.told[name][n].as_ref()?;
            carriers.iter().find(|uid| told.members.contains_key(*uid))
        };
        let anybody = |n: &usize| self.told.keys().any(|name| held(name, *n).is_some());
        if anybody(&said) {
            return held(environment, said).is_some();
        }
        let next = (said + 1..=at).find(anybody);
        if next.is_some_and(|next| held(environment, next).is_some()) {
            return true;
        }
        let Some(last) = (0..said).rev().find(anybody) else { return false };
        let Some(of) = held(environment, last) else { return false };
        let is_end = |n: &usize| self.alive[n - 1].contains(of) && !self.alive[*n].contains(of);
        let nobody = |n: usize| carriers.iter().all(|uid| !self.alive[n].contains(uid));
        let looks = &self.looks[environment];
        let mut ends = (last + 1..=next.unwrap_or(at)).filter(is_end);
        ends.any(|end| (last..=said.max(end)).all(|n| looks[n] == looks[last]) && (end..=said).all(nobody))
    }

    /// Holds what the view tells at an offset against it.
    pub(super) async fn agrees(&self, queries: &Queries, at: usize) {
        let (scope, moment) = (&Scope::everything(), At::Offset(Offset::new(at as u64)));
        let (all, page) = (&EventFilter::default(), &PageRequest { limit: 500, after: None });
        for (name, told) in &self.told {
            if told[at].is_some() {
                let id = EnvironmentId::new(*name);
                let found = queries
                    .ask(scope, moment, ListEnvironmentEvents::new(&id, all, page))
                    .await
                    .unwrap()
                    .items;
                assert_eq!(shown(&found), self.expected(name, at), "events of {name} at {at}");
            }
        }
        // Without an environment nothing ends the telling, so that some offsets stand for all.
        if !at.is_multiple_of(8) && at + 1 < self.alive.len() {
            return;
        }
        for of in (0..OBJECTS).flat_map(|n| [uid(n, 0), uid(n, 1)]) {
            let found = queries
                .ask(scope, moment, ListResourceEvents::new(&Uid::new(of.as_str()), None, all, page))
                .await;
            let known = (0..=at).any(|n| self.alive[n].contains(&of));
            match found {
                Ok(found) => {
                    let expected =
                        self.heard[at].of(&of).map(|(entry, tally)| (entry.clone(), *tally)).collect();
                    assert_eq!(shown(&found.items), expected, "events of {of} at {at}");
                }
                Err(QueryError::NotFound { .. }) => assert!(!known, "{of} was there before {at}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// What a list shows, which must be the newest first.
fn shown(found: &[FoldedEvent]) -> BTreeMap<Entry, Tally> {
    assert!(found.is_sorted_by(|one, next| one.last_at >= next.last_at), "{found:?}");
    let entry = |event: &FoldedEvent| {
        let key = (
            event.key.kind.kind.clone(),
            event.key.name.clone(),
            event.uid.as_str().to_owned(),
            event.note.clone(),
        );
        (key, (event.count, event.first_at, event.last_at))
    };
    let shown: BTreeMap<_, _> = found.iter().map(entry).collect();
    assert_eq!(shown.len(), found.len(), "each stands once: {found:?}");
    shown
}

/// A history by hand: what is said, in order.
fn heard(steps: Vec<super::Step>) -> Vec<(String, u64)> {
    let dir = tempfile::tempdir().unwrap();
    super::record(dir.path(), &steps);
    super::project_in_bites(dir.path());
    let queries = testing::queries(dir.path(), std::sync::Arc::new(strandline_clock::SystemClock));
    let (scope, all, of) = (Scope::everything(), EventFilter::default(), Uid::new(uid(0, 0)));
    let page = PageRequest::default();
    let found =
        testing::block_on(queries.ask(&scope, At::Now, ListResourceEvents::new(&of, None, &all, &page)))
            .unwrap();
    found.items.into_iter().map(|event| (event.note, event.count)).collect()
}

#[test]
fn counts_add_up_over_objects_doors_and_notes() {
    use super::Step::{Apply, Forget, Say};
    let say = |event, door, note, count, minute| {
        Say(Saying { event, door, n: 0, incarnation: 0, by_name: false, note, count, minute })
    };
    let object = || Apply { n: 0, owner: None, carries: super::Carries::Label, health: 0, incarnation: 0 };
    let told = |expected: &[(&str, u64)]| -> Vec<_> {
        expected.iter().map(|(note, count)| ((*note).to_owned(), *count)).collect()
    };
    let before = vec![say(0, 0, 0, 3, 40), object()];
    assert_eq!(heard(before), told(&[("note 0", 3)]), "an Event may come before its object");
    let doors = vec![object(), say(0, 1, 0, 3, 40), say(0, 0, 0, 3, 40), say(0, 0, 0, 5, 41)];
    assert_eq!(heard(doors), told(&[("note 0", 5)]), "one object, however it is seen");
    let objects = vec![object(), say(0, 0, 0, 3, 40), Forget { event: 0 }, say(1, 0, 0, 2, 50)];
    assert_eq!(heard(objects), told(&[("note 0", 5)]), "two objects that say the same");
    let notes = vec![object(), say(0, 0, 0, 3, 40), say(0, 0, 1, 7, 50)];
    assert_eq!(
        heard(notes),
        told(&[("note 1", 4), ("note 0", 3)]),
        "one object that goes on to say other things"
    );
    let back = vec![object(), say(0, 0, 0, 3, 40), say(0, 0, 0, 1, 39)];
    assert_eq!(heard(back), told(&[("note 0", 3)]), "what was counted stays counted");
}
