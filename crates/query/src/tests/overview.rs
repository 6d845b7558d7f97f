//! The law of overviews: each is what a fold over the list of environments gives, at every moment, for every filter,
//! grouping and scope.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use strandline_gitlab::Membership;
use strandline_model::{
    AgentSpec, CatalogFact, ClusterSpec, EnvironmentState, GroupBy, HealthCounts, ProjectSpec, TargetSpec,
    attention,
};

const PROJECTS: [&str; 4] = ["shop/web", "Shop/pay/api", "ops/tools", "100%_'/x"];
const NAMES: [&str; 4] = ["production", "production/us-region", "review/a/b", "p%"];
const SELECTORS: [&str; 5] = ["", "team=pay", "team in (pay,ops),!pci", "team!=pay", "pci"];
const GROUPINGS: [&str; 10] =
    ["tier", "region", "project", "group", "cluster", "agent", "health", "state", "label:team", "label:pci"];

/// How an environment is declared at random; small numbers choose from few values so that they meet often.
pub(super) type Declared = (usize, usize, usize, usize, Vec<(usize, bool)>);

fn spec((project, name, team, state, targets): Declared) -> EnvironmentSpec {
    let target = |(cluster, by_agent): (usize, bool)| TargetSpec {
        cluster: if by_agent { String::new() } else { ["east", "west"][cluster % 2].into() },
        agent: by_agent.then(|| format!("ops/agents:a{}", cluster % 2).parse().unwrap()),
        namespace: ["shop", "tools"][cluster / 2 % 2].into(),
        labels: Some(BTreeMap::new()),
        inventory: None,
        only_labelled: false,
    };
    let labels = [("team", ["pay", "ops", ""][team % 3]), ("pci", "yes")];
    let kept = labels.into_iter().take(team % 3).map(|(name, value)| (name.to_owned(), value.to_owned()));
    EnvironmentSpec {
        state: EnvironmentState::ALL[state % 3],
        region: ["", "eu", "us"][team % 3].into(),
        labels: kept.collect(),
        targets: targets.into_iter().map(target).collect(),
        ..EnvironmentSpec::new(PROJECTS[project % 4], NAMES[name % 4])
    }
}

/// A catalog of these environments, with two clusters and an agent in each.
pub(super) fn catalog(declared: Vec<Declared>) -> Event {
    let clusters = ["east", "west"];
    let cluster = |name: &str| CatalogFact::Cluster(ClusterSpec { name: name.into(), region: "eu".into() });
    let agent = |(n, cluster): (usize, &str)| {
        let id = format!("ops/agents:a{n}").parse().unwrap();
        CatalogFact::Agent(Box::new(AgentSpec { cluster: cluster.into(), ..AgentSpec::new(id) }))
    };
    let specs: BTreeMap<_, _> = declared.into_iter().map(spec).map(|spec| (spec.id.clone(), spec)).collect();
    let mut facts: Vec<_> = clusters.map(cluster).into_iter().collect();
    facts.extend(clusters.into_iter().enumerate().map(agent));
    facts.extend(specs.into_values().map(CatalogFact::from));
    let labelled = ProjectSpec {
        path: "shop/web".into(),
        labels: [("pci".to_owned(), "no".to_owned())].into(),
        ..ProjectSpec::default()
    };
    facts.push(CatalogFact::Project(labelled));
    Event::Catalog(facts)
}

