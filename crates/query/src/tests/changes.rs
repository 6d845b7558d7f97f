//! What changed across environments.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// An object of the cluster `one`, in an environment of it.
fn deployment(name: &str, image: &str, ready: bool) -> serde_json::Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "creationTimestamp": World::time(3)},
        "spec": {"template": {"spec": {"containers": [{"name": "api", "image": image}]}}},
        "status": {"readyReplicas": i32::from(ready)}})
}

fn shop() -> Event {
    Event::Declare(vec![environment("shop/web", "production", &[("one", "shop", "")])])
}

fn ask(world: &World, scope: &Scope, filter: &ChangesFilter, page: &PageRequest) -> Page<FeedEntry> {
    world.clock.set(World::time(world.last()));
    block_on(world.queries.ask(scope, At::Now, ListChanges::new(filter, page))).unwrap()
}

fn all(world: &World, filter: &ChangesFilter) -> Vec<FeedEntry> {
    ask(world, &Scope::everything(), filter, &whole()).items
}

/// Kind, name and summary of entries.
fn said(entries: &[FeedEntry]) -> Vec<(FeedKind, String, String)> {
    let name = |entry: &FeedEntry| entry.entry.resource.as_ref().map(|it| it.key.name.clone());
    let one = |entry: &FeedEntry| (entry.kind, name(entry).unwrap_or_default(), entry.summary.clone());
    entries.iter().map(one).collect()
}

#[test]
fn what_is_asked_for_is_told_from_what_follows() {
    let pod = Event::Apply(Thing {
        cluster: "one".into(),
        owner: "set".into(),
        ..Thing::pod("one", "shop", "api-1")
    });
    let world = World::new([
        shop(),
        Event::Object(deployment("api", "r/shop/api:1.0", true)),
        Event::Object(deployment("api", "r/shop/api:2.0", true)),
        Event::Object(deployment("api", "r/shop/api:2.0", false)),
        pod,
        Event::Gone(deployment("api", "r/shop/api:2.0", false)),
    ]);
    let found = all(&world, &ChangesFilter::default());
    let api = |kind, summary: &str| (kind, "api".to_owned(), summary.to_owned());
    assert_eq!(
        said(&found),
        [
            api(FeedKind::Deleted, "deleted"),
            api(FeedKind::Spec, "image api 1.0 → 2.0"),
            api(FeedKind::Created, "created"),
        ]
    );
    let follow_ups: Vec<_> = found.iter().map(|entry| entry.follow_ups).collect();
    assert_eq!(follow_ups, [0, 2, 0], "a status, and a Pod");
    assert_eq!(found[1].environments[0].name, "production");
    let only = |kinds: &[FeedKind]| ChangesFilter { kinds: kinds.to_vec(), ..ChangesFilter::default() };
    assert_eq!(all(&world, &only(&[FeedKind::Spec])).len(), 1);
    let since =
        |since, until| ChangesFilter { since: Some(At::Time(since)), until, ..ChangesFilter::default() };
    let until = At::Time(World::time(3));
    for filter in [since(World::time(3), Some(until)), since(World::time(3), None)] {
        let count = if filter.until.is_some() { 1 } else { 2 };
        assert_eq!(all(&world, &filter).len(), count, "{filter:?}");
    }
}

