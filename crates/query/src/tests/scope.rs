//! A scope against a world in which the others never were.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use super::oracle::{Eyes, Name, Oracle, Reach, plain, spoken_of, without_others};
use super::*;

pub(super) const PROJECTS: [&str; 3] = ["shop/web", "shop/db", "ops/tools"];
const KINDS: [(&str, &str); 4] =
    [("apps/v1", "ReplicaSet"), ("v1", "Pod"), ("v1", "Pod"), ("v1", "ConfigMap")];

/// An environment that belongs now to one project, now to another.
pub(super) const MOVED: &str = "moved";

type Plain = std::result::Result<Value, String>;

/// The same world told twice: to a scope, and without what the scope may not see.
pub(super) struct Two {
    pub(super) full: World,
    reduced: World,
    pub(super) scope: Scope,
    eyes: Eyes,
    sight: Oracle,
    events: Vec<Event>,
}

impl Two {
    pub(super) fn new(events: Vec<Event>, eyes: Eyes) -> Self {
        let full = World::new(events.iter().cloned().map(beside));
        let sight = block_on(Oracle::of(&full, &eyes, &spoken_of(&events)));
        let reduced = World::new(without_others(&events, &eyes, &sight).into_iter().map(beside));
        Two { full, reduced, scope: eyes.scope(), eyes, sight, events }
    }

    /// Whether an environment may come into sight and go while it is there: where it belongs to others at times, or looks
    /// elsewhere.
    fn moves(&self, id: &str) -> bool {
        id == MOVED || !self.eyes.places.is_empty()
    }

    /// Holds every question at moments that end a step: at all of the last ones, where the most has happened.
    pub(super) async fn agree(&self) {
        let last = self.full.last();
        for step in (0..=last).filter(|step| step % 5 == 0 || step + 16 > last) {
            let reach = Reach::after(&self.events[..step], &self.eyes);
            let moments = (At::Offset(self.full.heads[step]), At::Offset(self.reduced.heads[step]));
            for limit in [2, PageRequest::MAX] {
                let page = PageRequest { limit, after: None };
                self.lists_agree(step, &reach, moments, &page).await;
            }
            self.environments_agree(step, &reach, moments).await;
            self.events_agree(step).await;
            self.search_agrees(step).await;
            for name in self.names() {
                self.resource_agrees(step, &reach, &name, moments).await;
            }
            for uid in self.names().into_iter().map(|(_, uid)| uid).collect::<BTreeSet<_>>() {
                self.uid_agrees(step, &uid).await;
            }
        }
    }

    fn names(&self) -> BTreeSet<Name> {
        let things = self.events.iter().filter_map(|event| match event {
            Event::Apply(thing) => Some((thing.cluster.clone(), thing.uid.clone())),
            _ => None,
        });
        things.collect()
    }

    /// Holds one question to the whole world with the scope against the same to the world without the others.
    async fn question_agrees<Q>(&self, step: usize, reach: &Reach, (at, reduced): (At, At), question: Q)
    where
        Q: Question<Answer: Serialize> + Clone,
    {
        let ours = plain(self.full.queries.ask(&self.scope, at, question.clone()).await);
        let theirs = plain(self.reduced.queries.ask(&Scope::everything(), reduced, question).await);
        self.same(step, reach, ours, theirs);
    }

    async fn lists_agree(&self, step: usize, reach: &Reach, at: (At, At), page: &PageRequest) {
        let (environments, resources) = (EnvironmentFilter::default(), ResourceFilter::default());
        self.question_agrees(step, reach, at, ListEnvironments::new(&environments, page)).await;
        self.question_agrees(step, reach, at, ListClusters::new(page)).await;
        for cluster in ["east", "west"] {
            self.question_agrees(step, reach, at, GetCluster::new(cluster)).await;
        }
        self.question_agrees(step, reach, at, overview_rows::by_name(page)).await;
        self.question_agrees(step, reach, at, find::beside_resources(page.limit)).await;
        for id in ids(&self.events) {
            let question = ListEnvironmentResources::new(&id, &resources, page);
            self.question_agrees(step, reach, at, question).await;
        }
    }

