//! The present of a small organization as a naive fold over the log leaves it: plain maps, everything computed anew, by
//! the definitions and without a look at the view.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::catalog::{Catalog, Declared};
use super::missed::Missed;
use super::*;
use strandline_model::{
    Change, CoverageMark, CoverageState, DeletionCause, HealthCounts, Kind, Offset, Record, ResourceId,
    ResourceKey, Target, Timestamp, Verdict, WatchKey,
};
use strandline_object::Object;
use strandline_relations::{Direction, EdgeKind, EdgeRef, Far, Relations};

/// A resource that is there.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) key: ResourceKey,
    pub(super) uid: Uid,
    pub(super) verdict: Verdict,
    /// When it is judged anew if nothing changes until then.
    pub(super) due: Option<Timestamp>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) health_since: Timestamp,
    pub(super) offset: Offset,
    pub(super) observed_at: Timestamp,
    pub(super) terminating: Option<Timestamp>,
    pub(super) body: Value,
    pub(super) edges: Vec<EdgeRef>,
    labels: BTreeMap<String, String>,
    marks: BTreeSet<String>,
}

/// One line of a resource's history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) offset: Offset,
    pub(super) health: Option<Health>,
    /// None while it is there.
    pub(super) cause: Option<DeletionCause>,
}

/// The health of an environment as it went.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub(super) now: Option<Standing>,
    /// What was known before that, since another time.
    earlier: Option<Standing>,
    /// When it came to be so; none for no health, and for no environment.
    pub(super) moves: Vec<(Timestamp, Option<Health>)>,
}

/// The health of an environment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standing {
    pub(super) state: Option<Health>,
    pub(super) since: Timestamp,
    known: Option<Health>,
    known_since: Timestamp,
    pub(super) counts: HealthCounts,
}

impl Standing {
    pub(super) fn last_known(&self) -> Option<Health> {
        self.known.filter(|_| self.state != self.known)
    }
}

/// What an environment is and holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) declared: Declared,
    /// Its members, each with its first owner among them.
    pub(super) members: BTreeMap<ResourceId, Option<ResourceId>>,
}

/// The present.
#[derive(Clone, Debug, Default)]
pub(super) struct Present {
    pub(super) offset: Offset,
    pub(super) time: Timestamp,
    pub(super) things: BTreeMap<ResourceId, Thing>,
    pub(super) histories: BTreeMap<ResourceId, Vec<Told>>,
    /// When each resource was created, as the first that was seen of it tells.
    created: BTreeMap<ResourceId, Option<Timestamp>>,
    /// Where each resource stands, be it there or gone.
    pub(super) keys: BTreeMap<ResourceId, (ResourceKey, Uid)>,
    pub(super) coverage: BTreeMap<WatchKey, CoverageMark>,
    pub(super) missed: Missed,
    pub(super) catalog: Catalog,
    pub(super) environments: BTreeMap<EnvironmentId, Held>,
    pub(super) courses: BTreeMap<EnvironmentId, Course>,
    /// What the last change touched.
    pub(super) touched: (BTreeSet<EnvironmentId>, Option<ResourceId>),
}

impl Present {
    pub(super) fn take(&mut self, record: &Record) {
        (self.offset, self.time) = (record.offset, record.observed_at);
        self.touched = Default::default();
        let own = match &record.change {
            Change::Applied { id, .. } | Change::Deleted { id, .. } => Some(*id),
            _ => None,
        };
        self.judge_anew(own);
        match &record.change {
            Change::Applied { key, .. } | Change::Deleted { key, .. } if key.kind.is_event() => {}
            Change::Applied { id, key, uid, body, .. } => {
                self.touched.1 = Some(*id);
                self.keys.insert(*id, (key.clone(), uid.clone()));
                let mut thing = self.thing(key, uid, body, self.things.get(id));
                thing.created_at = *self.created.entry(*id).or_insert(thing.created_at);
                let told = Told { offset: record.offset, health: thing.verdict.health, cause: None };
                self.histories.entry(*id).or_default().push(told);
                self.things.insert(*id, thing);
            }
            Change::Deleted { id, cause, .. } => {
                self.touched.1 = Some(*id);
                let told = Told { offset: record.offset, health: None, cause: Some(*cause) };
                self.histories.entry(*id).or_default().push(told);
                self.things.remove(id);
            }
            Change::Clock(_) | Change::Erased(_) | Change::Forgotten { .. } => {}
            Change::Coverage(mark) => {
                self.missed.take(mark, record.observed_at);
                if mark.until.is_none() {
                    self.coverage.insert(mark.watch.clone(), mark.clone());
                }
            }
            Change::Declared { .. } | Change::Withdrawn { .. } => self.catalog.take(record),
        }
        self.settle();
    }