#[test]
fn the_same_in_several_clusters_is_one_entry() {
    let thing = |cluster: &str, health| {
        let it = Thing::pod(cluster, "shop", "db").of("apps/v1", "Deployment");
        Event::Apply(Thing { app: "db".into(), health, ..it })
    };
    let places = ["east", "west"];
    let events = [0, 3].into_iter().flat_map(|health| places.map(|cluster| thing(cluster, health)));
    let world = World::new([Event::Declare(environments())].into_iter().chain(events));
    let found = all(&world, &ChangesFilter::default());
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!((found[0].clusters.len(), found[0].also.len()), (2, 1), "{:#?}", found[0]);
    assert_eq!((found[0].summary.as_str(), found[0].by.as_str()), ("replicas 0 → 3; 2 more", "kubectl"));
    let by = |name: &str| ChangesFilter { by: vec![name.parse().unwrap()], ..ChangesFilter::default() };
    assert_eq!((all(&world, &by("kube*")).len(), all(&world, &by("alice")).len()), (2, 0));
    // A page is so many rows, and the next goes on behind them.
    let mut page = PageRequest { limit: 1, after: None };
    let mut rows = 0;
    loop {
        let found = ask(&world, &Scope::everything(), &ChangesFilter::default(), &page);
        rows += found.items.len();
        match found.metadata.next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    assert_eq!(rows, 4);
}

#[test]
fn a_manager_that_writes_statuses_in_an_environment_is_a_controller_there() {
    let scaled = |cluster: &str, health| {
        let it = Thing::pod(cluster, "shop", "web").of("apps/v1", "Deployment");
        Event::Apply(Thing { app: "web".into(), health, ..it })
    };
    // Statuses of Pods are written by the same manager in this world.
    let pod = Event::Apply(Thing { app: "web".into(), ..Thing::pod("east", "shop", "web-1") });
    let world = World::new([Event::Declare(environments()), scaled("east", 0), pod, scaled("east", 3)]);
    let found = all(&world, &ChangesFilter { kinds: vec![FeedKind::Spec], ..ChangesFilter::default() });
    assert_eq!(said(&found), []);
    let controllers = ChangesFilter { controllers: true, ..ChangesFilter::default() };
    assert_eq!(all(&world, &controllers).iter().filter(|entry| entry.kind == FeedKind::Spec).count(), 1);
}

#[test]
fn a_scope_reads_the_changes_of_its_environments_alone() {
    let world = World::new(small_history());
    let all = ChangesFilter { kinds: FeedKind::ALL.to_vec(), controllers: true, ..ChangesFilter::default() };
    let every = ask(&world, &Scope::everything(), &all, &whole()).items;
    let kinds: std::collections::BTreeSet<_> = every.iter().map(|entry| entry.kind).collect();
    assert!(kinds.len() >= 5, "{kinds:?}");
    let mut seen = 0;
    for project in ["shop/web", "shop/db", "ops/tools"] {
        let scope = Scope::projects([project.to_owned()]);
        let ours = ask(&world, &scope, &all, &whole()).items;
        let of_project = |entry: &FeedEntry| entry.environments.iter().all(|one| one.project == project);
        assert!(!ours.is_empty() && ours.iter().all(of_project), "{project}");
        let filter =
            EnvironmentFilter { projects: vec![project.parse().unwrap()], ..EnvironmentFilter::default() };
        let filtered = ChangesFilter { environments: filter, ..all.clone() };
        let filtered = ask(&world, &Scope::everything(), &filtered, &whole()).items;
        assert_eq!(ours, filtered, "{project}: what a scope hides and a filter leaves out is the same");
        seen += ours.len();
    }
    assert!(seen >= every.len());
    let stranger = ask(&world, &Scope::projects(["x/y".to_owned()]), &all, &whole());
    assert_eq!((stranger.items.len(), stranger.metadata.next), (0, None));
}

#[test]
fn a_warning_comes_up_with_what_it_is_about_unless_it_was_said_long_ago() {
    let pod = Thing { app: "web".into(), ..Thing::pod("east", "shop", "web-1") };
    let after = |minutes: usize| {
        let before = [Event::Apply(pod.clone()), say(&pod, "BackOff", 1)];
        let waiting = std::iter::repeat_n(Event::Nothing, minutes - 1);
        let world = World::new(before.into_iter().chain(waiting).chain([Event::Declare(environments())]));
        let filter = ChangesFilter { kinds: vec![FeedKind::Warning], ..ChangesFilter::default() };
        all(&world, &filter).len()
    };
    assert_eq!((after(10), after(60), after(61)), (1, 1, 0));
}

#[test]
fn the_newest_changes_are_read_without_a_look_at_the_rest() {
    let world = World::new(small_history());
    let view = world.view();
    for (sql, step) in [
        (crate::changes::OF_ALL, "SCAN f"),
        (crate::changes::OF_SOME, "SEARCH f USING COVERING INDEX feed_by_environment"),
        (crate::changes::MOVED, "SEARCH environment_health USING COVERING INDEX environment_health_by_time"),
    ] {
        let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = plan.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>(3).unwrap());
        }
        assert!(
            steps.iter().any(|one| one.starts_with(step) || one.contains("SEARCH f USING")),
            "{steps:#?}"
        );
        let sorts = steps.iter().any(|one| one.contains("ORDER BY"));
        assert_eq!(sorts, sql == crate::changes::OF_SOME, "{steps:#?}");
    }
}