    async fn environments_agree(&self, step: usize, reach: &Reach, at: (At, At)) {
        for id in ids(&self.events) {
            self.question_agrees(step, reach, at, GetEnvironment::new(&id)).await;
            self.question_agrees(step, reach, at, GetEnvironmentGraph::new(&id, &uncut())).await;
            for collapse in Collapse::ALL {
                let few = GraphFilter { collapse, limit: 3, ..GraphFilter::default() };
                self.question_agrees(step, reach, at, GetEnvironmentGraph::new(&id, &few)).await;
            }
            self.differences_agree(step, reach, &id).await;
            self.question_agrees(step, reach, at, ExplainEnvironment::new(&id, Why::LIMIT)).await;
        }
    }

    /// What changed in an environment since the middle of what had happened. Asked without a scope, the world without the
    /// others also knows of what was there before it came into an environment, or still is after it left: what is added to
    /// the one has joined for the other, and is no longer the same change as in another cluster. Only the counts agree then.
    async fn differences_agree(&self, step: usize, reach: &Reach, id: &EnvironmentId) {
        for children in [false, true] {
            let ask = async |world: &World, scope: &Scope| {
                let [from, to] = [step / 2, step].map(|step| At::Offset(world.heads[step]));
                let lens = Lens::new(Between::Versions, &[Class::Status]);
                let (environment, from) = (id.clone(), Some(from));
                let question = DiffEnvironment { environment, from, lens, children, page: whole() };
                world.queries.ask(scope, to, question).await
            };
            let ours = ask(&self.full, &self.scope).await;
            let counts = |found: &Result<EnvironmentDiff>| {
                let mut counts = found.as_ref().ok()?.counts;
                counts.added += std::mem::take(&mut counts.joined);
                counts.removed += std::mem::take(&mut counts.left);
                Some(counts)
            };
            let everything = ask(&self.reduced, &Scope::everything()).await;
            assert_eq!(counts(&ours), counts(&everything), "step {step}: counts of {id}");
            let theirs = ask(&self.reduced, &self.scope).await;
            self.same(step, reach, plain(ours), plain(theirs));
        }
    }

    /// Events of environments and resources, told offset by offset.
    async fn events_agree(&self, step: usize) {
        let (queries, offset) = (&self.full.queries, self.full.heads[step]);
        let (any, page, now) = (&EventFilter::default(), &whole(), At::Offset(offset));
        let mut environments: BTreeMap<EnvironmentId, BTreeSet<String>> = BTreeMap::new();
        for name in spoken_of(&self.events) {
            let (uid, cluster) = (&Uid::new(name.1.as_str()), Some(name.0.as_str()));
            let ours = queries.ask(&self.scope, now, ListResourceEvents::new(uid, cluster, any, page)).await;
            let ours = ours.ok().map(|page| texts(page.items));
            assert_eq!(ours, self.sight.told(None, &name, offset), "step {step}: events of {name:?}");
            for id in ids(&self.events) {
                let told = self.sight.told(Some(&id), &name, offset);
                environments.entry(id).or_default().extend(told.into_iter().flatten());
            }
        }
        for id in ids(&self.events) {
            let expected = environments.remove(&id).unwrap_or_default();
            event_feed::agrees(
                &self.full,
                &self.scope,
                (step, now),
                (&id, self.moves(id.as_str())),
                &expected,
            )
            .await;
        }
    }

    /// A search finds what was ever in sight, each as it was when it was last seen.
    async fn search_agrees(&self, step: usize) {
        let (offset, presence) = (self.full.heads[step], Presence::Any);
        let any = ResourceSearch { presence, ..ResourceSearch::default() };
        let question = SearchResources::new(&any, &whole());
        let found = self.full.queries.ask(&self.scope, At::Offset(offset), question).await;
        let found: BTreeMap<Name, _> = found
            .unwrap()
            .items
            .into_iter()
            .map(|one| {
                let last = one.gone.map_or(offset, |gone| gone.last_offset);
                let name = (one.resource.key.cluster, one.resource.id.to_string());
                (name, (last, one.resource.observed_at))
            })
            .collect();
        let last = |name: Name| self.sight.last(&name, offset).map(|last| (name, last));
        assert_eq!(found, self.names().into_iter().filter_map(last).collect(), "step {step}");
        find::agrees(&self.full, &self.scope, (step, offset), &self.names(), last).await;
    }

