//! What Events said across environments.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::scope::{MOVED, events, ids};
use super::*;
use strandline_model::Timestamp;

const EVER: Option<At> = Some(At::Time(Timestamp::from_micros(0)));

fn ever() -> EventFeedFilter {
    EventFeedFilter { since: EVER, ..EventFeedFilter::default() }
}

fn ask(
    world: &World,
    scope: &Scope,
    at: At,
    filter: &EventFeedFilter,
    page: &PageRequest,
) -> Page<FeedEvent> {
    world.clock.set(World::time(world.last()));
    block_on(world.queries.ask(scope, at, ListEvents::new(filter, page))).unwrap()
}

/// Name, reason and count of Events, as they are listed.
fn said(world: &World, filter: &EventFeedFilter) -> Vec<(String, String, u64)> {
    let found = ask(world, &Scope::everything(), At::Now, filter, &whole()).items;
    found.into_iter().map(|it| (it.event.key.name, it.event.reason, it.event.count)).collect()
}

fn lines(expected: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    expected.iter().map(|(name, reason, count)| ((*name).to_owned(), (*reason).to_owned(), *count)).collect()
}

fn pod(cluster: &str, name: &str) -> Thing {
    Thing { app: "web".into(), ..Thing::pod(cluster, "shop", name) }
}

#[test]
fn what_is_said_again_is_one_event_that_comes_first() {
    let (one, two) = (pod("east", "a"), pod("west", "b"));
    let places = [("east", "shop", "web"), ("west", "shop", "web")];
    let world = World::new([
        Event::Declare(vec![environment("shop/web", "production", &places)]),
        Event::Apply(one.clone()),
        Event::Apply(two.clone()),
        say(&one, "BackOff", 1),
        say(&two, "Pulled", 1),
        say(&one, "BackOff", 4),
    ]);
    assert_eq!(said(&world, &ever()), lines(&[("a", "BackOff", 4), ("b", "Pulled", 1)]));
    let only = |events| EventFeedFilter { events, ..ever() };
    for (reason, expected) in [("backoff", lines(&[("a", "BackOff", 4)])), ("BackOf", vec![])] {
        let reasons = vec![reason.to_owned()];
        assert_eq!(said(&world, &only(EventFilter { reasons, types: vec![] })), expected, "{reason}");
    }
    for (types, expected) in [
        (vec![EventType::Normal], 1),
        (vec![EventType::Warning], 1),
        (vec![EventType::Warning, EventType::Normal], 2),
    ] {
        let filter = only(EventFilter { types, reasons: vec![] });
        assert_eq!(said(&world, &filter).len(), expected, "{filter:?}");
    }
    // Until it was said again it stands where it was said before, with the count of then.
    let until = EventFeedFilter { until: Some(At::Time(World::time(5))), ..ever() };
    assert_eq!(said(&world, &until), lines(&[("b", "Pulled", 1), ("a", "BackOff", 1)]));
    let since = EventFeedFilter { since: Some(At::Time(World::time(5))), ..ever() };
    assert_eq!(said(&world, &since).len(), 2);
    let since = EventFeedFilter { since: Some(At::Time(World::time(6))), ..ever() };
    assert_eq!(said(&world, &since), lines(&[("a", "BackOff", 4)]));
}

