//! Health over time against what was shown at each moment; what does not count; patience with what is on its way.

use std::time::Duration;

use super::*;
use crate::testing::{apply_all, record};
use strandline_model::Timestamp;
use strandline_view::ruleset::{Exception, RuleSet};

/// A health and when it began.
type Began = (Timestamp, Option<Health>);

/// What intervals should say: the healths shown at each step, what is alike joined; nothing before the first.
fn joined(shown: impl IntoIterator<Item = (usize, Option<Health>)>) -> Vec<Began> {
    let mut began: Vec<Began> = Vec::new();
    for (step, health) in shown {
        if began.last().is_none_or(|(_, last)| *last != health) && !(began.is_empty() && health.is_none()) {
            began.push((World::time(step), health));
        }
    }
    began
}

fn told(answer: Answer<HealthHistory>) -> Vec<Began> {
    let intervals = answer.value.intervals.into_iter().rev();
    let mut began: Vec<Began> = Vec::new();
    for interval in intervals {
        assert_eq!(interval.until.is_none(), interval.lasted_ms == 0 || interval.until.is_none());
        began.push((interval.from, interval.health));
    }
    let first = began.iter().position(|(_, health)| health.is_some()).unwrap_or(began.len());
    began.split_off(first)
}

fn from_the_start() -> HealthFilter {
    HealthFilter { since: Some(At::Time(World::time(0))), limit: HealthHistory::LIMIT }
}

#[test]
fn an_end_of_the_same_microsecond_is_not_told_before_it_comes() {
    let names = ["one", "two", "three"];
    let environments = names.map(|name| environment("shop/web", name, &[("east", "shop", "")])).to_vec();
    let failed = Thing { health: 2, ..Thing::pod("east", "shop", "failed") };
    let world = World::new([Event::Declare(environments), Event::Apply(failed), Event::Declare(Vec::new())]);
    let scope = Scope::everything();
    let mut asked = 0;
    for offset in world.heads[2].get()..world.heads[3].get() {
        let at = At::Offset(strandline_model::Offset::new(offset));
        for name in names {
            let id = EnvironmentId::of("shop/web", name);
            let history =
                block_on(world.queries.ask(&scope, at, GetEnvironmentHealth::new(&id, from_the_start())));
            let Ok(history) = history else { continue };
            let newest = &history.value.intervals[0];
            assert_eq!((newest.health, newest.until), (Some(Health::Degraded), None), "{id} at {offset}");
            asked += 1;
        }
    }
    assert!(asked > names.len(), "some were gone while others of the same moment were not");
}

#[test]
fn the_health_of_environments_over_time_is_what_was_shown_at_each_moment() {
    let (world, scope) = (World::new(small_history()), Scope::everything());
    let last = At::Offset(world.heads[world.last()]);
    for environment in block_on(world.queries.ask(
        &scope,
        last,
        ListEnvironments::new(&EnvironmentFilter::default(), &whole()),
    ))
    .unwrap()
    .items
    {
        let id = &environment.id;
        let shown = (1..=world.last()).map(|step| {
            let at = At::Offset(world.heads[step]);
            (
                step,
                block_on(world.queries.ask(&scope, at, GetEnvironment::new(id)))
                    .ok()
                    .and_then(|e| e.value.health.state),
            )
        });
        let history =
            block_on(world.queries.ask(&scope, last, GetEnvironmentHealth::new(id, from_the_start())));
        assert_eq!(told(history.unwrap()), joined(shown), "{id}");
    }
}

#[test]
fn the_health_of_resources_over_time_is_what_a_scope_was_shown_at_each_moment() {
    let world = World::new(small_history());
    let scopes =
        [Scope::everything(), Scope::projects(["shop/web".into()]), Scope::projects(["shop/db".into()])];
    let last = At::Offset(world.heads[world.last()]);
    let uids = ["shop-mover", "shop-web-0", "shop-web-1", "shop-db-2", "stage-web-1", "tools-failed"];
    let mut seen = 0;
    for scope in &scopes {
        for (uid, cluster) in
            uids.iter().flat_map(|uid| ["east", "west"].map(|cluster| (Uid::new(*uid), cluster)))
        {
            let shown = (1..=world.last()).map(|step| {
                let at = At::Offset(world.heads[step]);
                let found =
                    block_on(world.queries.ask(scope, at, GetResource::new(&uid, Some(cluster)))).ok();
                (step, found.and_then(|found| found.value.resource.health))
            });
            let shown = joined(shown);
            let filter = from_the_start();
            match block_on(world.queries.ask(
                scope,
                last,
                GetResourceHealth::new(&uid, Some(cluster), filter),
            )) {
                Ok(history) => assert_eq!(told(history), shown, "{scope:?} {uid} {cluster}"),
                Err(QueryError::NotFound { .. }) => assert_eq!(shown, [], "{scope:?} {uid} {cluster}"),
                Err(error) => panic!("{error}"),
            }
            seen += usize::from(!shown.is_empty());
        }
    }
    assert!(seen > 10, "{seen}");
}

