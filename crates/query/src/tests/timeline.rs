//! Timelines against what the world shows offset by offset, and their parts against their entries.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::scope::{PROJECTS, events, ids};
use super::*;
use strandline_model::{CatalogFact, DeploymentId, DeploymentSpec, DeploymentStatus, Lane, Offset};
use strandline_object_diff::Class;

/// Where something happened, what, and to which resource of which cluster.
type Happened = (Offset, String, String, String);

fn filter(since: At, buckets: usize) -> TimelineFilter {
    TimelineFilter { since: Some(since), buckets, ..TimelineFilter::default() }
}

/// A whole timeline, read page by page.
fn read(
    world: &World,
    scope: &Scope,
    at: At,
    id: &EnvironmentId,
    filter: &TimelineFilter,
    limit: usize,
) -> Result<Timeline> {
    let mut page = PageRequest { limit, after: None };
    let mut whole: Option<Timeline> = None;
    loop {
        let found = block_on(world.queries.ask(scope, at, GetEnvironmentTimeline::new(id, filter, &page)))?;
        match &mut whole {
            None => whole = Some(found.timeline),
            Some(whole) => {
                assert_eq!((&whole.buckets, &whole.gaps), (&found.timeline.buckets, &found.timeline.gaps));
                whole.entries.extend(found.timeline.entries);
            }
        }
        page.after = found.metadata.next;
        if page.after.is_none() {
            return Ok(whole.unwrap());
        }
    }
}

/// What happened to the resources of an environment, by looking at it after each change.
fn looked_at(world: &World, scope: &Scope, id: &EnvironmentId, until: Offset) -> BTreeSet<Happened> {
    let (all, every, page) = (&Scope::everything(), &ResourceFilter::default(), &whole());
    let mut before: BTreeMap<(String, String), Offset> = BTreeMap::new();
    let mut happened = BTreeSet::new();
    for offset in (1..=until.get()).map(Offset::new) {
        let held = block_on(world.queries.ask(
            all,
            At::Offset(offset),
            ListEnvironmentResources::new(id, every, page),
        ));
        let held = held.map(|page| page.items).unwrap_or_default();
        let now: BTreeMap<_, _> =
            held.into_iter().map(|held| ((held.key.cluster, held.id.to_string()), held.offset)).collect();
        let readable = block_on(world.queries.ask(scope, At::Offset(offset), GetEnvironment::new(id)))
            .is_ok_and(|found| found.value.access == EnvironmentAccess::Granted);
        for (name, state) in now.iter().filter(|_| readable) {
            let what = match before.get(name) {
                None if *state == offset && is_first(world, name, offset) => "created",
                None => "joined",
                Some(old) if old != state => "changed",
                Some(_) => continue,
            };
            happened.insert((offset, what.to_owned(), name.0.clone(), name.1.clone()));
        }
        for name in before.keys().filter(|name| readable && !now.contains_key(*name)) {
            let (uid, cluster) = (Uid::new(name.1.as_str()), Some(name.0.as_str()));
            let there =
                block_on(world.queries.ask(all, At::Offset(offset), GetResource::new(&uid, cluster))).is_ok();
            let what = if there { "parted" } else { "deleted" };
            happened.insert((offset, what.to_owned(), name.0.clone(), name.1.clone()));
        }
        before = now;
    }
    happened
}

/// Whether a resource was not there before.
fn is_first(world: &World, (cluster, uid): &(String, String), at: Offset) -> bool {
    let before = At::Offset(Offset::new(at.get() - 1));
    let (all, uid) = (Scope::everything(), Uid::new(uid.as_str()));
    block_on(world.queries.ask(&all, before, GetResource::new(&uid, Some(cluster)))).is_err()
}

fn told(timeline: &Timeline) -> BTreeSet<Happened> {
    let change = |entry: &Entry| {
        let resource = entry.resource.as_ref()?;
        Some((entry.offset, entry.what.clone(), resource.key.cluster.clone(), resource.id.to_string()))
    };
    timeline.entries.iter().filter_map(change).collect()
}