#[test]
fn an_event_of_several_environments_is_one_item() {
    let it = pod("east", "a");
    let both = ["one", "two"].map(|name| environment("shop/web", name, &[("east", "shop", "web")]));
    let other = environment("shop/db", "other", &[("west", "shop", "")]);
    let world = World::new([
        Event::Declare(both.into_iter().chain([other]).collect()),
        Event::Apply(it.clone()),
        say(&it, "BackOff", 1),
    ]);
    let found = ask(&world, &Scope::everything(), At::Now, &ever(), &whole()).items;
    assert_eq!(found.len(), 1, "{found:#?}");
    let names: BTreeSet<_> = found[0].environments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["one", "two"]));
    let of = |environments: EnvironmentFilter| EventFeedFilter { environments, ..ever() };
    let name =
        |name: &str| EnvironmentFilter { names: vec![name.parse().unwrap()], ..EnvironmentFilter::default() };
    assert_eq!(said(&world, &of(name("o*"))).len(), 1);
    assert_eq!(said(&world, &of(name("other"))), []);
    let unknown = EnvironmentFilter { regions: vec!["moon".into()], ..EnvironmentFilter::default() };
    let page = ask(&world, &Scope::everything(), At::Now, &of(unknown), &whole());
    assert_eq!(page.metadata.warnings.len(), 1, "{page:?}");
    let one = |id: &str| EventFeedFilter { environment: Some(EnvironmentId::new(id)), ..ever() };
    assert_eq!(said(&world, &one("shop.web.one")).len(), 1);
    assert_eq!(said(&world, &one("shop.db.other")), []);
    let question = ListEvents::new(&one("shop.db.nothing"), &whole());
    let missing = block_on(world.queries.ask(&Scope::everything(), At::Now, question));
    assert!(matches!(missing, Err(QueryError::NotFound { .. })), "{missing:?}");
}

#[test]
fn a_day_is_listed_where_nothing_is_asked_for() {
    let it = pod("east", "a");
    let world = World::new([
        Event::Declare(vec![environment("shop/web", "production", &[("east", "shop", "web")])]),
        Event::Apply(it.clone()),
        say(&it, "BackOff", 1),
    ]);
    let list = |later: Duration| {
        world.clock.set(World::time(world.last()).plus(later));
        let question = ListEvents::new(&EventFeedFilter::default(), &whole());
        block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap().items.len()
    };
    assert_eq!([23, 25].map(|hours| list(Duration::from_secs(hours * 3600))), [1, 0]);
}

#[test]
fn a_page_is_read_without_a_look_at_the_rest() {
    let world = World::new(small_history());
    let view = world.view();
    for (sql, index, sorts) in [
        (crate::event_feed::OF_ALL, "SEARCH f USING PRIMARY KEY (said_at>? AND said_at<?)", false),
        (
            crate::event_feed::OF_SOME,
            "SEARCH f USING INDEX event_feed_by_environment (environment_id=? AND said_at",
            true,
        ),
        (
            crate::event_feed::OF_RARE,
            "SEARCH k USING COVERING INDEX kube_event_by_reason (reason_mark=?)",
            true,
        ),
    ] {
        let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = plan.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>(3).unwrap());
        }
        assert!(steps.iter().any(|one| one.starts_with(index)), "{steps:#?}");
        assert_eq!(steps.iter().any(|one| one.contains("ORDER BY")), sorts, "{steps:#?}");
    }
}

/// All pages of a list, without what counts what others do too.
fn pages(world: &World, scope: &Scope, at: At, limit: usize, filter: &EventFeedFilter) -> Vec<Value> {
    let mut page = PageRequest { limit, after: None };
    let mut pages = Vec::new();
    loop {
        let found = ask(world, scope, at, filter, &page);
        let next = found.metadata.next.clone();
        let items = found.items.into_iter().map(|event| {
            let mut item = serde_json::to_value(FeedEvent { offset: Offset::new(0), ..event }).unwrap();
            item["environments"].as_array_mut().unwrap().sort_by_key(|one| one["id"].to_string());
            item
        });
        pages.push(json!({"items": items.collect::<Vec<_>>(), "more": next.is_some()}));
        match next {
            Some(next) => page.after = Some(next),
            None => return pages,
        }
    }
}