/// A world with one environment and what happens to its two Pods, by their healths.
fn world(rules: RuleSet, healths: &[(usize, usize)]) -> World {
    let environment = environment("shop/web", "production", &[("east", "shop", "")]);
    let mut events = vec![Event::Declare(vec![environment])];
    for &(first, second) in healths {
        let pod = |name, health| Event::Apply(Thing { health, ..Thing::pod("east", "shop", name) });
        events.extend([pod("first", first), pod("second", second)]);
    }
    World::judged_by(rules, events)
}

const HEALTHY: usize = 0;
const PROGRESSING: usize = 1;
const DEGRADED: usize = 2;

fn shown(world: &World, at: At) -> EnvironmentHealth {
    let id = EnvironmentId::of("shop/web", "production");
    block_on(world.queries.ask(&Scope::everything(), at, GetEnvironment::new(&id))).unwrap().value.health
}

#[test]
fn what_is_excepted_does_not_count_and_is_counted_all_the_same() {
    let exception = |kind: &str| Exception { kind: Some(kind.parse().unwrap()), labels: "".parse().unwrap() };
    let rules = |kind| RuleSet { exceptions: vec![exception(kind)], ..RuleSet::default() };
    let bad = [(HEALTHY, DEGRADED)];
    assert_eq!(shown(&world(rules("Job.batch"), &bad), At::Now).state, Some(Health::Degraded));
    let health = shown(&world(rules("Pod"), &bad), At::Now);
    assert_eq!((health.state, health.counts.degraded), (None, 1));
}

#[test]
fn a_label_that_comes_and_goes_decides_what_counts() {
    let exception = Exception { kind: None, labels: "app=canary".parse().unwrap() };
    let rules = RuleSet { exceptions: vec![exception], ..RuleSet::default() };
    let mut world = world(rules, &[(HEALTHY, DEGRADED)]);
    let second = |app: &str| {
        Event::Apply(Thing { health: DEGRADED, app: app.into(), ..Thing::pod("east", "shop", "second") })
    };
    let states = ["canary", "", "canary"].map(|app| {
        world.go_on([second(app)]);
        shown(&world, At::Offset(world.heads[world.last()])).state
    });
    assert_eq!(states, [Some(Health::Healthy), Some(Health::Degraded), Some(Health::Healthy)]);
}

#[test]
fn progressing_shows_when_its_grace_time_is_over() {
    let rules = RuleSet { progressing_grace: Duration::from_secs(150), ..RuleSet::default() };
    // Steps 2 and 3 are the first Pods, 4 begins to progress.
    let world = world(rules, &[(HEALTHY, HEALTHY), (PROGRESSING, HEALTHY)]);
    let begun = World::time(4);
    let after = |seconds| At::Time(begun.plus(Duration::from_secs(seconds)));
    world.clock.set(begun.plus(Duration::from_secs(3600)));
    let (early, late) = (shown(&world, after(149)), shown(&world, after(150)));
    assert_eq!((early.state, early.since), (Some(Health::Healthy), World::time(2)));
    assert_eq!((late.state, late.since), (Some(Health::Progressing), begun));
    assert_eq!(early.counts.progressing, 1, "patience hides nothing");
    assert_eq!(shown(&world, At::Now).state, Some(Health::Progressing), "also where nothing else happens");
    let id = EnvironmentId::of("shop/web", "production");
    let history = block_on(world.queries.ask(
        &Scope::everything(),
        At::Now,
        GetEnvironmentHealth::new(&id, from_the_start()),
    ));
    let expected = [
        (World::time(2), Some(Health::Healthy)),
        (begun.plus(Duration::from_secs(150)), Some(Health::Progressing)),
    ];
    assert_eq!(told(history.unwrap()), expected);
}

/// Two environments that begin with a Pod that is well and one on its way, an hour ago.
fn begun_on_their_way() -> World {
    let rules = RuleSet { progressing_grace: Duration::from_secs(150), ..RuleSet::default() };
    let pod = |name, health| Event::Apply(Thing { health, ..Thing::pod("east", "shop", name) });
    let environments = ["a", "b"].map(|name| environment("shop/web", name, &[("east", "shop", "")]));
    let events =
        [pod("well", HEALTHY), pod("on-its-way", PROGRESSING), Event::Declare(environments.to_vec())];
    let world = World::judged_by(rules, events);
    world.clock.set(World::time(3).plus(Duration::from_secs(3600)));
    world
}