pub(super) fn history() -> impl Strategy<Value = Vec<Event>> {
    let targets = prop::collection::vec((0..4_usize, any::<bool>()), 0..3);
    let one = (0..4_usize, 0..4_usize, 0..3_usize, 0..3_usize, targets);
    let declare = prop::collection::vec(one, 1..8).prop_map(catalog);
    let pod = (0..2_usize, 0..2_usize, 0..3_usize, 0..7_usize).prop_map(|(cluster, place, n, health)| {
        let (cluster, place) = (["east", "west"][cluster], ["shop", "tools"][place]);
        Thing { health, ..Thing::pod(cluster, place, &format!("{cluster}-{n}")) }
    });
    let marked = (prop::sample::select(vec!["east", "west"]), any::<bool>());
    let event = prop_oneof![
        12 => pod.clone().prop_map(Event::Apply),
        2 => pod.prop_map(Event::Delete),
        1 => marked.prop_map(|(cluster, gap)| mark(cluster, "Pod", "", gap)),
        2 => declare.clone(),
    ];
    // Long enough for several stretches of the log.
    (declare, prop::collection::vec(event, 20..90))
        .prop_map(|(first, rest)| std::iter::once(first).chain(rest).collect())
}

/// One question at random.
pub(super) fn question() -> impl Strategy<Value = GetOverview> {
    let some = |most: usize| prop::collection::vec(0..most, 0..2);
    let filter =
        (some(5), some(3), some(4), some(4), some(2), some(2), some(3), some(4), some(6), 0..5_usize);
    let group_by = prop::sample::subsequence(GROUPINGS.to_vec(), 0..3);
    (filter, group_by, prop::option::of(1..4_usize)).prop_map(|(filter, group_by, limit)| {
        let (tiers, regions, projects, groups, clusters, agents, states, names, healths, labels) = filter;
        let of = |list: Vec<usize>, words: [&'static str; 4]| list.into_iter().map(move |n| words[n]);
        let filter = EnvironmentFilter {
            search: String::new(),
            tiers: tiers.into_iter().map(|n| Tier::ALL[n]).collect(),
            regions: regions.into_iter().map(|n| ["", "eu", "us"][n].to_owned()).collect(),
            projects: of(projects, ["shop/*", "**/api", "100%_'/x", "%"])
                .map(|t| t.parse().unwrap())
                .collect(),
            groups: of(groups, ["shop", "SHOP/pay", "ops", "100%_'"]).map(|t| t.parse().unwrap()).collect(),
            clusters: clusters.into_iter().map(|n| ["east", "west"][n].to_owned()).collect(),
            agents: agents.into_iter().map(|n| format!("ops/agents:a{n}").parse().unwrap()).collect(),
            states: states.into_iter().map(|n| EnvironmentState::ALL[n]).collect(),
            names: of(names, ["prod*", "**/us-region", "p%", "review/**"])
                .map(|t| t.parse().unwrap())
                .collect(),
            healths: healths.into_iter().map(|n| Health::ALL[n]).collect(),
            labels: SELECTORS[labels].parse().unwrap(),
        };
        let group_by = group_by.into_iter().map(|text| text.parse().unwrap()).collect();
        GetOverview { filter, group_by, limit, ..GetOverview::default() }
    })
}

/// Whether an environment passes a filter, told from what the list says of it.
pub(super) fn passes(filter: &EnvironmentFilter, one: &Environment) -> bool {
    fn any<T>(wanted: &[T], holds: impl Fn(&T) -> bool) -> bool {
        wanted.is_empty() || wanted.iter().any(holds)
    }
    let path = one.project.to_lowercase();
    let agents: Vec<_> = one.targets.iter().filter_map(|target| target.agent.clone()).collect();
    any(&filter.tiers, |tier| one.tier == *tier)
        && any(&filter.regions, |region| one.region == *region)
        && any(&filter.projects, |glob| glob.matches_path(&one.project))
        && any(&filter.groups, |group| format!("{path}/").starts_with(&format!("{}/", group.folded())))
        && any(&filter.clusters, |cluster| one.targets.iter().any(|target| target.cluster == *cluster))
        && any(&filter.agents, |agent| agents.contains(agent))
        && any(&filter.states, |state| one.state == *state)
        && any(&filter.names, |glob| glob.matches(&one.name))
        && any(&filter.healths, |health| one.health.state == Some(*health))
        && filter.labels.matches(|name| one.labels.get(name).map(String::as_str))
}

/// In which groups an environment stands, told from what the list says of it.
pub(super) fn keys(request: &GetOverview, by: &[GroupBy], one: &Environment) -> BTreeSet<Vec<String>> {
    let group = || {
        let parts: Vec<_> = one.project.to_lowercase().split('/').map(str::to_owned).collect();
        let asked = request.filter.groups.iter().map(|group| group.folded());
        let above = asked.filter(|group| format!("{}/", parts.join("/")).starts_with(&format!("{group}/")));
        let depth = above.map(|group| group.split('/').count()).max().unwrap_or(0);
        parts[..parts.len().min(depth + 1)].join("/")
    };
    let places: Vec<_> = one.targets.iter().map(|t| (t.cluster.clone(), t.agent.clone())).collect();
    let places = if places.is_empty() { vec![(String::new(), None)] } else { places };
    let key = |(cluster, agent): &(String, Option<strandline_model::AgentId>), by: &GroupBy| match by {
        GroupBy::Tier => one.tier.to_string(),
        GroupBy::Region => one.region.clone(),
        GroupBy::Project => one.project.clone(),
        GroupBy::Group => group(),
        GroupBy::Cluster => cluster.clone(),
        GroupBy::Agent => agent.as_ref().map(ToString::to_string).unwrap_or_default(),
        GroupBy::Health => one.health.state.map(|health| health.to_string()).unwrap_or_default(),
        GroupBy::State => one.state.to_string(),
        GroupBy::Label(name) => one.labels.get(name).cloned().unwrap_or_default(),
    };
    places.iter().map(|place| by.iter().map(|by| key(place, by)).collect()).collect()
}

fn counts<'a>(list: impl IntoIterator<Item = &'a Environment>) -> OverviewCounts {
    let mut counts = OverviewCounts::default();
    for one in list {
        counts.total += 1;
        if one.access == EnvironmentAccess::Denied {
            counts.denied += 1;
            continue;
        }
        *counts.environments.slot(one.health.state) += 1;
        counts.resources.add(one.health.counts);
    }
    counts.health = counts.environments.worst();
    counts
}