proptest! {
    #![proptest_config(strandline_testkit::cases(12))]

    /// Whatever happens, the list of one environment and the list across environments agree at every moment, and pages of
    /// any size hold the same.
    #[test]
    fn one_environment_and_all_of_them_say_the_same(events in events()) {
        let world = World::new(events.clone());
        for step in 0..=world.last() {
            let (at, all, any) = (At::Offset(world.heads[step]), &Scope::everything(), &EventFilter::default());
            let mut every = BTreeSet::new();
            let states = EnvironmentFilter { states: EnvironmentState::ALL.to_vec(), ..EnvironmentFilter::default() };
            for id in ids(&events) {
                let list = ListEnvironmentEvents::new(&id, any, &whole());
                let Ok(expected) = block_on(world.queries.ask(all, at, list)) else { continue };
                let expected: BTreeSet<_> = expected.items.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
                let filter = EventFeedFilter {
                    environment: Some(id.clone()), environments: states.clone(), ..ever()
                };
                let found = ask(&world, all, at, &filter, &whole()).items;
                let newest: Vec<_> = found.iter().map(|it| it.event.last_at).collect();
                prop_assert!(newest.is_sorted_by(|one, other| one >= other), "{newest:?}");
                let found: BTreeSet<_> = found.iter().map(|it| serde_json::to_string(&it.event).unwrap()).collect();
                prop_assert_eq!(&found, &expected, "step {}: {}", step, id);
                every.extend(expected);
            }
            let filter = EventFeedFilter { environments: states, ..ever() };
            for limit in [1, 3, PageRequest::MAX] {
                let found = pages(&world, all, at, limit, &filter);
                let found: BTreeSet<_> = found.iter().flat_map(|page| page["items"].as_array().unwrap()).map(|item| {
                    let mut item = item.clone();
                    item.as_object_mut().unwrap().retain(|member, _| member != "offset" && member != "environments");
                    serde_json::to_string(&serde_json::from_value::<FoldedEvent>(item).unwrap()).unwrap()
                }).collect();
                prop_assert_eq!(&found, &every, "step {} in pages of {}", step, limit);
            }
        }
    }
}

/// Holds the Events that a list of one environment tells a scope against what is expected, and against the list across
/// environments. An environment that went to others shows there what it began to show since.
pub(super) async fn agrees(
    world: &World,
    scope: &Scope,
    (step, at): (usize, At),
    (id, moves): (&EnvironmentId, bool),
    expected: &BTreeSet<String>,
) {
    let text = |event: &FoldedEvent| serde_json::to_string(event).unwrap();
    let list = ListEnvironmentEvents::new(id, &EventFilter::default(), &whole());
    let Ok(found) = world.queries.ask(scope, at, list).await else { return };
    let found: BTreeSet<_> = found.items.iter().map(text).collect();
    assert_eq!(&found, expected, "step {step}: events of {id}");
    let states = EnvironmentFilter { states: EnvironmentState::ALL.to_vec(), ..EnvironmentFilter::default() };
    let filter = EventFeedFilter { environment: Some(id.clone()), environments: states, ..ever() };
    let listed = world.queries.ask(scope, at, ListEvents::new(&filter, &whole())).await.unwrap().items;
    let listed: BTreeSet<_> = listed.iter().map(|it| text(&it.event)).collect();
    assert!(
        if moves { listed.is_subset(&found) } else { listed == found },
        "step {step}: {id}: {listed:?} {found:?}"
    );
}

/// What was said with a reason is read by itself where it is little, and else by its time: both give the same pages.
#[test]
fn events_of_a_reason_are_the_same_be_it_rare_or_not() {
    let names: Vec<_> = (0..4).map(|n| pod("east", &format!("p-{n}"))).collect();
    let mut events =
        vec![Event::Declare(vec![environment("shop/web", "production", &[("east", "shop", "web")])])];
    events.extend(names.iter().map(|thing| Event::Apply(thing.clone())));
    let rounds = |round: usize| names.iter().map(move |thing| say(thing, "Pulled", round as u32 + 1));
    events.extend((0..12).flat_map(rounds));
    events.push(say(&names[2], "Killing", 1));
    let world = World::new(events);
    let of = |reason: &str, environment: bool| EventFeedFilter {
        events: EventFilter { reasons: vec![reason.to_owned()], types: Vec::new() },
        environment: environment.then(|| EnvironmentId::new("shop.web.production")),
        ..ever()
    };
    for environment in [false, true] {
        for (reason, expected) in [("pulled", 4), ("KILLING", 1), ("Nothing", 0)] {
            let filter = of(reason, environment);
            // A page of one makes 48 counts of four Events many, and one of a thousand few.
            let whole: Vec<_> = said(&world, &filter);
            assert_eq!(whole.len(), expected, "{reason}");
            let mut page = PageRequest { limit: 1, after: None };
            let mut one_by_one = Vec::new();
            loop {
                let found = ask(&world, &Scope::everything(), At::Now, &filter, &page);
                one_by_one.extend(
                    found.items.into_iter().map(|it| (it.event.key.name, it.event.reason, it.event.count)),
                );
                let Some(next) = found.metadata.next else { break };
                page.after = Some(next);
            }
            assert_eq!(one_by_one, whole, "{reason}");
        }
    }
}