    /// That it is this late at an offset whose change is not known.
    pub(super) fn pass_time(&mut self, offset: Offset, time: Timestamp) {
        (self.offset, self.time) = (offset, time);
        self.judge_anew(None);
        self.settle();
    }

    /// What has lasted for too long by now, but for the one that takes another state.
    fn judge_anew(&mut self, own: Option<ResourceId>) {
        for (_, thing) in self.things.iter_mut().filter(|(id, _)| own != Some(**id)) {
            let Some(due) = thing.due.take_if(|due| *due <= self.time) else { continue };
            let before = thing.verdict.health;
            thing.verdict = thing.verdict.clone().outlasted();
            if thing.verdict.health != before {
                thing.health_since = due;
            }
        }
    }

    /// What does not depend on since when it has been so.
    pub(super) fn substance(&self) -> String {
        let things: Vec<_> =
            self.things.iter().map(|(id, t)| (id, &t.key, &t.uid, &t.body, t.offset)).collect();
        let healths: Vec<_> = self
            .courses
            .values()
            .filter_map(|course| course.now.as_ref())
            .map(|now| (now.state, now.known, now.counts))
            .collect();
        format!("{things:?}\n{:?}\n{healths:?}\n{:?}", self.environments, self.coverage)
    }

    fn thing(&self, key: &ResourceKey, uid: &Uid, body: &str, before: Option<&Thing>) -> Thing {
        let object = Object::parse(body);
        let verdict = match &object {
            Ok(object) => strandline_health::assess(object).seen_at(self.time),
            Err(error) => Verdict {
                health: Some(Health::Unknown),
                reason: "Unreadable".into(),
                message: error.to_string(),
                rule: "unreadable".into(),
                later: None,
            },
        };
        let object = object.ok();
        let same = before.filter(|before| before.verdict.health == verdict.health);
        let labels = object.iter().flat_map(|object| &object.metadata.labels);
        let marks = object.iter().flat_map(strandline_object::gitops_marks::marks);
        Thing {
            key: key.clone(),
            uid: uid.clone(),
            created_at: object.as_ref().and_then(|object| object.metadata.creation_timestamp),
            health_since: same.map_or(self.time, |before| before.health_since),
            offset: self.offset,
            observed_at: self.time,
            due: verdict.later.as_ref().map(|later| later.due(self.time)),
            terminating: object.as_ref().and_then(|object| object.metadata.deletion_timestamp),
            body: serde_json::from_str(body).unwrap(),
            edges: object
                .iter()
                .flat_map(|o| strandline_relations::edges(o, &Relations::default()))
                .collect(),
            labels: labels.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            marks: marks.map(|mark| mark.to_string()).collect(),
            verdict,
        }
    }

