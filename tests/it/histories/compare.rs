//! What is asked, and what the fold says to it.

use std::collections::{BTreeMap, BTreeSet};

use super::fold::{Present, Thing};
use super::happen::Dice;
use super::*;
use strandline_model::{
    CoverageState, GroupBy, HealthCounts, Kind, ResourceId, ResourceKey, Timestamp, WatchKey, attention,
};
use strandline_query::{
    GetEnvironment, GetEnvironmentGraph, GetEnvironmentHealth, GetResource, ListEnvironmentResources,
    ListEnvironments, ListResourceEdges, ListResourceVersions, Question,
};
use strandline_relations::{Direction, Far};

/// The questions, asked of a view at one moment that the fold stands at.
pub(super) struct Asked<'a> {
    pub(super) queries: &'a Queries,
    pub(super) at: At,
    pub(super) present: &'a Present,
}

/// A resource as lists tell it.
fn resource(thing: &Thing) -> Resource {
    Resource {
        id: thing.uid.clone(),
        key: thing.key.clone(),
        health: thing.verdict.health,
        health_since: thing.health_since,
        reason: thing.verdict.reason.clone(),
        message: thing.verdict.message.clone(),
        created_at: thing.created_at,
        offset: thing.offset,
        observed_at: thing.observed_at,
        terminating_since: thing.terminating,
        later: thing.verdict.later.clone().zip(thing.due).map(|(later, at)| LaterHealth {
            at,
            health: later.health,
            reason: later.reason,
            message: later.message,
            offset: None,
        }),
    }
}

/// By kind, namespace and name.
fn by_name(resource: &Resource) -> impl Ord + use<> {
    let ResourceKey { cluster, kind, namespace, name } = resource.key.clone();
    (kind.kind, kind.group, namespace, name, cluster, resource.id.as_str().to_owned())
}