/// Who gets an environment learns nothing of what ended in it before; who had it reads on what was said while it was theirs.
#[test]
fn what_is_said_after_an_end_is_told_until_the_environment_comes_to_others() {
    let ended = pod("east", "a");
    let of = |project: &str| {
        let spec = environment(project, "production", &[("east", "shop", "web")]);
        Event::Declare(vec![EnvironmentSpec { id: EnvironmentId::new(MOVED), ..spec }])
    };
    let nobodys = || Event::Declare(Vec::new());
    let world = World::new([
        of("shop/web"),
        Event::Apply(ended.clone()),
        Event::Delete(ended.clone()),
        say(&ended, "BackOff", 1),
        of("shop/db"),
        say(&ended, "BackOff", 3),
        nobodys(),
        say(&ended, "BackOff", 7),
        of("shop/web"),
    ]);
    let counts = |project: Option<&str>, step: usize| {
        let scope = project.map_or_else(Scope::everything, |path| Scope::projects([path.to_owned()]));
        let (at, id, any) =
            (At::Offset(world.heads[step]), EnvironmentId::new(MOVED), EventFilter::default());
        let list = ListEnvironmentEvents::new(&id, &any, &whole());
        let list = block_on(world.queries.ask(&scope, at, list)).map(|page| page.items);
        let list: Vec<_> = list.unwrap_or_default().iter().map(|event| event.count).collect();
        let feed: Vec<_> =
            ask(&world, &scope, at, &ever(), &whole()).items.iter().map(|it| it.event.count).collect();
        let warned =
            ChangesFilter { since: EVER, kinds: vec![FeedKind::Warning], ..ChangesFilter::default() };
        let warned = block_on(world.queries.ask(&scope, at, ListChanges::new(&warned, &whole()))).unwrap();
        (list, feed, warned.items.len())
    };
    let (web, db) = (Some("shop/web"), Some("shop/db"));
    assert_eq!(counts(web, 4), (vec![1], vec![1], 1));
    for (project, step) in [(db, 5), (db, 6), (web, 6), (None, 7), (None, 8)] {
        assert_eq!(counts(project, step).0, [0_u64; 0], "{project:?} after step {step}");
    }
    for step in [5, 6, 9] {
        assert_eq!(counts(db, step), (vec![], vec![], 0), "after step {step}");
    }
    for project in [web, None] {
        assert_eq!(counts(project, 9), (vec![1], vec![1], 1), "what was said while it was theirs");
    }
}

/// The garbage collector takes the owner first, and the Pod out of the environment with it.
#[test]
fn what_is_said_on_the_way_out_is_told_with_the_end() {
    let owner = pod("east", "web").of("apps/v1", "ReplicaSet");
    let owned = Thing { owner: owner.uid.clone(), ..Thing::pod("east", "shop", "owned") };
    let other = Thing { owner: owner.uid.clone(), ..Thing::pod("east", "shop", "other") };
    let world = World::new([
        Event::Declare(vec![environment("shop/web", "production", &[("east", "shop", "web")])]),
        Event::Apply(owner.clone()),
        Event::Apply(owned.clone()),
        Event::Apply(other.clone()),
        Event::Delete(owner),
        say(&owned, "Killing", 1),
        say(&other, "Pulled", 1),
        Event::Delete(owned),
    ]);
    assert_eq!(said(&world, &ever()), lines(&[("owned", "Killing", 1)]));
    let list = ListEnvironmentEvents::new(
        &EnvironmentId::new("shop.web.production"),
        &EventFilter::default(),
        &whole(),
    );
    let list = block_on(world.queries.ask(&Scope::everything(), At::Now, list)).unwrap().items;
    assert_eq!(list.iter().map(|event| event.reason.as_str()).collect::<Vec<_>>(), ["Killing"]);
}

