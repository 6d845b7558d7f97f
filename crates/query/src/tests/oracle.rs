//! What a scope should see, told without it: from what the whole world shows at each offset, and from what was
//! recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::*;
use strandline_model::{Offset, Places, Timestamp};

/// Cluster and uid of a resource.
pub(super) type Name = (String, String);

/// Whose world it is: members of projects, who may read places besides.
pub(super) struct Eyes {
    pub(super) projects: Vec<&'static str>,
    pub(super) places: Places,
}

impl Eyes {
    pub(super) fn of(projects: &[&'static str], places: &[(&str, &str)]) -> Self {
        let places =
            places.iter().map(|(cluster, namespace)| ((*cluster).to_owned(), (*namespace).to_owned()));
        Eyes { projects: projects.to_vec(), places: Places::new(places) }
    }

    pub(super) fn scope(&self) -> Scope {
        let projects = Scope::projects(self.projects.iter().map(|&path| path.to_owned()));
        projects.with_places(self.places.clone())
    }

    fn see<'t>(&self, project: &str, targets: impl IntoIterator<Item = (&'t str, &'t str)>) -> bool {
        let mut targets =
            targets.into_iter().map(|(cluster, namespace)| self.places.holds(cluster, namespace));
        let (first, others) = (targets.next(), targets.all(|held| held));
        self.projects.contains(&project) || (first == Some(true) && others)
    }

    fn see_spec(&self, of: &EnvironmentSpec) -> bool {
        self.see(&of.project, of.targets.iter().map(|it| (it.cluster.as_str(), it.namespace.as_str())))
    }

    fn see_environment(&self, of: &Environment) -> bool {
        self.see(&of.project, of.targets.iter().map(|it| (it.cluster.as_str(), it.namespace.as_str())))
    }
}

/// When which resources belonged to whom, offset by offset.
pub(super) struct Oracle {
    /// For each resource, the offsets at which it belonged to some environment, with the time of the state it had
    /// then, and whether one of those environments can be seen.
    belonged: BTreeMap<Name, Vec<(Offset, Timestamp, bool)>>,
    /// For each environment and resource, the offsets at which it held the resource and could be seen.
    held: BTreeMap<(EnvironmentId, Name), Vec<Offset>>,
    /// For each environment, at which offsets it was there: whose it was, and where it looked.
    owned: BTreeMap<EnvironmentId, BTreeMap<Offset, Owned>>,
    /// For each resource, the offsets at which it was there.
    present: BTreeMap<Name, BTreeSet<Offset>>,
    /// For each resource, what Events said of it, with their ids, in the order in which that was said.
    said: BTreeMap<Name, Vec<(Offset, String, String)>>,
}

/// A project, and clusters with their namespaces.
type Owned = (String, BTreeSet<(String, String)>);

impl Oracle {
    /// Asks the whole world at each of its offsets, and what Events say of some resources.
    pub(super) async fn of(world: &World, eyes: &Eyes, spoken_of: &BTreeSet<Name>) -> Self {
        let (all, mut belonged) = (&Scope::everything(), BTreeMap::<Name, Vec<_>>::new());
        let mut held_by = BTreeMap::<_, Vec<_>>::new();
        let mut owned = BTreeMap::<_, BTreeMap<_, _>>::new();
        let mut present = BTreeMap::<Name, BTreeSet<_>>::new();
        let (mut said, mut known) = (BTreeMap::<Name, Vec<_>>::new(), BTreeSet::new());
        let (any, every, page) = (&EnvironmentFilter::default(), &ResourceFilter::default(), &whole());
        for offset in 0..=world.heads[world.last()].get() {
            let (offset, at) = (Offset::new(offset), At::Offset(Offset::new(offset)));
            let environments = world.queries.ask(all, at, ListEnvironments::new(any, page));
            let mut here = BTreeMap::<Name, (Timestamp, bool)>::new();
            for environment in environments.await.unwrap().items {
                let places = environment.targets.iter().map(|it| (it.cluster.clone(), it.namespace.clone()));
                let owner = (environment.project.clone(), places.collect());
                owned.entry(environment.id.clone()).or_default().insert(offset, owner);
                let held =
                    world.queries.ask(all, at, ListEnvironmentResources::new(&environment.id, every, page));
                for item in held.await.unwrap().items {
                    let name = (item.key.cluster, item.id.as_str().to_owned());
                    let visible = eyes.see_environment(&environment);
                    if visible {
                        held_by.entry((environment.id.clone(), name.clone())).or_default().push(offset);
                    }
                    here.entry(name).or_insert((item.observed_at, false)).1 |= visible;
                }
            }
            for (name, (state, visible)) in here {
                belonged.entry(name).or_default().push((offset, state, visible));
            }
            let found = SearchResources::new(&ResourceSearch::default(), page);
            for found in world.queries.ask(all, at, found).await.unwrap().items {
                let name = (found.resource.key.cluster, found.resource.id.to_string());
                present.entry(name).or_default().insert(offset);
            }
            for name in spoken_of.iter().filter(|name| present.contains_key(*name)) {
                let (uid, cluster) = (Uid::new(name.1.as_str()), Some(name.0.as_str()));
                let question = ListResourceEvents::new(&uid, cluster, &EventFilter::default(), page);
                for event in world.queries.ask(all, at, question).await.unwrap().items {
                    let text = serde_json::to_string(&event).unwrap();
                    if known.insert((name.clone(), text.clone())) {
                        said.entry(name.clone()).or_default().push((offset, event.id, text));
                    }
                }
            }
        }
        Oracle { belonged, held: held_by, owned, present, said }
    }