/// The parts that the entries come to.
fn counted(timeline: &Timeline) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); timeline.buckets.len()];
    for entry in &timeline.entries {
        let after = timeline.buckets.partition_point(|bucket| bucket.from <= entry.observed_at);
        let tally = &mut tallies[after - 1];
        match entry.what.as_str() {
            "changed" => tally.changes += 1,
            "created" | "joined" => (tally.changes, tally.created) = (tally.changes + 1, tally.created + 1),
            "deleted" | "parted" => (tally.changes, tally.deleted) = (tally.changes + 1, tally.deleted + 1),
            "said" => tally.events += 1,
            "warned" => (tally.events, tally.warnings) = (tally.events + 1, tally.warnings + 1),
            "deployed" => tally.deployments += 1,
            "progressed" | "became" | "unwatched" => {}
            other => panic!("{other}"),
        }
    }
    tallies
}

fn parts_are_what_the_entries_come_to(timeline: &Timeline) {
    let parts: Vec<_> = timeline.buckets.iter().map(|bucket| bucket.tally).collect();
    assert_eq!(parts, counted(timeline));
    let times: Vec<_> = timeline.entries.iter().map(|entry| entry.observed_at).collect();
    assert!(times.iter().all(|time| timeline.since <= *time && *time <= timeline.until));
    let unique: BTreeSet<_> = timeline.entries.iter().map(|entry| &entry.id).collect();
    assert_eq!(unique.len(), times.len(), "each entry is told once");
}

/// Lets time pass between what happens, so that whole hours lie between.
fn stretched(events: Vec<Event>, pauses: &[usize]) -> Vec<Event> {
    let pause = |n: usize| std::iter::repeat_n(Event::Nothing, pauses[n % pauses.len()]);
    events.into_iter().enumerate().flat_map(|(n, event)| pause(n).chain([event])).collect()
}

proptest! {
    #![proptest_config(strandline_testkit::cases(8))]

    #[test]
    fn a_timeline_tells_what_the_world_shows_offset_by_offset(
        events in events(),
        pauses in prop::collection::vec(0..150_usize, 1..9),
        projects in prop::sample::subsequence(PROJECTS.to_vec(), 0..3),
        spans in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 1..80_usize, 1..7_usize), 4),
    ) {
        let world = World::new(stretched(events.clone(), &pauses));
        let last = world.heads[world.last()];
        let scopes =
            [Scope::everything(), Scope::projects(projects.iter().map(|path| (*path).to_owned()))];
        for (scope, id) in scopes.iter().flat_map(|scope| ids(&events).into_iter().map(move |id| (scope, id))) {
            let expected = looked_at(&world, scope, &id, last);
            for (begin, end, buckets, limit) in &spans {
                let at = Offset::new((last.get() as f64 * end) as u64 + 1).min(last);
                let since = World::time((world.last() as f64 * begin) as usize);
                for order in TimelineOrder::ALL {
                    let filter = TimelineFilter { order, ..filter(At::Time(since), *buckets) };
                    let found = read(&world, scope, At::Offset(at), &id, &filter, *limit);
                    let Ok(found) = found else { continue };
                    parts_are_what_the_entries_come_to(&found);
                    let time = |offset: &Offset| World::time(world.heads.iter().position(|head| head >= offset).unwrap());
                    let within = |one: &&Happened| one.0 <= at && time(&one.0) >= found.since;
                    let expected: BTreeSet<_> = expected.iter().filter(within).cloned().collect();
                    prop_assert_eq!(told(&found), expected, "{} at {}", id, at);
                }
            }
        }
    }
}

fn shop() -> EnvironmentId {
    EnvironmentId::of("shop/web", "production")
}

fn since_the_start(buckets: usize) -> TimelineFilter {
    filter(At::Time(World::time(0)), buckets)
}