/// Projects with the cluster and the label of what is theirs: in one namespace, of the same names.
const PLACES: [(&str, &str, &str); 5] = [
    ("shop/web", "east", "web"),
    ("shop/web", "west", "web"),
    ("shop/db", "east", "db"),
    ("shop/db", "west", "db"),
    ("ops/tools", "west", "ops"),
];

fn declare(projects: &[&str]) -> Event {
    let of = |project: &&str| {
        let ours = PLACES.iter().filter(|place| place.0 == *project);
        let targets: Vec<_> = ours.map(|(_, cluster, app)| (*cluster, "shop", *app)).collect();
        environment(project, "production", &targets)
    };
    Event::Declare(projects.iter().map(of).collect())
}

/// Changes, ends and Warnings at random, each of the project of its place. In one namespace two have no name in common.
fn changes() -> impl Strategy<Value = Vec<(&'static str, Event)>> {
    let kinds = prop::sample::select(vec![("apps/v1", "Deployment"), ("v1", "Pod"), ("v1", "ConfigMap")]);
    let one = (0..PLACES.len(), kinds, 0..2_usize, 0..7_usize, 0..6_usize);
    let one = one.prop_map(|(place, (version, kind), number, health, what)| {
        let (project, cluster, app) = PLACES[place];
        let thing = Thing::pod(cluster, "shop", &format!("{app}-{kind}-{number}")).of(version, kind);
        let thing = Thing { app: app.into(), health, ..thing };
        let event = match what {
            0 => Event::Delete(thing),
            1 => say(&thing, "BackOff", 1),
            _ => Event::Apply(thing),
        };
        (project, event)
    });
    prop::collection::vec(one, 5..60)
}

/// Pages of all changes as a caller reads them, without offsets, which count what others do too.
fn pages(world: &World, scope: &Scope, limit: usize, filter: &ChangesFilter) -> Vec<Value> {
    let mut page = PageRequest { limit, after: None };
    let mut pages = Vec::new();
    loop {
        let found = ask(world, scope, filter, &page);
        let next = found.metadata.next.clone();
        let items = found.items.into_iter().map(|mut entry| {
            entry.entry.offset = Offset::new(0);
            entry.entry.id = entry.entry.id.rsplit_once('.').unwrap().1.to_owned();
            entry.also.iter_mut().for_each(|place| place.offset = Offset::new(0));
            serde_json::to_value(entry).unwrap()
        });
        pages.push(json!({"items": items.collect::<Vec<_>>(), "more": next.is_some()}));
        match next {
            Some(next) => page.after = Some(next),
            None => return pages,
        }
    }
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    /// Rows, what is folded, what is counted, and how many pages there are: all as if the others never were.
    #[test]
    fn changes_of_others_change_nothing(
        events in changes(),
        ours in prop::sample::subsequence(vec!["shop/web", "shop/db", "ops/tools"], 0..3),
    ) {
        let all = ["shop/web", "shop/db", "ops/tools"];
        let full = World::new([declare(&all)].into_iter().chain(events.iter().map(|it| it.1.clone())));
        let kept = events.iter().map(|(project, event)| match ours.contains(project) {
            true => event.clone(),
            false => Event::Nothing,
        });
        let reduced = World::new([declare(&ours)].into_iter().chain(kept));
        let scope = Scope::projects(ours.iter().map(|&path| path.to_owned()));
        let kinds = FeedKind::ALL.to_vec();
        let by = vec!["kube*".parse().unwrap()];
        for filter in [
            ChangesFilter::default(),
            ChangesFilter { kinds: kinds.clone(), controllers: true, ..ChangesFilter::default() },
            ChangesFilter { kinds, by, ..ChangesFilter::default() },
        ] {
            for limit in [2, PageRequest::MAX] {
                let seen = pages(&full, &scope, limit, &filter);
                let expected = pages(&reduced, &Scope::everything(), limit, &filter);
                prop_assert_eq!(seen, expected, "{:?} in pages of {}", filter, limit);
            }
        }
    }
}

/// A change of health: its environment, offset and time, and what it was and became.
type Became = (String, Offset, strandline_model::Timestamp, Option<Health>, Option<Health>);