impl Asked<'_> {
    async fn ask<Q: Question>(&self, question: Q) -> Q::Answer {
        self.queries.ask(&Scope::everything(), self.at, question).await.unwrap()
    }

    /// Everything there is to ask.
    pub(super) async fn everything(&self, dice: &mut Dice) {
        self.lists(dice).await;
        for id in self.present.courses.keys() {
            self.environment(id, dice).await;
        }
        for id in self.present.keys.keys() {
            if dice.chance(40) {
                self.resource(*id, dice).await;
            }
        }
        for by in [
            GroupBy::Tier,
            GroupBy::Region,
            GroupBy::State,
            GroupBy::Project,
            GroupBy::Cluster,
            GroupBy::Health,
        ] {
            self.overview(by).await;
        }
    }

    /// What the last change touched, and some of the rest in turn.
    pub(super) async fn touched(&self, dice: &mut Dice) {
        let (environments, resource) = &self.present.touched;
        for id in environments {
            self.environment(id, dice).await;
        }
        if let Some(id) = resource {
            self.resource(*id, dice).await;
        }
        let others: Vec<_> = self.present.courses.keys().filter(|id| !environments.contains(*id)).collect();
        if !others.is_empty() && dice.chance(30) {
            self.environment(dice.pick(&others), dice).await;
        }
        if !environments.is_empty() || dice.chance(20) {
            self.lists(dice).await;
            let by =
                [GroupBy::Region, GroupBy::Cluster, GroupBy::Label("team".parse().unwrap()), GroupBy::Health];
            self.overview(dice.pick(&by)).await;
        }
    }

    fn page(&self, dice: &mut Dice) -> PageRequest {
        PageRequest { limit: dice.pick(&[1, 3, PageRequest::MAX]), after: None }
    }

    /// The list of environments, each with its health.
    async fn lists(&self, dice: &mut Dice) {
        let any = EnvironmentFilter::default();
        let (mut page, mut listed) = (self.page(dice), Vec::new());
        loop {
            let answer = self.ask(ListEnvironments::new(&any, &page)).await;
            assert_eq!(answer.metadata.snapshot.offset, self.present.offset);
            listed.extend(answer.items);
            match answer.metadata.next {
                Some(next) => page.after = Some(next),
                None => break,
            }
        }
        let mut expected: Vec<_> = self.present.environments.iter().collect();
        expected.sort_by(|(_, a), (_, b)| {
            (&a.declared.project, &a.declared.name).cmp(&(&b.declared.project, &b.declared.name))
        });
        assert!(listed.iter().map(|one| &one.id).eq(expected.iter().map(|(id, _)| *id)), "environments");
        for environment in &listed {
            self.declared(environment);
        }
    }

    /// One environment against what is declared of it and how it is.
    fn declared(&self, environment: &Environment) {
        let id = &environment.id;
        let (declared, standing) = (&self.present.environments[id].declared, self.standing(id));
        let told = super::catalog::Declared {
            project: environment.project.clone(),
            name: environment.name.clone(),
            tier: environment.tier,
            region: environment.region.clone(),
            state: environment.state,
            labels: environment.labels.clone(),
            targets: environment.targets.clone(),
            last_deployment: environment.last_deployment.as_ref().map(|last| last.spec.id.0),
        };
        assert_eq!(told, *declared, "{id}");
        let health = &environment.health;
        assert_eq!(
            (health.state, health.since, health.last_known, health.counts),
            (standing.state, standing.since, standing.last_known(), standing.counts),
            "health of {id}"
        );
    }

    fn standing(&self, id: &EnvironmentId) -> &super::fold::Standing {
        self.present.courses[id].now.as_ref().unwrap()
    }

    /// An environment: itself, its list, its graph and its health over time.
    async fn environment(&self, id: &EnvironmentId, dice: &mut Dice) {
        let scope = Scope::everything();
        let answer = self.queries.ask(&scope, self.at, GetEnvironment::new(id)).await;
        let Some(held) = self.present.environments.get(id) else {
            assert!(matches!(answer, Err(QueryError::NotFound { .. })), "{id} is not there");
            return;
        };
        self.declared(&answer.unwrap().value);
        let (any, mut page, mut listed) = (ResourceFilter::default(), self.page(dice), Vec::new());
        loop {
            let answer = self.ask(ListEnvironmentResources::new(id, &any, &page)).await;
            listed.extend(answer.items);
            match answer.metadata.next {
                Some(next) => page.after = Some(next),
                None => break,
            }
        }
        let mut expected: Vec<_> =
            held.members.keys().map(|number| resource(&self.present.things[number])).collect();
        expected.sort_by_key(by_name);
        assert_eq!(listed, expected, "resources of {id}");
        self.graph(id).await;
        self.course(id).await;
    }

    async fn graph(&self, id: &EnvironmentId) {
        let members = &self.present.environments[id].members;
        let graph = self.ask(GetEnvironmentGraph::new(id, &uncut())).await.value;
        let parents = without_circles(members);
        let name = |number: &ResourceId| {
            let thing = &self.present.things[number];
            (thing.key.cluster.clone(), thing.uid.clone())
        };
        let told: BTreeMap<_, _> = graph
            .nodes
            .iter()
            .map(|node| {
                let below = node.below.as_ref().map(|below| (below.children, below.total, below.health));
                ((node.resource.key.cluster.clone(), node.resource.id.clone()), (node.parent.clone(), below))
            })
            .collect();
        let expected: BTreeMap<_, _> = parents
            .iter()
            .map(|(number, parent)| {
                let parent = parent.map(|parent| name(&parent).1);
                (name(number), (parent, self.below(&parents, *number)))
            })
            .collect();
        assert_eq!(told, expected, "nodes of {id}");
        let mut links: BTreeMap<(String, String, String), u64> = BTreeMap::new();
        for (from, to, kind) in self.present.links() {
            if members.contains_key(&from) && members.contains_key(&to) {
                let ends = (name(&from).1.to_string(), name(&to).1.to_string());
                // Nodes are known by their uids, which two clusters may share.
                if ends.0 != ends.1 {
                    *links.entry((ends.0, ends.1, kind.to_string())).or_default() += 1;
                }
            }
        }
        let told: BTreeMap<_, _> =
            graph.edges.into_iter().map(|edge| ((edge.from, edge.to, edge.kind), edge.count)).collect();
        assert_eq!(told, links, "edges of {id}");
    }

    /// Children and all below a member, with the health that needs attention most.
    fn below(
        &self,
        parents: &BTreeMap<ResourceId, Option<ResourceId>>,
        of: ResourceId,
    ) -> Option<(u64, u64, Option<Health>)> {
        let is_below = |id: &&ResourceId| {
            let mut above = parents[*id];
            while let Some(parent) = above.filter(|parent| *parent != of) {
                above = parents[&parent];
            }
            above.is_some()
        };
        let all: Vec<_> = parents.keys().filter(is_below).collect();
        let children = parents.values().filter(|parent| **parent == Some(of)).count() as u64;
        let healths = all.iter().map(|id| self.present.things[*id].verdict.health);
        let worst = healths.min_by_key(|health| attention(*health)).flatten();
        (children > 0).then_some((children, all.len() as u64, worst))
    }

    /// The health of an environment over time, from its beginning.
    async fn course(&self, id: &EnvironmentId) {
        let filter = HealthFilter { since: Some(At::Time(World::time(0))), limit: HealthHistory::LIMIT };
        let answer =
            self.queries.ask(&Scope::everything(), self.at, GetEnvironmentHealth::new(id, filter)).await;
        let told: Vec<_> =
            answer.unwrap().value.intervals.iter().map(|one| (one.from, one.until, one.health)).collect();
        let moves = &self.present.courses[id].moves;
        let mut expected: Vec<(Timestamp, Option<Timestamp>, Option<Health>)> = Vec::new();
        for (from, health) in moves.iter().rev().take(HealthHistory::LIMIT) {
            let until = expected.last().map(|(next, ..)| *next);
            expected.push((*from, until, *health));
        }
        assert_eq!(told, expected, "health of {id} over time");
    }

    /// A resource: its object, its history, and what it is linked to.
    async fn resource(&self, number: ResourceId, dice: &mut Dice) {
        let scope = Scope::everything();
        let (key, uid) = &self.present.keys[&number];
        let cluster = Some(key.cluster.as_str());
        let thing = self.present.things.get(&number);
        // Several lives of one uid in one cluster are told by the one that is there.
        let answer = self.queries.ask(&scope, self.at, GetResource::new(uid, cluster)).await;
        match (thing, answer) {
            (Some(thing), Ok(answer)) => {
                let environments = self.present.environments.iter();
                let holding = environments.filter(|(_, held)| held.members.contains_key(&number));
                let holding: BTreeSet<_> = holding.map(|(id, _)| id.clone()).collect();
                assert_eq!(answer.value.resource, resource(thing));
                assert_eq!(answer.value.rule, thing.verdict.rule);
                assert_eq!(answer.value.environments.into_iter().collect::<BTreeSet<_>>(), holding, "{uid}");
                assert_eq!(answer.value.object.value(), thing.body, "{uid}");
                self.links_of(number).await;
            }
            (None, Err(QueryError::NotFound { .. })) => {}
            (thing, answer) => panic!("{uid}: {answer:?} for {thing:?}"),
        }
        let (mut page, mut listed) = (self.page(dice), Vec::new());
        loop {
            let answer = self.ask(ListResourceVersions::new(uid, cluster, false, &page)).await;
            listed.extend(answer.items.into_iter().map(|one| (one.offset, one.health, one.cause)));
            match answer.metadata.next {
                Some(next) if listed.len() < 10 => page.after = Some(next),
                _ => break,
            }
        }
        let told = self.present.histories[&number].iter().rev().take(listed.len());
        let told: Vec<_> = told.map(|told| (told.offset, told.health, told.cause)).collect();
        assert_eq!(listed, told, "history of {uid}");
        assert_eq!(listed.len().min(10), self.present.histories[&number].len().min(10), "history of {uid}");
    }

    /// The links of a resource, whether they are its own word or others'.
    async fn links_of(&self, number: ResourceId) {
        type Link = (String, FarEnd, Kind, String, String, Option<Uid>, Option<Health>, Option<bool>);
        let present = self.present;
        let mut expected: BTreeMap<String, Link> = BTreeMap::new();
        let mut tell = |link: Link| _ = expected.insert(format!("{link:?}"), link);
        for (id, thing) in &present.things {
            for edge in &thing.edges {
                let outward = edge.direction == Direction::ToFar;
                let far = present.far(*id, edge);
                if *id == number {
                    let end = if outward { FarEnd::Dependent } else { FarEnd::Cause };
                    let claimed = claimed(&edge.far);
                    for far in far.iter().map(|far| &present.things[far]) {
                        let key = far.key.clone();
                        let kind = claimed.as_ref().map_or(key.kind, |(kind, ..)| kind.clone());
                        let there = (Some(far.uid.clone()), far.verdict.health, Some(true));
                        let name =
                            if matches!(edge.far, Far::Every { .. }) { String::new() } else { key.name };
                        let kind_of_edge = edge.kind.to_string();
                        tell((kind_of_edge, end, kind, key.namespace, name, there.0, there.1, there.2));
                    }
                    if let (true, Some((kind, namespace, name))) = (far.is_empty(), claimed) {
                        let watched = self.watched(&thing.key.cluster, &kind, &namespace) && !name.is_empty();
                        let exists = watched.then_some(false);
                        tell((edge.kind.to_string(), end, kind, namespace, name, None, None, exists));
                    }
                } else if far.contains(&number) {
                    let end = if outward { FarEnd::Cause } else { FarEnd::Dependent };
                    let ResourceKey { kind, namespace, name, .. } = thing.key.clone();
                    let (uid, health) = (Some(thing.uid.clone()), thing.verdict.health);
                    tell((edge.kind.to_string(), end, kind, namespace, name, uid, health, Some(true)));
                }
            }
        }
        let (key, uid) = &present.keys[&number];
        let page = PageRequest { limit: PageRequest::MAX, after: None };
        let cluster = Some(key.cluster.as_str());
        let answer = self.ask(ListResourceEdges::new(uid, cluster, &page)).await;
        let told = answer
            .items
            .into_iter()
            .map(|l| (l.edge, l.far, l.kind, l.namespace, l.name, l.id, l.health, l.exists));
        let told: BTreeSet<String> = told.map(|link| format!("{link:?}")).collect();
        assert_eq!(told, expected.into_keys().collect(), "links of {uid}");
    }

    fn watched(&self, cluster: &str, kind: &Kind, namespace: &str) -> bool {
        let watch = |namespace: &str| WatchKey {
            cluster: cluster.to_owned(),
            kind: kind.clone(),
            namespace: namespace.to_owned(),
        };
        let watched = |watch: WatchKey| {
            self.present.coverage.get(&watch).is_some_and(|mark| mark.state == CoverageState::Watched)
        };
        watched(watch("")) || watched(watch(namespace))
    }

    /// All environments, counted together.
    async fn overview(&self, by: GroupBy) {
        let question = GetOverview { group_by: vec![by.clone()], ..GetOverview::default() };
        let answer = self.ask(question).await.value;
        let mut groups: BTreeMap<String, (OverviewCounts, Vec<OverviewEnvironment>)> = BTreeMap::new();
        let mut totals = OverviewCounts::default();
        for (id, held) in &self.present.environments {
            let (declared, standing) = (&held.declared, self.standing(id));
            let counted = |counts: &mut OverviewCounts| {
                counts.total += 1;
                *counts.environments.slot(standing.state) += 1;
                counts.resources.add(standing.counts);
                counts.health = worst(counts.environments);
            };
            counted(&mut totals);
            let targets = declared.targets.iter().map(|target| target.cluster.clone());
            let mut keys: BTreeSet<String> = match &by {
                GroupBy::Tier => [declared.tier.as_str().to_owned()].into(),
                GroupBy::Region => [declared.region.clone()].into(),
                GroupBy::State => [declared.state.as_str().to_owned()].into(),
                GroupBy::Project => [declared.project.clone()].into(),
                GroupBy::Health => [standing.state.map_or("", Health::as_str).to_owned()].into(),
                GroupBy::Label(_) => [declared.labels.get("team").cloned().unwrap_or_default()].into(),
                GroupBy::Cluster => targets.collect(),
                GroupBy::Group | GroupBy::Agent => panic!("{by:?} is not asked for here"),
            };
            if keys.is_empty() {
                keys.insert(String::new());
            }
            for key in keys {
                let (counts, attention) = groups.entry(key).or_default();
                counted(counts);
                let (project, name) = (declared.project.clone(), declared.name.clone());
                let health = standing.state.filter(|health| health.needs_attention());
                attention.extend(health.map(|health| OverviewEnvironment {
                    id: id.clone(),
                    project,
                    name,
                    health,
                    since: standing.since,
                }));
            }
        }
        let mut expected: Vec<_> = groups
            .into_iter()
            .map(|(key, (counts, mut attention))| {
                attention.sort_by_key(|one| {
                    (
                        self::attention(Some(one.health)),
                        std::cmp::Reverse(one.since),
                        one.id.as_str().to_owned(),
                    )
                });
                attention.truncate(Overview::ATTENTION);
                OverviewGroup { keys: vec![key], counts, attention }
            })
            .collect();
        expected.sort_by_key(|group| attention(group.counts.health));
        assert_eq!((answer.totals, answer.groups), (totals, expected), "overview by {by:?}");
    }
}

/// What needs attention most among them.
fn worst(counts: HealthCounts) -> Option<Health> {
    counts.worst()
}

/// What an object claims of the far end of an edge; nothing where labels select it.
fn claimed(far: &Far) -> Option<(Kind, String, String)> {
    match far {
        Far::Uid { kind, name, .. } => Some((kind.clone(), String::new(), name.clone())),
        Far::Key { kind, namespace, name } => Some((kind.clone(), namespace.clone(), name.clone())),
        Far::Every { kind } => Some((kind.clone(), String::new(), String::new())),
        Far::Matching { .. } | Far::Numbered { .. } => None,
    }
}

/// Members with their owners; of each circle the first member has none.
fn without_circles(
    members: &BTreeMap<ResourceId, Option<ResourceId>>,
) -> BTreeMap<ResourceId, Option<ResourceId>> {
    let mut parents = members.clone();
    for start in members.keys() {
        let (mut path, mut here) = (vec![*start], *start);
        while let Some(above) = parents[&here] {
            if let Some(first) = path.iter().position(|id| *id == above) {
                let least = path[first..].iter().min().copied().unwrap();
                parents.insert(least, None);
                break;
            }
            path.push(above);
            here = above;
        }
    }
    parents
}