#[test]
fn events_are_told_of_the_resources_that_the_list_of_events_tells_of() {
    let world = World::new(small_history());
    let all = &Scope::everything();
    for environment in environments().into_iter().filter(|spec| spec.name != "development") {
        let any = &EventFilter::default();
        let page = whole();
        let listed = block_on(world.queries.ask(
            all,
            At::Now,
            ListEnvironmentEvents::new(&environment.id, any, &page),
        ));
        let listed: BTreeSet<_> = listed.unwrap().items.into_iter().map(|event| event.id).collect();
        let lanes = vec![Lane::Events];
        let filter = TimelineFilter { lanes, ..since_the_start(10) };
        world.clock.set(World::time(world.last()));
        let found = read(&world, all, At::Now, &environment.id, &filter, 3).unwrap();
        let told: BTreeSet<_> = found.entries.into_iter().filter_map(|entry| Some(entry.event?.id)).collect();
        assert_eq!(told, listed, "{}", environment.id);
    }
}

#[test]
fn the_past_is_told_alike_whenever_it_is_asked_for() {
    let mut world = World::new(small_history());
    let (all, middle) = (&Scope::everything(), At::Offset(world.heads[world.last() / 2]));
    let before = read(&world, all, middle, &shop(), &since_the_start(7), 4).unwrap();
    world.go_on([mover(), Thing { health: 4, ..mover() }].map(Event::Apply));
    assert_eq!(read(&world, all, middle, &shop(), &since_the_start(7), 4).unwrap(), before);
    world.rebuild();
    assert_eq!(read(&world, all, middle, &shop(), &since_the_start(7), 4).unwrap(), before);
    assert!(!before.entries.is_empty());
}

#[test]
fn deployments_are_counted_once_and_told_as_they_go_on() {
    let mut facts: Vec<CatalogFact> = vec![environments().remove(0).into()];
    let deployment = |status| {
        CatalogFact::Deployment(Box::new(DeploymentSpec {
            id: DeploymentId(7),
            environment: shop(),
            project: "shop/web".into(),
            status,
            reference: "main".into(),
            tag: false,
            sha: "cafe".into(),
            job: None,
            user: "alice".into(),
            created_at: None,
            finished_at: None,
            agent: None,
            authorization: None,
        }))
    };
    let mut events = vec![Event::Catalog(facts.clone())];
    for status in [DeploymentStatus::Running, DeploymentStatus::Success] {
        facts.push(deployment(status));
        events.push(Event::Catalog(facts.clone()));
        facts.pop();
    }
    let world = World::new(events);
    world.clock.set(World::time(4));
    let found = read(&world, &Scope::everything(), At::Now, &shop(), &since_the_start(4), 10).unwrap();
    let told: Vec<_> = found
        .entries
        .iter()
        .filter_map(|entry| Some((entry.what.as_str(), entry.deployment.as_ref()?.spec.status)))
        .collect();
    assert_eq!(told, [("progressed", DeploymentStatus::Success), ("deployed", DeploymentStatus::Running)]);
    assert_eq!(found.totals.deployments, 1);
}

#[test]
fn what_was_not_watched_is_not_covered() {
    let thing = Thing { app: "web".into(), ..Thing::pod("east", "shop", "one") };
    let mut events =
        vec![Event::Declare(environments()), mark("east", "Pod", "", false), Event::Apply(thing)];
    events.extend([mark("east", "ConfigMap", "", true), mark("east", "Pod", "", true), Event::Nothing]);
    events.extend([mark("east", "Pod", "", false), Event::Nothing]);
    let world = World::new(events);
    world.clock.set(World::time(8));
    // A part for each minute, and one before anything was recorded.
    let found = read(&world, &Scope::everything(), At::Now, &shop(), &since_the_start(8), 50).unwrap();
    let covered: Vec<_> = found.buckets.iter().map(|bucket| bucket.covered).collect();
    assert_eq!(covered, [false, true, true, true, true, false, false, true], "{found:#?}");
    assert_eq!(found.gaps.len(), 1, "of a kind that it never held it says nothing: {:?}", found.gaps);
    assert_eq!(found.gaps[0].until, Some(World::time(7)));
    let health: Vec<_> = found.buckets.iter().map(|bucket| bucket.health).collect();
    assert_eq!(health[5..7], [Some(Health::Unknown); 2]);
    assert_eq!(health[7], Some(Health::Healthy));
    let told: Vec<_> = found.entries.iter().map(|entry| (entry.lane, entry.what.as_str())).collect();
    assert!(
        told.contains(&(Lane::Gaps, "unwatched")) && told.contains(&(Lane::Health, "became")),
        "{told:?}"
    );
}