    /// One resource of one cluster: there while it belongs, told as far as it belonged.
    async fn resource_agrees(&self, step: usize, reach: &Reach, name: &Name, (at, reduced): (At, At)) {
        let (all, page, offset) = (&Scope::everything(), &whole(), self.full.heads[step]);
        let (uid, cluster) = (&Uid::new(name.1.as_str()), Some(name.0.as_str()));
        let lost = || QueryError::not_found("resource", uid);
        let mut theirs = self.reduced.queries.ask(all, reduced, GetResource::new(uid, cluster)).await;
        if !self.sight.sees(name, offset) {
            theirs = Err(lost());
        }
        let ours = self.full.queries.ask(&self.scope, at, GetResource::new(uid, cluster)).await;
        self.same(step, reach, plain(ours), plain(theirs));
        self.edges_agree(step, name, (at, reduced)).await;
        let everything =
            self.full.queries.ask(all, at, ListResourceVersions::new(uid, cluster, true, page)).await;
        let told = |version: &Version| self.sight.tells(name, version, version.offset, offset);
        let told: BTreeSet<_> = everything
            .map(|page| page.items.into_iter().filter(told).map(|version| version.observed_at).collect())
            .unwrap_or_default();
        let mut theirs =
            self.reduced.queries.ask(all, reduced, ListResourceVersions::new(uid, cluster, true, page)).await;
        if let Ok(page) = &mut theirs {
            page.items.retain(|version| told.contains(&version.observed_at));
        }
        if !self.sight.saw(name, offset) {
            theirs = Err(lost());
        }
        let ours =
            self.full.queries.ask(&self.scope, at, ListResourceVersions::new(uid, cluster, true, page)).await;
        self.last_difference_agrees(step, name, &ours).await;
        self.same(step, reach, plain(ours), plain(theirs));
    }

    /// What changed last is what differs between the two newest versions that are told.
    async fn last_difference_agrees(&self, step: usize, name: &Name, history: &Result<Page<Version>>) {
        let (uid, cluster) = (&Uid::new(name.1.as_str()), Some(name.0.as_str()));
        let (to, lens) = (At::Offset(self.full.heads[step]), Lens::whole());
        let question =
            DiffResource { resource: ResourceRef::new(uid, cluster), from: None, lens: lens.clone() };
        let found = self.full.queries.ask(&self.scope, to, question).await;
        let Ok(history) = history else {
            assert!(found.is_err(), "step {step}: {name:?} {found:?}");
            return;
        };
        let object = |place: usize| Some(history.items.get(place)?.object.as_ref()?.value());
        let found = found.unwrap().value;
        let expected = compare(&found.key.kind, object(1).as_ref(), object(0).as_ref(), &lens);
        assert_eq!(found.comparison, expected, "step {step}: {name:?}");
    }

    /// The edges of one resource lead to what is in sight.
    async fn edges_agree(&self, step: usize, name: &Name, (at, reduced): (At, At)) {
        let (all, page, offset) = (&Scope::everything(), &whole(), self.full.heads[step]);
        let (uid, cluster) = (&Uid::new(name.1.as_str()), Some(name.0.as_str()));
        let ours = self.full.queries.ask(&self.scope, at, ListResourceEdges::new(uid, cluster, page)).await;
        if !self.sight.sees(name, offset) {
            assert!(ours.is_err(), "step {step}: edges of {name:?}");
            return;
        }
        let ends = |page: Page<ResourceEdge>| -> BTreeSet<(String, String)> {
            let seen = |id: &Uid| self.sight.sees(&(name.0.clone(), id.to_string()), offset);
            let ends = page.items.into_iter().filter_map(|edge| Some((edge.edge, edge.id?)));
            ends.filter(|(_, id)| seen(id)).map(|(edge, id)| (edge, id.to_string())).collect()
        };
        let ours = ours.unwrap();
        assert!(
            ours.items.iter().all(|edge| edge.exists != Some(false)),
            "what is out of sight may be there"
        );
        let told = ours.items.iter().filter(|edge| edge.id.is_some()).count();
        let ours = ends(ours);
        assert_eq!(ours.len(), told, "step {step}: {name:?} is linked with what is out of sight");
        let theirs = self.reduced.queries.ask(all, reduced, ListResourceEdges::new(uid, cluster, page)).await;
        assert_eq!(ours, ends(theirs.unwrap()), "step {step}: edges of {name:?}");
    }