    /// What Events said of a resource by an offset, as far as one environment tells it, or any; none where it never was there
    /// in sight.
    pub(super) fn told(
        &self,
        of: Option<&EnvironmentId>,
        name: &Name,
        at: Offset,
    ) -> Option<BTreeSet<String>> {
        let ids =
            self.held.iter().filter(|((_, held), offsets)| held == name && offsets.first() <= Some(&at));
        let ids: Vec<_> = ids.map(|((id, _), _)| id).filter(|id| of.is_none_or(|of| of == *id)).collect();
        let said = self
            .said
            .get(name)
            .into_iter()
            .flatten()
            .filter(|(said, ..)| *said <= at && ids.iter().any(|id| self.is_told(id, name, *said, at)));
        let newest: BTreeMap<_, _> = said.map(|(_, event, text)| (event, text.clone())).collect();
        (!ids.is_empty()).then(|| newest.into_values().collect())
    }

    /// Whether an environment tells at an offset what was said at another: it had the resource then; or nobody had, and it had it
    /// next; or had it last, before it ended, and has the audience of then.
    fn is_told(&self, id: &EnvironmentId, name: &Name, said: Offset, at: Offset) -> bool {
        let here = self.held.get(&(id.clone(), name.clone())).map_or(&[][..], Vec::as_slice);
        let all = self.belonged.get(name).map_or(&[][..], Vec::as_slice);
        let anywhere: Vec<_> =
            all.iter().map(|(offset, ..)| *offset).filter(|offset| *offset <= at).collect();
        if anywhere.contains(&said) {
            return here.contains(&said);
        }
        let next = anywhere.iter().find(|offset| **offset > said);
        let last = anywhere.iter().rfind(|offset| **offset < said);
        if next.is_some_and(|next| here.contains(next)) {
            return true;
        }
        let Some(last) = last.filter(|last| here.contains(last)) else { return false };
        let (owned, present) = (self.owned.get(id), &self.present[name]);
        let owner = |offset: i64| owned.and_then(|owned| owned.get(&Offset::from_i64(offset)));
        let mut ends = (last.as_i64() + 1..=next.unwrap_or(&at).as_i64())
            .map(Offset::from_i64)
            .filter(|end| present.contains(&Offset::from_i64(end.as_i64() - 1)) && !present.contains(end));
        ends.any(|end| {
            let keeps = (last.as_i64()..=said.max(end).as_i64()).all(|n| owner(n) == owner(last.as_i64()));
            keeps && (end > said || present.range(end..=said).next().is_none())
        })
    }

    fn visible(&self, name: &Name, until: Offset) -> impl Iterator<Item = &(Offset, Timestamp, bool)> {
        let all = self.belonged.get(name).map_or(&[][..], Vec::as_slice);
        all.iter().filter(move |(offset, _, visible)| *visible && *offset <= until)
    }

    /// Whether it is in sight at an offset.
    pub(super) fn sees(&self, name: &Name, at: Offset) -> bool {
        self.visible(name, at).any(|(offset, ..)| *offset == at)
    }

    /// Whether it was in sight at an offset or before.
    pub(super) fn saw(&self, name: &Name, at: Offset) -> bool {
        self.visible(name, at).next().is_some()
    }

    /// The last offset up to another at which it was in sight, with the time of the state it had then.
    pub(super) fn last(&self, name: &Name, at: Offset) -> Option<(Offset, Timestamp)> {
        self.visible(name, at).map(|(offset, state, _)| (*offset, *state)).max()
    }

    /// Whether a version, or an end, is to be told at an offset.
    pub(super) fn tells(&self, name: &Name, version: &Version, full: Offset, at: Offset) -> bool {
        match version.change {
            VersionChange::Applied => {
                self.visible(name, at).any(|(_, state, _)| *state == version.observed_at)
            }
            VersionChange::Deleted => {
                let all = self.belonged.get(name).map_or(&[][..], Vec::as_slice);
                all.iter().rfind(|(offset, ..)| *offset < full).is_some_and(|(.., visible)| *visible)
            }
        }
    }
}