    /// What stands at the far end of an edge that a resource declares.
    pub(super) fn far(&self, of: ResourceId, edge: &EdgeRef) -> Vec<ResourceId> {
        let near = &self.things[&of].key;
        let is_far = |id: ResourceId, thing: &Thing| {
            let of_kind = |kind: &Kind| thing.key.kind == *kind;
            let here = match &edge.far {
                Far::Uid { uid, .. } => thing.uid == *uid,
                Far::Key { kind, namespace, name } => {
                    of_kind(kind) && thing.key.namespace == *namespace && thing.key.name == *name
                }
                Far::Every { kind } => of_kind(kind),
                Far::Numbered { kind, namespace, stem } => {
                    of_kind(kind)
                        && thing.key.namespace == *namespace
                        && strandline_relations::numbered(kind, &thing.key.name) == Some(stem)
                }
                Far::Matching { kind, namespace, selector } => {
                    of_kind(kind)
                        && (namespace.is_empty() || thing.key.namespace == *namespace)
                        && selector.matches(|name| thing.labels.get(name).map(String::as_str))
                }
            };
            here && id != of && thing.key.cluster == near.cluster
        };
        self.things.iter().filter(|(id, thing)| is_far(**id, thing)).map(|(id, _)| *id).collect()
    }

    /// All links between what is there, from cause to dependent.
    pub(super) fn links(&self) -> Vec<(ResourceId, ResourceId, EdgeKind)> {
        let mut links = Vec::new();
        for (id, thing) in &self.things {
            for edge in &thing.edges {
                for far in self.far(*id, edge) {
                    let outward = edge.direction == Direction::ToFar;
                    let (from, to) = if outward { (*id, far) } else { (far, *id) };
                    links.push((from, to, edge.kind));
                }
            }
        }
        links
    }

    /// Settles all environments anew.
    fn settle(&mut self) {
        let links = self.links().into_iter().filter(|(.., kind)| *kind == EdgeKind::Owns);
        let mut owners: BTreeMap<ResourceId, BTreeSet<ResourceId>> = BTreeMap::new();
        for (owner, owned, _) in links {
            owners.entry(owned).or_default().insert(owner);
        }
        let regions = self.regions();
        let known: BTreeSet<EnvironmentId> =
            self.catalog.environments.keys().chain(self.courses.keys()).cloned().collect();
        for id in known {
            let held = self.catalog.environment(&id, &regions).map(|declared| {
                let members = self.members(&declared.targets, &owners);
                Held { declared, members }
            });
            let standing = held.as_ref().map(|held| self.standing(&id, held));
            self.go(id, held, standing);
        }
    }

    /// What Nodes say of the regions of their clusters.
    fn regions(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut regions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for thing in self.things.values().filter(|thing| thing.key.kind == Kind::new("", "Node")) {
            if let Some(region) = thing.labels.get("topology.kubernetes.io/region") {
                regions.entry(thing.key.cluster.clone()).or_default().insert(region.clone());
            }
        }
        regions
    }

    /// What matches a target, and whatever hangs below it.
    fn members(
        &self,
        targets: &[Target],
        owners: &BTreeMap<ResourceId, BTreeSet<ResourceId>>,
    ) -> BTreeMap<ResourceId, Option<ResourceId>> {
        let matches = |thing: &Thing, target: &Target| {
            let (key, wanted) = (&thing.key, target.inventory.as_ref().map(ToString::to_string));
            let anywhere = wanted.is_some() && target.namespace.is_empty();
            key.cluster == target.cluster
                && (anywhere || (!target.namespace.is_empty() && key.namespace == target.namespace))
                && target.labels.iter().all(|(name, value)| thing.labels.get(name) == Some(value))
                && wanted.is_none_or(|mark| thing.marks.contains(&mark))
        };
        let matched = |thing: &Thing| targets.iter().any(|target| matches(thing, target));
        let mut members: BTreeSet<ResourceId> =
            self.things.iter().filter(|(_, thing)| matched(thing)).map(|(id, _)| *id).collect();
        let none = BTreeSet::new();
        let owners = |id: &ResourceId| owners.get(id).unwrap_or(&none);
        loop {
            let below = self.things.keys().filter(|id| !owners(id).is_disjoint(&members));
            let more: Vec<_> = below.filter(|id| !members.contains(id)).copied().collect();
            if more.is_empty() {
                break;
            }
            members.extend(more);
        }
        members.iter().map(|id| (*id, owners(id).intersection(&members).next().copied())).collect()
    }

