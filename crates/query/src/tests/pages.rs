//! Pages of a list against the same list in one.

use serde_json::Value;

use super::*;
use strandline_model::Offset;

/// Every list there is, with everything that narrows it.
#[derive(Clone, Debug)]
enum List {
    Environments(EnvironmentFilter),
    Resources(EnvironmentId, ResourceFilter),
    History(Uid, Option<&'static str>),
    Events(EnvironmentId, EventFilter),
    EventsOf(Uid, EventFilter),
    Clusters,
    Coverage(CoverageFilter),
}

/// What the tests want to know of a page.
#[derive(Debug, PartialEq)]
struct Part {
    items: Vec<Value>,
    offset: Offset,
    next: Option<String>,
}

fn part<T: serde::Serialize>(page: Page<T>) -> Part {
    // When a cluster was last heard of is not of the moment to which pages are pinned.
    let pinned = |item: &T| {
        let mut item = serde_json::to_value(item).unwrap();
        item.as_object_mut().unwrap().retain(|name, _| name != "last_seen" && name != "lag_ms");
        item
    };
    let items = page.items.iter().map(pinned).collect();
    Part { items, offset: page.metadata.snapshot.offset, next: page.metadata.next }
}

impl List {
    async fn page(&self, world: &World, scope: &Scope, at: At, page: &PageRequest) -> Result<Part> {
        let queries = &world.queries;
        match self {
            List::Environments(filter) => {
                queries.ask(scope, at, ListEnvironments::new(filter, page)).await.map(part)
            }
            List::Resources(id, filter) => {
                queries.ask(scope, at, ListEnvironmentResources::new(id, filter, page)).await.map(part)
            }
            List::History(uid, cluster) => {
                queries.ask(scope, at, ListResourceVersions::new(uid, *cluster, true, page)).await.map(part)
            }
            List::Events(id, filter) => {
                queries.ask(scope, at, ListEnvironmentEvents::new(id, filter, page)).await.map(part)
            }
            List::EventsOf(uid, filter) => {
                queries.ask(scope, at, ListResourceEvents::new(uid, None, filter, page)).await.map(part)
            }
            List::Clusters => queries.ask(scope, at, ListClusters::new(page)).await.map(part),
            List::Coverage(filter) => queries.ask(scope, at, ListCoverage::new(filter, page)).await.map(part),
        }
    }
}

fn lists() -> Vec<List> {
    let id = EnvironmentId::of("shop/db", "production");
    vec![
        List::Environments(EnvironmentFilter::default()),
        List::Resources(id.clone(), ResourceFilter::default()),
        List::History(Uid::new("shop-mover"), None),
        List::Events(id, EventFilter::default()),
        List::EventsOf(Uid::new("shop-mover"), EventFilter::default()),
        List::Clusters,
        List::Coverage(CoverageFilter::default()),
    ]
}

/// Changes that would move every list under whoever walks it.
fn changes(n: usize) -> Vec<Event> {
    let pod = |name: String| Thing { app: "db".into(), ..Thing::pod("east", "shop", &name) };
    let extra = environment("aaa", &format!("a{n}"), &[("a-cluster", "shop", "")]);
    let mover = Thing { health: n % 7, ..mover() };
    vec![
        Event::Apply(pod(format!("0-{n}"))),
        Event::Delete(Thing { uid: "shop-db-1".into(), ..Thing::pod("east", "shop", "db-1") }),
        Event::Apply(mover.clone()),
        say(&mover, "Killing", 2 + n as u32),
        say(&mover, ["Pulled", "Started", "Created"][n % 3], 1),
        Event::Declare(environments().into_iter().skip(n % 3).chain([extra]).collect()),
    ]
}

#[test]
fn pages_agree_with_each_other_while_the_world_goes_on() {
    let (mut world, scope) = (World::new(small_history()), Scope::everything());
    for (n, (list, limit)) in
        lists().iter().flat_map(|list| (1..=5).map(move |limit| (list.clone(), limit))).enumerate()
    {
        let first =
            block_on(list.page(&world, &scope, At::Now, &PageRequest { limit, after: None })).unwrap();
        let whole = block_on(list.page(&world, &scope, At::Now, &whole())).unwrap();
        assert_eq!((whole.offset, &whole.next), (first.offset, &None), "{list:?}");
        world.go_on(changes(n));
        let (mut items, mut next) = (first.items, first.next);
        while let Some(after) = next {
            let full = items.len().is_multiple_of(limit);
            assert!(full, "{list:?} by {limit}: only the last page may hold less");
            let request = PageRequest { limit, after: Some(after) };
            let page = block_on(list.page(&world, &scope, At::Now, &request)).unwrap();
            assert_eq!(page.offset, first.offset, "{list:?} by {limit}: pinned");
            assert!((1..=limit).contains(&page.items.len()), "{list:?} by {limit}: no empty page");
            items.extend(page.items);
            next = page.next;
        }
        assert_eq!(items, whole.items, "{list:?} by {limit}");
        assert!(items.len() > 1, "{list:?} is worth walking");
    }
}

#[test]
fn a_token_is_refused_wherever_it_does_not_belong() {
    let (world, all) = (World::new(small_history()), Scope::everything());
    let id = |project, name| EnvironmentId::of(project, name);
    let regions = EnvironmentFilter { regions: vec!["eu".into()], ..EnvironmentFilter::default() };
    let pods = ResourceFilter { kinds: vec!["Pod".parse().unwrap()], ..ResourceFilter::default() };
    let warnings = EventFilter { types: vec![EventType::Warning], ..EventFilter::default() };
    let mut others = lists();
    others.extend([
        List::Environments(regions),
        List::Resources(id("shop/db", "production"), pods),
        List::Resources(id("shop/web", "production"), ResourceFilter::default()),
        List::History(Uid::new("shop-mover"), Some("east")),
        List::History(Uid::new("shop-web-0"), None),
        List::Events(id("shop/web", "production"), EventFilter::default()),
        List::Events(id("shop/db", "production"), warnings.clone()),
        List::EventsOf(Uid::new("shop-mover"), warnings),
        List::Coverage(CoverageFilter { clusters: vec!["east".into()], ..CoverageFilter::default() }),
    ]);
    block_on(async {
        for (n, list) in lists().iter().enumerate() {
            let first =
                list.page(&world, &all, At::Now, &PageRequest { limit: 1, after: None }).await.unwrap();
            let request = PageRequest { limit: 2, after: first.next };
            assert!(list.page(&world, &all, At::Now, &request).await.is_ok(), "the limit may change");
            let at = At::Offset(first.offset);
            assert!(list.page(&world, &all, at, &request).await.is_ok(), "the same moment may be named");
            let refused = |answer: Result<Part>| matches!(answer, Err(QueryError::BadToken(_)));
            let at = At::Offset(Offset::new(first.offset.get() - 1));
            assert!(refused(list.page(&world, &all, at, &request).await), "{list:?}: another offset");
            let at = At::Time(World::time(world.last() - 1));
            assert!(refused(list.page(&world, &all, at, &request).await), "{list:?}: an earlier time");
            let scope = Scope::projects(["shop/db".to_owned()]);
            assert!(refused(list.page(&world, &scope, At::Now, &request).await), "{list:?}: another scope");
            for (_, other) in others.iter().enumerate().filter(|(m, _)| *m != n) {
                let answer = other.page(&world, &all, At::Now, &request).await;
                assert!(refused(answer), "the token of {list:?} for {other:?}");
            }
        }
    });
}

#[test]
fn environments_are_read_in_their_order_and_not_sorted() {
    let view = World::new(small_history()).view();
    for sql in [crate::environments::OF_ALL, crate::environments::OF_SCOPE] {
        let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = plan.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let step = row.get::<_, String>(3).unwrap();
            assert!(!step.contains("ORDER BY"), "{step}");
        }
    }
}