    /// A uid without a cluster: those in sight decide whether it is ambiguous.
    async fn uid_agrees(&self, step: usize, uid: &str) {
        let (offset, scope) = (self.full.heads[step], &self.scope);
        let (of, at) = (&Uid::new(uid), At::Offset(offset));
        let names: Vec<_> = self.names().into_iter().filter(|name| name.1 == uid).collect();
        let present: Vec<_> = names.iter().filter(|name| self.sight.sees(name, offset)).collect();
        let seen: Vec<_> = names.iter().filter(|name| self.sight.saw(name, offset)).collect();
        let found = self.full.queries.ask(scope, at, GetResource::new(of, None)).await;
        assert_eq!(count(&found), present.len(), "step {step}, {uid}: {found:?}");
        let seen = if present.is_empty() { seen } else { present };
        let history =
            self.full.queries.ask(scope, at, ListResourceVersions::new(of, None, false, &whole())).await;
        assert_eq!(count(&history), seen.len(), "step {step}, history of {uid}: {history:?}");
    }

    #[track_caller]
    fn same(&self, step: usize, reach: &Reach, mut ours: Plain, mut theirs: Plain) {
        if let Ok(value) = &mut theirs {
            reach.limit(value);
        }
        // An environment's past stays with it when it moves, as its name does: since when it is as it is, who is a controller.
        [&mut ours, &mut theirs].into_iter().flatten().for_each(|value| self.without_past(value));
        assert_eq!(ours, theirs, "after step {step}: with the scope, and without the others");
    }

    fn without_past(&self, value: &mut Value) {
        if value["id"].as_str().is_some_and(|id| self.moves(id)) {
            overview_rows::without_past(value);
        }
        if let Some(attention) = value.get_mut("attention").and_then(Value::as_array_mut) {
            // The latest first, so that an order of them tells of that time too.
            let id = |of: &Value| of["id"].as_str().unwrap().to_owned();
            if attention.iter().any(|one| self.moves(&id(one))) {
                attention.sort_by_key(id);
            }
        }
        match value {
            Value::Object(members) => members.values_mut().for_each(|member| self.without_past(member)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.without_past(item)),
            _ => {}
        }
    }
}

/// What clusters there are is nobody's own: those at which only others look do not leave the configuration without them.
fn beside(event: Event) -> Event {
    match event {
        Event::Declare(environments) => Event::Beside(environments),
        other => other,
    }
}

fn texts(events: Vec<FoldedEvent>) -> BTreeSet<String> {
    events.into_iter().map(|event| serde_json::to_string(&event).unwrap()).collect()
}