    /// The health of an environment: the worst of what has no owner inside it, unless something it holds is not watched.
    fn standing(&self, id: &EnvironmentId, held: &Held) -> Standing {
        let health = |id: &ResourceId| self.things[id].verdict.health;
        let by_itself =
            |id: &ResourceId| strandline_view::ruleset::counts_by_itself(&self.things[id].key.kind);
        let roots = held.members.iter().filter(|(id, owner)| owner.is_none() || by_itself(id));
        let known = roots.filter_map(|(id, _)| health(id)).max();
        let mut counts = HealthCounts::default();
        held.members.keys().for_each(|id| *counts.slot(health(id)) += 1);
        let course = self.courses.get(id);
        let before = course.and_then(|course| course.now.as_ref());
        // What lasts no time does not end what was before it.
        let is_over_at_once = before.is_some_and(|before| before.known_since == self.time);
        let earlier = course.and_then(|course| course.earlier.as_ref()).filter(|_| is_over_at_once);
        let same = before.into_iter().chain(earlier).find(|before| before.known == known);
        let known_since = same.map_or(self.time, |before| before.known_since);
        let (state, since) = match self.blind_since(held) {
            Some(since) => (Some(Health::Unknown), since),
            None => (known, known_since),
        };
        Standing { state, since, known, known_since, counts }
    }

    /// Since when something that an environment holds, or its cluster as a whole, has not been watched.
    fn blind_since(&self, held: &Held) -> Option<Timestamp> {
        let watched = |watch: WatchKey| {
            self.coverage.get(&watch).is_some_and(|mark| mark.state == CoverageState::Watched)
        };
        let concerns = |mark: &CoverageMark, target: &Target| {
            let watch = &mark.watch;
            let here = watch.cluster == target.cluster
                && (target.namespace.is_empty()
                    || ["", &target.namespace].contains(&watch.namespace.as_str()));
            let of_kind = |id: &ResourceId| {
                let key = &self.things[id].key;
                key.cluster == watch.cluster && key.kind == watch.kind
            };
            let narrower = WatchKey { namespace: target.namespace.clone(), ..watch.clone() };
            here && (watch.is_discovery() || held.members.keys().any(of_kind))
                && (!watch.namespace.is_empty() || !watched(narrower))
        };
        let gaps = self.coverage.values().filter(|mark| mark.state == CoverageState::Gap);
        let concerning =
            gaps.filter(|mark| held.declared.targets.iter().any(|target| concerns(mark, target)));
        concerning.map(|mark| mark.since).min()
    }

    /// Takes over how an environment is.
    fn go(&mut self, id: EnvironmentId, held: Option<Held>, standing: Option<Standing>) {
        let course = self.courses.entry(id.clone()).or_default();
        let health = standing.as_ref().and_then(|standing| standing.state);
        // Of several states at one time the last holds.
        if course.moves.last().is_some_and(|(time, _)| *time == self.time) {
            course.moves.pop();
        }
        let goes_on = course.moves.last().is_some_and(|(_, before)| *before == health);
        if !goes_on {
            course.moves.push((self.time, health));
        }
        let holds = |held: &Held| self.touched.1.is_some_and(|id| held.members.contains_key(&id));
        let before = self.environments.get(&id);
        if course.now != standing || before != held.as_ref() || held.as_ref().is_some_and(holds) {
            self.touched.0.insert(id.clone());
        }
        let since = |standing: &Option<Standing>| standing.as_ref().map(|standing| standing.known_since);
        course.earlier = match std::mem::replace(&mut course.now, standing) {
            before if course.now.is_some() && since(&before) != since(&course.now) => before,
            _ if course.now.is_none() => None,
            _ => course.earlier.take(),
        };
        match held {
            Some(held) => _ = self.environments.insert(id, held),
            None => _ = self.environments.remove(&id),
        }
    }
}