/// What a list of all environments amounts to.
fn naive(request: &GetOverview, all: &[Environment]) -> Overview {
    let by = if request.group_by.is_empty() { vec![GroupBy::Region] } else { request.group_by.clone() };
    let chosen: Vec<_> = all.iter().filter(|one| passes(&request.filter, one)).collect();
    let mut members: BTreeMap<Vec<String>, Vec<&Environment>> = BTreeMap::new();
    for one in &chosen {
        for key in keys(request, &by, one) {
            members.entry(key).or_default().push(one);
        }
    }
    let group = |(keys, mut list): (Vec<String>, Vec<&Environment>)| {
        list.sort_by_key(|one| {
            (attention(one.health.state), std::cmp::Reverse(one.health.since), one.id.clone())
        });
        let urgent = list.iter().filter_map(|one| {
            let health = one.health.state.filter(|health| health.needs_attention())?;
            let (id, project, name) = (one.id.clone(), one.project.clone(), one.name.clone());
            Some(OverviewEnvironment { id, project, name, health, since: one.health.since })
        });
        let attention = urgent.take(Overview::ATTENTION).collect();
        OverviewGroup { keys, counts: counts(list), attention }
    };
    let mut groups: Vec<_> = members.into_iter().map(group).collect();
    groups.sort_by_key(|group| attention(group.counts.health));
    let limit = request.limit.unwrap_or(Overview::LIMIT);
    let groups_left_out = groups.len().saturating_sub(limit) as u64;
    groups.truncate(limit);
    Overview {
        group_by: by,
        groups,
        groups_left_out,
        totals: counts(chosen),
        trend: None,
        environments: None,
        warnings: Vec::new(),
    }
}