#[test]
fn nothing_is_a_timeline_too_and_what_is_not_there_has_none() {
    let world = World::new([Event::Declare(environments())]);
    world.clock.set(World::time(1));
    let all = &Scope::everything();
    let found = read(&world, all, At::Now, &shop(), &filter(At::Now, 60), 10).unwrap();
    assert_eq!((found.buckets.len(), found.totals), (1, Tally::default()));
    let nobody = EnvironmentId::new("nobody");
    let missing = read(&world, all, At::Now, &nobody, &filter(At::Now, 60), 10);
    assert!(matches!(missing, Err(QueryError::NotFound { .. })));
}

#[test]
fn a_workload_tells_of_all_that_was_below_it() {
    let world = World::new(small_history());
    world.clock.set(World::time(world.last()));
    let timeline = |uid: &str, below| {
        let (all, uid) = (Scope::everything(), Uid::new(uid));
        let filter = TimelineFilter { below, ..since_the_start(9) };
        let page = whole();
        let found = world.queries.ask(&all, At::Now, GetResourceTimeline::new(&uid, None, &filter, &page));
        block_on(found).unwrap().timeline
    };
    // All of it is gone by now: the owner first, its Pods after it.
    let whole = timeline("stage-web", true);
    parts_are_what_the_entries_come_to(&whole);
    assert_eq!(whole.below, Some(TimelineBelow { resources: 5, left_out: 0 }));
    let names: BTreeSet<_> = told(&whole).into_iter().map(|(.., uid)| uid).collect();
    let expected = ["stage-web", "stage-web-0", "stage-web-1", "stage-web-2", "stage-web-set"];
    assert_eq!(names, expected.map(str::to_owned).into());
    let alone = timeline("stage-web", false);
    assert_eq!((alone.below, alone.totals.created), (None, 1));
}

#[test]
fn a_year_is_told_from_whole_hours() {
    let step = Duration::from_secs(60);
    let thing = |n: usize| {
        Event::Apply(Thing { app: "web".into(), health: n % 2, ..Thing::pod("east", "shop", "one") })
    };
    let mut events = vec![Event::Declare(environments())];
    for n in 0..60 {
        events.extend(std::iter::repeat_n(Event::Nothing, 8760));
        events.push(thing(n));
    }
    let world = World::new(events);
    world.clock.set(World::time(world.last()));
    let year = filter(At::Ago(365 * 24 * 60 * step), 100);
    let found = read(&world, &Scope::everything(), At::Now, &shop(), &year, 7).unwrap();
    parts_are_what_the_entries_come_to(&found);
    assert_eq!((found.totals.changes, found.totals.created), (60, 1));
    assert_eq!(found.until.since(found.since), 365 * 24 * 60 * step);
    let longest = found.buckets.iter().map(|bucket| bucket.until.since(bucket.from)).max();
    assert_eq!(longest, Some(365 * 24 * 60 * step / 100));
    let changes = found.entries.iter().filter(|entry| entry.what == "changed");
    let parts: BTreeSet<_> =
        changes.flat_map(|entry| entry.resource.as_ref().unwrap().parts.clone()).map(Class::as_str).collect();
    assert_eq!(parts, ["spec", "status"].into(), "what the states of the small world differ in");
}