/// Projects with the cluster and the label of what is theirs, in one namespace.
const PLACES: [(&str, &str, &str); 4] = [
    ("shop/web", "east", "web"),
    ("shop/web", "west", "web"),
    ("shop/db", "east", "db"),
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

/// What is said at random, also before anything is there and after it ended.
fn sayings() -> impl Strategy<Value = Vec<(&'static str, Event)>> {
    let reasons = prop::sample::select(vec!["BackOff", "Pulled", "Killing"]);
    let one = (0..PLACES.len(), 0..3_usize, reasons, 0..9_u32, 0..8_usize, any::<bool>());
    let one = one.prop_map(|(place, number, reason, count, what, by_name)| {
        let (project, cluster, app) = PLACES[place];
        let thing = Thing { app: app.into(), ..Thing::pod(cluster, "shop", &format!("{app}-{number}")) };
        let event = match what {
            0 => Event::Delete(thing),
            1..3 => Event::Apply(thing),
            _ => Event::Say(Remark { about: thing, reason, count, by_name }),
        };
        (project, event)
    });
    prop::collection::vec(one, 5..60)
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    /// Items, counts, warnings and how many pages there are: all as if the others never were.
    #[test]
    fn events_of_others_change_nothing(
        events in sayings(),
        ours in prop::sample::subsequence(vec!["shop/web", "shop/db", "ops/tools"], 0..3),
        types in prop::sample::subsequence(vec![EventType::Normal, EventType::Warning], 0..3),
        reasons in prop::sample::subsequence(vec!["backoff", "Pulled", "Nothing"], 0..3),
        regions in prop::sample::subsequence(vec!["", "moon"], 0..2),
        project in prop::sample::select(vec!["", "shop/*", "shop/db", "nobody/**"]),
        span in (0..60_usize, 0..60_usize),
    ) {
        let all = ["shop/web", "shop/db", "ops/tools"];
        let full = World::new([declare(&all)].into_iter().chain(events.iter().map(|it| it.1.clone())));
        let kept = events.iter().map(|(project, event)| match ours.contains(project) {
            true => event.clone(),
            false => Event::Nothing,
        });
        let reduced = World::new([declare(&ours)].into_iter().chain(kept));
        let scope = Scope::projects(ours.iter().map(|&path| path.to_owned()));
        let environments = EnvironmentFilter {
            regions: regions.into_iter().map(str::to_owned).collect(),
            projects: Some(project).filter(|it| !it.is_empty()).iter().map(|it| it.parse().unwrap()).collect(),
            ..EnvironmentFilter::default()
        };
        let reasons = reasons.into_iter().map(str::to_owned).collect();
        let random = EventFeedFilter {
            environments, environment: None,
            since: Some(At::Time(World::time(span.0 % events.len()))), until: Some(At::Time(World::time(span.1))),
            events: EventFilter { types, reasons },
        };
        for filter in [ever(), random] {
            for limit in [2, PageRequest::MAX] {
                let seen = pages(&full, &scope, At::Now, limit, &filter);
                let expected = pages(&reduced, &Scope::everything(), At::Now, limit, &filter);
                prop_assert_eq!(seen, expected, "{:?} in pages of {}", filter, limit);
            }
            let warnings = |world: &World, scope: &Scope| ask(world, scope, At::Now, &filter, &whole()).metadata.warnings;
            prop_assert_eq!(warnings(&full, &scope), warnings(&reduced, &Scope::everything()));
            for id in ["shop.web.production", "shop.db.production"] {
                let filter = EventFeedFilter { environment: Some(EnvironmentId::new(id)), ..filter.clone() };
                let one = |world: &World, scope: &Scope| {
                    let found = block_on(world.queries.ask(scope, At::Now, ListEvents::new(&filter, &whole())));
                    found.map(|page| page.items.len()).map_err(|error| error.to_string())
                };
                prop_assert_eq!(one(&full, &scope), one(&reduced, &Scope::everything()), "{}", id);
            }
        }
    }
}