/// Holds an overview and the list of the same filter against the list of all.
async fn holds(world: &World, scope: &Scope, at: At, request: &GetOverview) {
    let queries = &world.queries;
    let all =
        queries.ask(scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole())).await.unwrap();
    let mut overview = queries.ask(scope, at, request.clone()).await.unwrap();
    overview.value.warnings.clear();
    assert_eq!(overview.value, naive(request, &all.items), "at {at:?} for {request:?}");
    assert_eq!(overview.metadata, all.metadata.snapshot);
    let also_by = vec![vec![GroupBy::Cluster], vec![GroupBy::Group, GroupBy::Label("team".into())]];
    let together = GetOverviews { first: request.clone(), also_by: also_by.clone() };
    let (mut first, others) = queries.ask(scope, at, together).await.unwrap();
    first.value.warnings.clear();
    assert_eq!(first, overview, "other groupings change nothing");
    for (by, other) in also_by.into_iter().zip(others) {
        let alone = GetOverview { group_by: by, limit: None, ..request.clone() };
        assert_eq!(other, naive(&alone, &all.items), "at {at:?} for {alone:?}");
    }
    let values = queries.ask(scope, at, ListFilterValues { limit: 100 }).await.unwrap();
    let used = || all.items.iter().filter(|one| EnvironmentFilter::IN_USE.contains(&one.state));
    let regions: BTreeSet<_> = used().map(|one| one.region.clone()).filter(|one| !one.is_empty()).collect();
    let top = |one: &Environment| one.project.to_lowercase().split('/').next().unwrap().to_owned();
    let groups: BTreeSet<_> = used().map(top).collect();
    assert_eq!(BTreeSet::from_iter(values.regions), regions, "at {at:?}");
    assert_eq!(BTreeSet::from_iter(values.groups), groups, "at {at:?}");
    let list = queries.ask(scope, at, ListEnvironments::new(&request.filter, &whole())).await.unwrap().items;
    let expected: Vec<_> = all.items.into_iter().filter(|one| passes(&request.filter, one)).collect();
    assert_eq!(list, expected, "at {at:?} for {:?}", request.filter);
}

proptest! {
    #![proptest_config(strandline_testkit::cases(12))]

    #[test]
    fn an_overview_is_a_fold_over_the_list(
        events in history(),
        requests in prop::collection::vec(question(), 30),
        steps in prop::collection::vec(any::<prop::sample::Index>(), 30),
        scopes in prop::collection::vec(prop::sample::select(vec![None, Some("shop"), Some("ops/tools"), Some("x")]), 30),
        grace in prop::sample::select(vec![0, 150]),
    ) {
        let progressing_grace = std::time::Duration::from_secs(grace);
        let world = World::judged_by(RuleSet { progressing_grace, ..RuleSet::default() }, events);
        world.clock.set(World::time(world.last() + 1));
        block_on(async {
            for ((request, step), scope) in requests.iter().zip(&steps).zip(&scopes) {
                let scope = match scope {
                    None => Scope::everything(),
                    Some(path) => Scope::members(Membership::new([path], [path])),
                };
                let offset = world.heads[step.index(world.heads.len())];
                holds(&world, &scope, At::Offset(offset), request).await;
                holds(&world, &scope, At::Now, request).await;
            }
        });
    }
}

#[test]
fn an_environment_in_two_clusters_stands_in_both_and_counts_once() {
    let world = World::new(small_history());
    let request = GetOverview { group_by: vec![GroupBy::Cluster], ..GetOverview::default() };
    let overview = block_on(world.queries.ask(&Scope::everything(), At::Now, request)).unwrap().value;
    let told: Vec<_> = overview.groups.iter().map(|group| (&*group.keys[0], group.counts.total)).collect();
    assert_eq!(told.iter().map(|(_, total)| total).sum::<u64>(), overview.totals.total + 1, "{told:?}");
    assert_eq!(overview.totals.total, 4);
}