/// Among how many resources a question had to choose.
fn count<T>(answer: &Result<T>) -> usize {
    match answer {
        Ok(_) => 1,
        Err(QueryError::NotFound { .. }) => 0,
        Err(QueryError::Ambiguous { keys, .. }) => keys.len(),
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn ids(events: &[Event]) -> BTreeSet<EnvironmentId> {
    let declared = events.iter().filter_map(|event| match event {
        Event::Declare(environments) => Some(environments),
        _ => None,
    });
    declared.flatten().map(|environment| environment.id.clone()).collect()
}

/// What happens at random, of few names so that they meet often.
pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    let clusters = prop::sample::select(vec!["east", "west"]);
    let places = prop::sample::select(vec!["shop", "tools"]);
    let apps = prop::sample::select(vec!["", "web", "db"]);
    let thing = (clusters.clone(), places.clone(), 0..6_usize, apps.clone(), 0..8_usize, 0..7_usize)
        .prop_map(|(cluster, place, n, app, owner, health)| {
            let (version, kind) = KINDS[n % KINDS.len()];
            let owner = if owner < 6 && owner < n { format!("{place}-{owner}") } else { String::new() };
            let thing = Thing::pod(cluster, place, &n.to_string()).of(version, kind);
            Thing { app: app.into(), owner, health, ..thing }
        });
    let target = (clusters.clone(), places, apps);
    let names = prop::sample::select(vec!["a", "b", MOVED]);
    let declared = (0..3_usize, names, prop::collection::vec(target, 1..3));
    // One keeps its name in addresses when it goes to another project.
    let declared = declared.prop_map(|(project, name, targets)| {
        let spec = environment(PROJECTS[project], name, &targets);
        if name == MOVED { EnvironmentSpec { id: EnvironmentId::new(MOVED), ..spec } } else { spec }
    });
    let declare = prop::collection::vec(declared, 1..5).prop_map(|mut environments| {
        environments.sort_by(|a, b| a.id.cmp(&b.id));
        environments.dedup_by(|a, b| a.id == b.id);
        Event::Declare(environments)
    });
    let marked = (clusters, 0..3_usize, prop::sample::select(vec!["", "shop", "tools"]), any::<bool>());
    let marked = marked.prop_map(|(cluster, kind, namespace, gap)| {
        mark(cluster, ["Pod", "ConfigMap", ""][kind], namespace, gap)
    });
    let reasons = prop::sample::select(vec!["BackOff", "Pulled"]);
    let remark = (thing.clone(), reasons, 0..9_u32, any::<bool>())
        .prop_map(|(about, reason, count, by_name)| Event::Say(Remark { about, reason, count, by_name }));
    let event = prop_oneof![
        3 => remark,
        6 => thing.clone().prop_map(Event::Apply),
        2 => thing.prop_map(Event::Delete),
        2 => marked,
        2 => declare,
    ];
    prop::collection::vec(event, 10..50)
}

proptest! {
    #![proptest_config(strandline_testkit::cases(6))]

    #[test]
    fn a_scope_sees_a_world_without_the_others(
        events in events(),
        projects in prop::sample::subsequence(PROJECTS.to_vec(), 0..3),
    ) {
        let two = Two::new(events, Eyes::of(&projects, &[]));
        block_on(two.agree());
    }
}

#[test]
fn each_project_of_the_small_world_sees_only_its_own() {
    for projects in [&PROJECTS[..1], &PROJECTS[1..2], &PROJECTS[2..], &["nobody"]] {
        let two = Two::new(small_history(), Eyes::of(projects, &[]));
        block_on(two.agree());
    }
}

/// The history of the resource that moves, as a scope is told it at the end.
async fn told(world: &World, project: &str) -> Vec<(VersionChange, Option<Health>)> {
    let (scope, uid) = (Scope::projects([project.to_owned()]), Uid::new("shop-mover"));
    let page =
        world.queries.ask(&scope, At::Now, ListResourceVersions::new(&uid, None, true, &whole())).await;
    page.unwrap().items.into_iter().map(|version| (version.change, version.health)).collect()
}

#[test]
fn a_resource_that_moves_is_told_to_each_as_far_as_it_belonged() {
    use Health::{Degraded, Healthy};
    use VersionChange::{Applied, Deleted};
    let world = World::new(small_history());
    block_on(async {
        let web = [(Applied, Some(Degraded)), (Applied, Some(Healthy))];
        assert_eq!(told(&world, "shop/web").await, web, "neither where it went nor how it ended");
        let db = [(Deleted, None), (Applied, Some(Degraded)), (Applied, Some(Healthy))];
        assert_eq!(told(&world, "shop/db").await, db, "nothing of what it was before");
        let scope = Scope::projects(["ops/tools".to_owned()]);
        let uid = Uid::new("shop-mover");
        let question = ListResourceVersions::new(&uid, None, true, &whole());
        let history = world.queries.ask(&scope, At::Now, question).await;
        assert!(matches!(history, Err(QueryError::NotFound { .. })), "{history:?}");
    });
}

#[test]
fn the_end_is_told_even_where_the_owner_went_first() {
    let world = World::new(small_history());
    let (scope, uid) = (Scope::projects(["shop/web".to_owned()]), Uid::new("stage-web-1"));
    let question = ListResourceVersions::new(&uid, None, false, &whole());
    let page = block_on(world.queries.ask(&scope, At::Now, question));
    let items = page.unwrap().items;
    assert_eq!(items.first().map(|version| version.change), Some(VersionChange::Deleted), "{items:?}");
}