#[test]
fn a_grace_time_with_which_an_environment_begins_is_told_with_its_end() {
    let world = begun_on_their_way();
    let over = World::time(3).plus(Duration::from_secs(150));
    for name in ["a", "b"] {
        let question = GetEnvironmentHealth::new(&EnvironmentId::of("shop/web", name), from_the_start());
        let history = block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap();
        let expected = [(World::time(3), Some(Health::Healthy)), (over, Some(Health::Progressing))];
        assert_eq!(told(history), expected, "{name}");
    }
}

#[test]
fn later_pages_of_now_tell_what_shows_when_the_first_was_asked_for() {
    let world = begun_on_their_way();
    let mut page = PageRequest { limit: 1, after: None };
    for name in ["a", "b"] {
        let question = ListEnvironments::new(&EnvironmentFilter::default(), &page);
        let found = block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap();
        let [one] = &found.items[..] else { panic!("one on each page") };
        assert_eq!((one.name.as_str(), one.health.state), (name, Some(Health::Progressing)));
        page.after = found.metadata.next;
    }
}

#[test]
fn what_lasts_no_time_begins_nothing_anew() {
    let pod = |health| Thing { health, ..Thing::pod("east", "shop", "first") };
    let times = |before: usize, at_once: &[usize]| {
        let world = world(RuleSet::default(), &[(before, HEALTHY)]);
        world.clock.set(World::time(world.last() + 5));
        record(world.directory(), world.clock.clone(), async |appender| {
            for (version, health) in (world.last() + 1..).zip(at_once) {
                apply_all(&appender, version, &[pod(*health)]).await;
            }
        });
        world.project();
        world.clock.set(World::time(world.last() + 9));
        let id = EnvironmentId::of("shop/web", "production");
        let question = GetEnvironmentHealth::new(&id, from_the_start());
        let history = block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap();
        let listed = shown(&world, At::Now);
        let newest = &history.value.intervals[0];
        assert_eq!((listed.state, listed.since), (newest.health, newest.from), "{before} {at_once:?}");
        (listed.state, listed.since)
    };
    let (healthy, degraded) = (Some(Health::Healthy), Some(Health::Degraded));
    let later = World::time(8);
    assert_eq!(times(HEALTHY, &[DEGRADED, HEALTHY]), (healthy, World::time(2)));
    assert_eq!(times(HEALTHY, &[DEGRADED, PROGRESSING, HEALTHY]), (healthy, World::time(2)));
    assert_eq!(times(HEALTHY, &[PROGRESSING, DEGRADED]), (degraded, later));
    assert_eq!(times(DEGRADED, &[HEALTHY, DEGRADED]), (degraded, World::time(2)));
    assert_eq!(times(DEGRADED, &[HEALTHY]), (healthy, later));
}

#[test]
fn what_is_on_its_way_for_a_short_time_only_never_shows() {
    let rules = RuleSet { progressing_grace: Duration::from_secs(3600), ..RuleSet::default() };
    let steps = [(HEALTHY, HEALTHY), (PROGRESSING, HEALTHY), (HEALTHY, PROGRESSING), (HEALTHY, HEALTHY)];
    let world = world(rules, &steps);
    for step in 2..=world.last() {
        let health = shown(&world, At::Offset(world.heads[step]));
        assert_eq!((health.state, health.since), (Some(Health::Healthy), World::time(2)), "{step}");
    }
    let alone = RuleSet { progressing_grace: Duration::from_secs(3600), ..RuleSet::default() };
    let alone = self::world(alone, &[(PROGRESSING, PROGRESSING)]);
    assert_eq!(shown(&alone, At::Now).state, Some(Health::Progressing), "nothing else is known of it");
}

#[test]
fn answers_say_which_rules_judged_until_the_view_is_built_anew() {
    let exception = Exception { kind: Some("Pod".parse().unwrap()), labels: "".parse().unwrap() };
    let (old, new) = (RuleSet::default(), RuleSet { exceptions: vec![exception], ..RuleSet::default() });
    let mut world = world(old.clone(), &[(HEALTHY, DEGRADED)]);
    world.judge_by(new.clone());
    world.go_on([Event::Apply(Thing { health: DEGRADED, ..Thing::pod("east", "shop", "first") })]);
    let judged = |world: &World| {
        ["shop-first", "shop-second"].map(|uid| {
            let (scope, uid) = (Scope::everything(), Uid::new(uid));
            block_on(world.queries.ask(&scope, At::Now, GetResource::new(&uid, None))).unwrap().value.rule_set
        })
    };
    assert_eq!(judged(&world), [new.name(), old.name()]);
    world.rebuild();
    assert_eq!(judged(&world), [new.name(), new.name()]);
    assert_eq!((shown(&world, At::Now).state, shown(&world, At::Now).rule_set), (None, new.name()));
}