#[test]
fn what_an_agent_does_not_let_see_is_counted_without_health() {
    let declared = vec![(0, 0, 1, 0, vec![(0, true)]), (0, 1, 1, 0, vec![(0, false)])];
    let failed = Thing { health: 2, ..Thing::pod("east", "shop", "web") };
    let world = World::new([catalog(declared), Event::Apply(failed)]);
    let ask = |scope: Scope| {
        let request = GetOverview::default();
        block_on(world.queries.ask(&scope, At::Now, request)).unwrap().value.totals
    };
    let all = ask(Scope::everything());
    assert_eq!((all.total, all.denied, all.environments.degraded), (2, 0, 2));
    let ours = ask(Scope::projects(["shop/web".to_owned()]));
    assert_eq!((ours.total, ours.denied, ours.environments.degraded), (2, 1, 1));
    assert_eq!(ours.resources, HealthCounts { degraded: 1, ..HealthCounts::default() });
    assert_eq!(ask(Scope::projects(["other".to_owned()])), OverviewCounts::default());
}

#[test]
fn hostile_filters_match_nothing_but_themselves() {
    let world = World::new([catalog(vec![(3, 3, 1, 0, vec![]), (0, 0, 1, 0, vec![])])]);
    let total = |filter: EnvironmentFilter| {
        let request = GetOverview { filter, ..GetOverview::default() };
        block_on(world.queries.ask(&Scope::everything(), At::Now, request)).unwrap().value.totals.total
    };
    let any = EnvironmentFilter::default;
    assert_eq!(total(any()), 2);
    for text in ["%", "_", "' OR '1'='1", "\"]') --", "[%]", "100%[_]'", "*", "p"] {
        let list = |text: &str| vec![text.to_owned()];
        assert_eq!(total(EnvironmentFilter { regions: list(text), ..any() }), 0, "{text}");
        assert_eq!(total(EnvironmentFilter { clusters: list(text), ..any() }), 0, "{text}");
    }
    assert_eq!(total(EnvironmentFilter { names: vec!["p%".parse().unwrap()], ..any() }), 1);
    assert_eq!(total(EnvironmentFilter { projects: vec!["100%_'/*".parse().unwrap()], ..any() }), 1);
    let huge: Vec<_> = (0..20_000).map(|n| format!("region-{n}")).chain(["eu".to_owned()]).collect();
    assert_eq!(total(EnvironmentFilter { regions: huge, ..any() }), 2);
    let huge = (0..20_000).map(|n| format!("a/b{n}").parse().unwrap()).collect();
    assert_eq!(total(EnvironmentFilter { projects: huge, ..any() }), 0);
}

#[test]
fn an_overview_is_a_fold_over_the_list_wherever_a_stretch_begins() {
    let declared = |state| catalog((0..4).map(|n| (n, n, 1, state, vec![(n, false)])).collect());
    let mut events = vec![declared(0)];
    let pod = |n: usize| Thing::pod(["east", "west"][n % 2], ["shop", "tools"][n / 2 % 2], "web");
    events.extend((0..150).map(|n| Event::Apply(Thing { health: n / 4 % 7, ..pod(n) })));
    events.extend([declared(2), mark("east", "Pod", "", true), declared(0), mark("east", "Pod", "", false)]);
    events.extend((0..60).map(|n| Event::Apply(Thing { health: n / 3 % 7, ..pod(n) })));
    let world = World::new(events);
    world.clock.set(World::time(world.last() + 1));
    let starts: Vec<u64> = {
        let view = world.view();
        let mut statement = view.prepare("SELECT from_offset FROM stretch ORDER BY from_offset").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        rows.map(|row| row.unwrap() as u64).collect()
    };
    assert!(starts.len() > 3, "the history is long enough for several: {starts:?}");
    let request = GetOverview::default();
    block_on(async {
        for offset in starts.iter().flat_map(|start| start - 1..=start + 1) {
            holds(&world, &Scope::everything(), At::Offset(strandline_model::Offset::new(offset)), &request)
                .await;
        }
    });
}
