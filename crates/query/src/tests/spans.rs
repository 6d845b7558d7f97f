//! The ends of spans: offsets, times and durations, before the record, within it and after it.

use std::time::Duration;

use super::*;
use crate::testing::record;
use strandline_model::Timestamp;

/// A Pod that changes at every step, of which the log keeps all, or what is there from a step on.
fn world(kept_from: Option<usize>) -> World {
    let pod = |health| Event::Apply(Thing { app: "web".into(), health, ..Thing::pod("east", "shop", "web") });
    let world = World::new([Event::Declare(environments())].into_iter().chain((0..6).map(pod)));
    if let Some(step) = kept_from {
        let earliest = world.heads[step];
        record(world.directory(), world.clock.clone(), async |appender| {
            appender.compact(earliest).await.unwrap();
            while !appender.sweep(100).await.unwrap().done {}
        });
    }
    world.clock.set(World::time(world.last()));
    world
}

fn id() -> EnvironmentId {
    EnvironmentId::of("shop/web", "production")
}

/// When a timeline of the environment begins.
fn begin(world: &World, since: Option<At>) -> Result<Timestamp> {
    let filter = TimelineFilter { since, ..TimelineFilter::default() };
    let question = GetEnvironmentTimeline::new(&id(), &filter, &whole());
    block_on(world.queries.ask(&Scope::everything(), At::Now, question)).map(|page| page.timeline.since)
}

/// Of which steps the feed tells changes, the newest first.
fn steps(world: &World, since: Option<At>, until: Option<At>) -> Result<Vec<Timestamp>> {
    let filter = ChangesFilter { since, until, controllers: true, ..ChangesFilter::default() };
    let page =
        block_on(world.queries.ask(&Scope::everything(), At::Now, ListChanges::new(&filter, &whole())))?;
    Ok(page.items.iter().map(|entry| entry.entry.observed_at).collect())
}

/// What is wrong with an end, and which parameter gives it.
fn refused<T: std::fmt::Debug>(answer: Result<T>) -> (&'static str, QueryError) {
    match answer {
        Err(QueryError::GivenBy { parameter, error }) => (parameter, *error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_span_begins_where_it_was_asked_to() {
    let world = world(None);
    let (head, last) = (world.heads[world.last()], World::time(world.last()));
    let (first, day) = (World::time(1), Duration::from_secs(24 * 3600));
    for (since, expected) in [
        (None, last.minus(day)),
        (Some(At::Now), last),
        (Some(At::Ago(Duration::from_secs(120))), last.minus(Duration::from_secs(120))),
        (Some(At::Time(World::time(2))), World::time(2)),
        (Some(At::Time(last.plus(Duration::from_secs(4)))), last),
        (Some(At::Offset(world.heads[3])), World::time(3)),
        (Some(At::Offset(head)), last),
        (Some(At::Offset(Offset::ZERO)), first),
    ] {
        assert_eq!(begin(&world, since).unwrap(), expected, "{since:?}");
    }
    let (parameter, error) = refused(begin(&world, Some(At::Offset(head.next()))));
    assert!(parameter == "since" && matches!(error, QueryError::FutureOffset { .. }), "{error:?}");
    let (parameter, error) = refused(begin(&world, Some(At::Time(last.plus(Duration::from_secs(6))))));
    assert!(parameter == "since" && matches!(error, QueryError::FutureTime { .. }), "{error:?}");
}

#[test]
fn an_end_that_retention_has_pruned_is_refused_as_the_moment_is() {
    let world = world(Some(4));
    let earliest = world.heads[4];
    assert_eq!(
        begin(&world, Some(At::Offset(Offset::ZERO))).unwrap(),
        World::time(4),
        "what is kept begins there"
    );
    assert_eq!(begin(&world, Some(At::Offset(earliest))).unwrap(), World::time(4));
    let pruned = Some(At::Offset(Offset::new(earliest.get() - 1)));
    let is_pruned = |error: &QueryError| matches!(error, QueryError::Compacted { earliest: first, time: Some(_) } if *first == earliest);
    let (all, environment) = (Scope::everything(), id());
    block_on(async {
        let ask = &world.queries;
        let changes = ChangesFilter { since: pruned, ..ChangesFilter::default() };
        let events = EventFeedFilter { since: pruned, ..EventFeedFilter::default() };
        let deployments = DeploymentFilter { since: pruned, ..DeploymentFilter::default() };
        let health = HealthFilter { since: pruned, ..HealthFilter::default() };
        let trend = Some(TrendFilter { since: pruned, buckets: 4 });
        let overview = GetOverview { trend, ..GetOverview::default() };
        let answers = [
            ask.ask(&all, At::Now, ListChanges::new(&changes, &whole())).await.err(),
            ask.ask(&all, At::Now, ListEvents::new(&events, &whole())).await.err(),
            ask.ask(&all, At::Now, ListDeployments::new(&deployments, &whole())).await.err(),
            ask.ask(&all, At::Now, GetEnvironmentHealth::new(&environment, health)).await.err(),
            ask.ask(&all, At::Now, overview).await.err(),
        ];
        for (number, error) in answers.into_iter().enumerate() {
            let (parameter, error) = refused(Err::<(), _>(error.unwrap()));
            assert!(parameter == "since" && is_pruned(&error), "{number}: {error:?}");
        }
    });
    let (parameter, error) = refused(begin(&world, pruned));
    assert!(parameter == "since" && is_pruned(&error), "{error:?}");
    let (parameter, error) = refused(steps(&world, None, pruned));
    assert!(parameter == "until" && is_pruned(&error), "{error:?}");
}

#[test]
fn a_span_of_which_only_the_end_is_given_is_the_day_before_it() {
    let pod = |health| Event::Apply(Thing { app: "web".into(), health, ..Thing::pod("east", "shop", "web") });
    let early = [Event::Declare(environments()), pod(0), pod(3)];
    let days = std::iter::repeat_n(Event::Nothing, 3 * 24 * 60);
    let world = World::new(early.into_iter().chain(days).chain([pod(5)]));
    world.clock.set(World::time(world.last()));
    let last = World::time(world.last());
    let time = |step| Some(At::Time(World::time(step)));
    for (since, until, expected) in [
        (None, None, vec![last]),
        (None, time(60), vec![World::time(3), World::time(2)]),
        (None, time(3 + 24 * 60), vec![World::time(3)]),
        (None, Some(At::Offset(world.heads[2])), vec![World::time(2)]),
        (None, Some(At::Time(last.plus(Duration::from_secs(9999)))), vec![last]),
        (time(3), time(1), vec![World::time(3), World::time(2)]),
        (Some(At::Offset(Offset::ZERO)), None, vec![last, World::time(3), World::time(2)]),
    ] {
        assert_eq!(steps(&world, since, until).unwrap(), expected, "{since:?} to {until:?}");
    }
}