fn became(environment: &EnvironmentId, entry: &Entry) -> Became {
    let health = entry.health.as_ref().unwrap();
    (environment.as_str().to_owned(), entry.offset, entry.observed_at, health.before, health.after)
}

/// What the feed tells of health, page by page.
fn fed(world: &World, scope: &Scope, at: At, filter: &ChangesFilter, limit: usize) -> Vec<Became> {
    let mut page = PageRequest { limit, after: None };
    let mut entries = Vec::new();
    loop {
        let found = block_on(world.queries.ask(scope, at, ListChanges::new(filter, &page))).unwrap();
        assert!(found.items.len() <= limit);
        entries.extend(found.items.iter().map(|item| became(&item.environments[0].id, &item.entry)));
        match found.metadata.next {
            Some(next) => page.after = Some(next),
            None => return entries,
        }
    }
}

/// What the timelines of the environments tell of health.
fn shown(
    world: &World,
    scope: &Scope,
    at: At,
    since: At,
    ids: impl IntoIterator<Item = EnvironmentId>,
) -> Vec<Became> {
    let lanes = vec![strandline_model::Lane::Health];
    let filter = TimelineFilter { since: Some(since), lanes, ..TimelineFilter::default() };
    let mut shown = Vec::new();
    for id in ids {
        let question = GetEnvironmentTimeline::new(&id, &filter, &whole());
        let Ok(found) = block_on(world.queries.ask(scope, at, question)) else { continue };
        shown.extend(found.timeline.entries.iter().map(|entry| became(&id, entry)));
    }
    shown
}

fn of_health(since: At, until: Option<At>) -> ChangesFilter {
    ChangesFilter { since: Some(since), until, kinds: vec![FeedKind::Health], ..ChangesFilter::default() }
}

proptest! {
    #![proptest_config(strandline_testkit::cases(16))]

    #[test]
    fn a_feed_tells_of_health_what_the_timelines_tell(
        events in super::scope::events(),
        together in prop::collection::vec(0..7_usize, 0..6),
        projects in prop::sample::subsequence(super::scope::PROJECTS.to_vec(), 0..3),
        grace in prop::sample::select(vec![0, 90, 150, 600]),
        spans in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 1..7_usize), 6),
    ) {
        let progressing_grace = std::time::Duration::from_secs(grace);
        let world = World::judged_by(RuleSet { progressing_grace, ..RuleSet::default() }, events.clone());
        // Several changes of one time, most of which last none.
        let pod = |(n, health): (usize, &usize)| {
            Thing { health: *health, ..Thing::pod("east", "shop", &(n % 3).to_string()) }
        };
        let things: Vec<_> = together.iter().enumerate().map(pod).collect();
        crate::testing::record(world.directory(), world.clock.clone(), async |appender| {
            for (version, thing) in (world.last() + 1..).zip(things.chunks(1)) {
                crate::testing::apply_all(&appender, version, thing).await;
            }
        });
        world.project();
        world.clock.set(World::time(world.last() + 4));
        let scopes =
            [Scope::everything(), Scope::projects(projects.iter().map(|path| (*path).to_owned()))];
        let step = |part: f64| At::Time(World::time((world.last() as f64 * part) as usize + 1));
        for (begin, end, moment, limit) in &spans {
            let moment = At::Offset(world.heads[(world.last() as f64 * moment) as usize + 1]);
            for (scope, at) in scopes.iter().flat_map(|scope| [(scope, At::Now), (scope, moment)]) {
                let (since, until) = (step(begin.min(*end)), step(begin.max(*end)));
                let ids = super::scope::ids(&events);
                let mut expected = shown(&world, scope, at, since, ids);
                let sorted = |mut all: Vec<Became>| {
                    all.sort();
                    all
                };
                let fed_until_now = fed(&world, scope, at, &of_health(since, None), *limit);
                let offsets: Vec<_> = fed_until_now.iter().map(|one| one.1).collect();
                prop_assert!(offsets.is_sorted_by(|one, next| one >= next), "{:?}", offsets);
                prop_assert_eq!(sorted(fed_until_now), sorted(expected.clone()), "at {}", at);
                let At::Time(last) = until else { unreachable!() };
                expected.retain(|one| one.2 <= last);
                let fed = fed(&world, scope, at, &of_health(since, Some(until)), *limit);
                prop_assert_eq!(sorted(fed), sorted(expected), "at {} until {}", at, until);
            }
        }
    }
}