/// The resources that Events speak of.
pub(super) fn spoken_of(events: &[Event]) -> BTreeSet<Name> {
    let spoken_of = events.iter().filter_map(|event| match event {
        Event::Say(Remark { about, .. }) => Some((about.cluster.clone(), about.uid.clone())),
        _ => None,
    });
    spoken_of.collect()
}

/// What happens without the others: their environments, and resources that never were in sight.
pub(super) fn without_others(events: &[Event], eyes: &Eyes, sight: &Oracle) -> Vec<Event> {
    let seen =
        |thing: &Thing| sight.saw(&(thing.cluster.clone(), thing.uid.clone()), Offset::from_i64(i64::MAX));
    let reduce = |event: &Event| match event {
        Event::Declare(environments) => {
            let ours = environments.iter().filter(|e| eyes.see_spec(e));
            Event::Declare(ours.cloned().collect())
        }
        Event::Apply(thing) | Event::Delete(thing) if !seen(thing) => Event::Nothing,
        Event::Say(remark) if !seen(&remark.about) => Event::Nothing,
        other => other.clone(),
    };
    events.iter().map(reduce).collect()
}

/// Clusters and namespaces that the environments in sight look at, and the kinds watched there.
pub(super) struct Reach {
    places: BTreeSet<(String, String)>,
    watched: BTreeSet<(String, String, String)>,
}

impl Reach {
    pub(super) fn after(events: &[Event], eyes: &Eyes) -> Self {
        let (mut places, mut watched) = (BTreeSet::new(), BTreeSet::new());
        for event in events {
            match event {
                Event::Declare(environments) => {
                    let ours = environments.iter().filter(|e| eyes.see_spec(e));
                    let targets = ours.flat_map(|e| &e.targets);
                    places =
                        targets.map(|target| (target.cluster.clone(), target.namespace.clone())).collect();
                }
                Event::Mark { cluster, kind, namespace, gap } => {
                    let key = (cluster.clone(), kind.clone(), namespace.clone());
                    if *gap {
                        watched.remove(&key)
                    } else {
                        watched.insert(key)
                    };
                }
                _ => {}
            }
        }
        Reach { places, watched }
    }

    fn holds(&self, cluster: &str, namespace: &str) -> bool {
        let place = |(c, n): &(String, String)| c == cluster && (namespace.is_empty() || n == namespace);
        self.places.iter().any(place)
    }

    /// Leaves out of an answer what lies beyond: the gaps, and what follows from them.
    pub(super) fn limit(&self, value: &mut Value) {
        let Value::Object(members) = value else {
            value.as_array_mut().into_iter().flatten().for_each(|item| self.limit(item));
            return;
        };
        members.values_mut().for_each(|member| self.limit(member));
        let Some(gaps) = members.get_mut("gaps").and_then(Value::as_array_mut) else { return };
        gaps.retain(|gap| self.holds(gap["cluster"].as_str().unwrap(), gap["namespace"].as_str().unwrap()));
        let (none, since) = (gaps.is_empty(), gaps.iter().map(|gap| gap["since"].to_string()).min());
        if members.contains_key("complete") {
            members.insert("complete".into(), none.into());
        }
        if members.contains_key("kinds_watched") {
            let id = members["id"].as_str().unwrap().to_owned();
            let here = self.watched.iter().filter(|(c, k, n)| *c == id && !k.is_empty() && self.holds(c, n));
            let kinds = here.map(|(_, kind, _)| kind).collect::<BTreeSet<_>>().len();
            members.insert("kinds_watched".into(), kinds.into());
            members.insert("watched".into(), (none && kinds > 0).into());
            let since = since.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
            members.insert("unwatched_since".into(), since);
        }
    }
}

/// An answer without what only tells how many changes the log holds, which differs between two worlds; of a page's
/// token the place remains at which the next page begins.
pub(super) fn plain<T: Serialize>(answer: Result<T>) -> std::result::Result<Value, String> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                let version = members.contains_key("type") && members.contains_key("observed_at");
                let counts = |name: &str| matches!(name, "offset" | "time" | "lag_changes");
                members.retain(|name, _| !counts(name) && (name != "id" || !version));
                if let Some(Value::String(token)) = members.get_mut("continue") {
                    // The place within the list; the moment and the mark differ between two worlds.
                    *token = token.split('.').nth(1).unwrap().to_owned();
                }
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    match answer {
        Ok(answer) => {
            let mut value = serde_json::to_value(answer).unwrap();
            strip(&mut value);
            Ok(value)
        }
        Err(QueryError::Ambiguous { keys, .. }) => Err(format!("one of {keys:?}")),
        // When something went is counted in offsets, too.
        Err(QueryError::NotFound { what, id, .. }) => Err(QueryError::not_found(what, id).to_string()),
        Err(error) => Err(error.to_string()),
    }
}
