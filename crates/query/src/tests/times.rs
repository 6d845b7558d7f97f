//! Answers by time: they name every gap that holds the time, whenever it was recorded, and state how fresh they are. That
//! they do so at random times of random histories is a property in `histories`.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::testing::{facts, record};
use strandline_clock::testing::ManualClock;
use strandline_log::{Appender, WriterHealth};
use strandline_model::{CatalogFact, ClusterSpec, CoverageMark, Kind, Source, Timestamp, WatchKey, reason};
use strandline_sqlite::Watermark;
use strandline_view::ViewStatus;

fn watch(cluster: &str, kind: &str, namespace: &str) -> WatchKey {
    WatchKey { cluster: cluster.into(), kind: Kind::new("", kind), namespace: namespace.into() }
}

/// Nobody watched from a step on; this is found out when it is recorded.
fn restarted(watch: WatchKey, since: usize) -> Event {
    Event::Marked(CoverageMark::gap(watch, World::time(since), reason::RESTARTED, "nobody watched"))
}

fn watched(watch: WatchKey, since: usize) -> Event {
    Event::Marked(CoverageMark::watched(watch, World::time(since)))
}

fn pod() -> Thing {
    Thing { app: "web".into(), ..Thing::pod("east", "shop", "web") }
}

/// Pods of a cluster, watched until the third step; the steps after it pass unseen.
fn unseen() -> World {
    World::new([
        Event::Declare(environments()),
        watched(watch("east", "Pod", ""), 2),
        Event::Apply(pod()),
        Event::Nothing,
        Event::Nothing,
        Event::Nothing,
    ])
}

fn id() -> EnvironmentId {
    EnvironmentId::of("shop/web", "production")
}

/// The gaps that an environment names: since when, until when, and why.
fn gaps(world: &World, at: At) -> Vec<(Timestamp, Option<Timestamp>, String)> {
    let answer = block_on(world.queries.ask(&Scope::everything(), at, GetEnvironment::new(&id()))).unwrap();
    let coverage = answer.metadata.coverage;
    assert_eq!(coverage.complete, coverage.gaps.is_empty());
    coverage.gaps.into_iter().map(|gap| (gap.since, gap.until, gap.reason)).collect()
}

#[test]
fn of_a_cluster_that_nobody_watched_yet_nothing_is_known() {
    let mut world = World::new([Event::Nothing]);
    let declare = |world: &World, facts| {
        let declare =
            |appender: Appender| async move { appender.declare(Source::Config, facts).await.unwrap() };
        record(world.directory(), world.clock.clone(), declare);
    };
    let declared = || facts(&[environment("shop/web", "production", &[("north", "shop", "web")])]);
    declare(&world, declared());
    let watch_of = |kind| watch("north", kind, "");
    let listing = CoverageMark::gap(WatchKey::discovery("north", ""), World::time(4), reason::LISTING, "");
    let seen = CoverageMark::watched(WatchKey::discovery("north", ""), World::time(5));
    world.go_on([Event::Nothing, watched(watch_of("Pod"), 3), Event::Marked(listing), Event::Marked(seen)]);
    let since = World::time(1);
    let not_watched = |until| (since, until, reason::NOT_WATCHED.to_owned());
    let listing = |until| (World::time(4), until, reason::LISTING.to_owned());
    let times = [1, 2, 3, 4, 5].map(|step| gaps(&world, At::Time(World::time(step))));
    let (over, listed) = (Some(World::time(4)), Some(World::time(5)));
    let before = vec![not_watched(over)];
    assert_eq!(times, [before.clone(), before.clone(), before, vec![listing(listed)], vec![]]);
    let offsets = [3, 4, 5].map(|step| gaps(&world, At::Offset(world.heads[step])));
    let open = vec![not_watched(None)];
    assert_eq!(offsets, [open, vec![listing(None)], vec![]], "whatever else is watched of it");
    let health = |step: usize| {
        let at = At::Offset(world.heads[step]);
        let answer = block_on(world.queries.ask(&Scope::everything(), at, GetEnvironment::new(&id())));
        answer.unwrap().value.health.state
    };
    assert_eq!([3, 4, 5].map(health), [Some(Health::Unknown), Some(Health::Unknown), None]);
    let (all, any, page) = (Scope::everything(), CoverageFilter::default(), whole());
    let watches = block_on(world.queries.ask(&all, At::Now, ListCoverage::new(&any, &page))).unwrap().items;
    let discovery = watches.iter().find(|item| item.watch.is_discovery()).unwrap();
    assert_eq!(
        (discovery.gaps.len(), &discovery.last_error),
        (2, &None),
        "that it took its time is no error"
    );
    declare(&world, Vec::new());
    declare(&world, declared());
    world.go_on([Event::Nothing]);
    assert_eq!(gaps(&world, At::Now), [], "declared again, it is as well known as before");
}

#[test]
fn a_time_lies_in_the_gap_that_was_found_out_later_and_an_offset_does_not() {
    let mut world = unseen();
    let (offset, time) = (At::Offset(world.heads[5]), At::Time(World::time(5)));
    assert_eq!((gaps(&world, offset), gaps(&world, time)), (vec![], vec![]));
    let open = |until| (World::time(3), until, reason::RESTARTED.to_owned());
    world.go_on([restarted(watch("east", "Pod", ""), 3), Event::Nothing]);
    assert_eq!(gaps(&world, time), [open(None)]);
    assert_eq!(gaps(&world, At::Now), [open(None)]);
    world.go_on([watched(watch("east", "Pod", ""), 9)]);
    assert_eq!(gaps(&world, time), [open(Some(World::time(9)))], "also once it is over");
    assert_eq!(
        gaps(&world, At::Time(World::time(3))),
        [open(Some(World::time(9)))],
        "its beginning is in it"
    );
    let just_before = At::Time(World::time(3).minus(Duration::from_micros(1)));
    assert_eq!(gaps(&world, just_before), [], "what was before it is known");
    assert_eq!((gaps(&world, At::Time(World::time(9))), gaps(&world, At::Now)), (vec![], vec![]));
    assert_eq!(gaps(&world, offset), [], "an offset is answered as ever");
    assert_eq!(
        gaps(&world, At::Offset(world.heads[8])),
        [open(None)],
        "and names its own gaps without an end"
    );
}

#[test]
fn a_gap_in_which_nothing_was_missed_is_none_of_a_time() {
    let mut world = unseen();
    let resumed = CoverageMark {
        nothing_missed: true,
        ..CoverageMark::watched(watch("east", "Pod", ""), World::time(8))
    };
    world.go_on([restarted(watch("east", "Pod", ""), 3), Event::Marked(resumed)]);
    for step in 3..=8 {
        assert_eq!(gaps(&world, At::Time(World::time(step))), [], "step {step}");
    }
    assert_eq!(gaps(&world, At::Offset(world.heads[7])).len(), 1, "the offset at which it was one keeps it");
    let coverage = |at| {
        let (all, any, page) = (Scope::everything(), CoverageFilter::default(), whole());
        let items = block_on(world.queries.ask(&all, at, ListCoverage::new(&any, &page))).unwrap().items;
        let pods = items.iter().filter(|item| item.watch == watch("east", "Pod", ""));
        pods.map(|item| item.gaps.len()).collect::<Vec<_>>()
    };
    assert_eq!((coverage(At::Now), coverage(At::Offset(world.heads[8]))), (vec![0], vec![1]));
}

#[test]
fn a_gap_that_was_over_when_it_was_recorded_changes_only_answers_about_its_times() {
    let mut world = unseen();
    let late = CoverageMark::gap(watch("east", "Pod", ""), World::time(4), reason::LATE, "recorded late");
    world.go_on([Event::Marked(late.closed(World::time(6))), Event::Nothing]);
    let named = vec![(World::time(4), Some(World::time(6)), reason::LATE.to_owned())];
    for (step, expected) in [(3, vec![]), (4, named.clone()), (5, named), (6, vec![]), (7, vec![])] {
        assert_eq!(gaps(&world, At::Time(World::time(step))), expected, "step {step}");
    }
    for step in 1..=world.last() {
        assert_eq!(gaps(&world, At::Offset(world.heads[step])), [], "offset of step {step}");
    }
    let answer =
        block_on(world.queries.ask(&Scope::everything(), At::Now, GetEnvironment::new(&id()))).unwrap();
    assert_ne!(answer.value.health.state, Some(Health::Unknown), "it is watched");
}

#[test]
fn spans_and_comparisons_name_the_gaps_of_all_their_times() {
    let mut world = unseen();
    let late = CoverageMark::gap(watch("east", "Pod", ""), World::time(4), reason::LATE, "recorded late");
    world.go_on([Event::Marked(late.closed(World::time(5))), Event::Nothing]);
    let (queries, all, now) = (&world.queries, Scope::everything(), At::Time(World::time(8)));
    let since = |step| Some(At::Time(World::time(step)));
    block_on(async {
        for (step, named) in [(3, 1), (4, 1), (6, 0)] {
            let filter = HealthFilter { since: since(step), ..HealthFilter::default() };
            let history = queries.ask(&all, now, GetEnvironmentHealth::new(&id(), filter)).await.unwrap();
            assert_eq!(history.metadata.coverage.gaps.len(), named, "health since step {step}");
            let filter = TimelineFilter { since: since(step), ..TimelineFilter::default() };
            let page =
                queries.ask(&all, now, GetEnvironmentTimeline::new(&id(), &filter, &whole())).await.unwrap();
            assert_eq!(page.timeline.gaps.len(), named, "timeline since step {step}");
            let uid = Uid::new("shop-web");
            let page = queries
                .ask(&all, now, GetResourceTimeline::new(&uid, None, &filter, &whole()))
                .await
                .unwrap();
            assert_eq!(page.timeline.gaps.len(), named, "timeline of a resource since step {step}");
        }
        for (step, complete) in [(3, true), (4, false), (6, true)] {
            let from = since(step);
            let (environment, lens, page) = (id(), Lens::new(Between::Versions, &[]), whole());
            let question = DiffEnvironment { environment, from, lens: lens.clone(), children: false, page };
            let diff = queries.ask(&all, now, question).await.unwrap();
            assert_eq!(diff.metadata.snapshot.coverage.complete, complete, "environment from step {step}");
            let resource = ResourceRef::new(&Uid::new("shop-web"), None);
            let diff = queries.ask(&all, now, DiffResource { resource, from, lens }).await.unwrap();
            assert_eq!(diff.metadata.coverage.complete, complete, "resource from step {step}");
        }
        let onset = OnsetFilter { health: Some(Health::Healthy), ..OnsetFilter::default() };
        let found = queries.ask(&all, now, GetEnvironmentOnset::new(&id(), onset)).await;
        assert!(found.is_ok() || matches!(found, Err(QueryError::OnsetUnknown { .. })), "{found:?}");
    });
}

#[test]
fn later_pages_name_the_gaps_of_the_time_that_the_first_was_asked_for() {
    let mut world = unseen();
    let page = |world: &World, at, after| {
        let request = PageRequest { limit: 1, after };
        let page = block_on(world.queries.ask(
            &Scope::everything(),
            at,
            ListEnvironments::new(&EnvironmentFilter::default(), &request),
        ));
        page.unwrap().metadata
    };
    let first = page(&world, At::Now, None);
    let ago = page(&world, At::Ago(Duration::from_secs(60)), None);
    assert!(first.snapshot.coverage.complete && ago.snapshot.coverage.complete);
    // The first page was asked for at step 6, and a minute before it is step 5.
    let late = CoverageMark::gap(watch("east", "Pod", ""), World::time(6), reason::LATE, "recorded late");
    world.go_on([Event::Marked(late.closed(World::time(7))), Event::Nothing]);
    let next = page(&world, At::Now, first.next.clone());
    assert_eq!(next.snapshot.coverage.gaps.len(), 1, "of the time of the first page");
    assert_eq!(next.snapshot.offset, first.snapshot.offset);
    let next = page(&world, At::Ago(Duration::from_secs(60)), ago.next.clone());
    assert_eq!((next.snapshot.coverage.gaps.len(), next.snapshot.at), (0, ago.snapshot.at));
    let next = page(&world, At::Offset(first.snapshot.offset), first.next);
    assert!(next.snapshot.coverage.complete && next.snapshot.delay_ms.is_none(), "an offset is one");
    let request = PageRequest { limit: 1, after: ago.next };
    let (all, any) = (Scope::everything(), EnvironmentFilter::default());
    let other =
        block_on(world.queries.ask(&all, At::Time(World::time(6)), ListEnvironments::new(&any, &request)));
    assert!(matches!(other, Err(QueryError::BadToken(_))), "another time is another moment");
}

#[test]
fn held_questions_are_all_of_the_time_that_was_asked_for() {
    let mut world = unseen();
    let by_time = block_on(world.queries.held(At::Time(World::time(5)))).unwrap();
    let by_offset = block_on(world.queries.held(At::Offset(world.heads[5]))).unwrap();
    world.go_on([restarted(watch("east", "Pod", ""), 3), Event::Nothing]);
    let complete = |queries: &Queries| {
        let answer =
            block_on(queries.ask(&Scope::everything(), At::Now, GetEnvironment::new(&id()))).unwrap();
        answer.metadata.coverage.complete
    };
    assert_eq!((complete(&by_time), complete(&by_offset)), (false, true));
}

#[test]
fn no_gap_of_a_namespace_shows_that_a_caller_does_not_look_into() {
    let mut world = unseen();
    let late = |namespace: &str| {
        let mark = CoverageMark::gap(watch("east", "Pod", namespace), World::time(4), reason::LATE, "");
        Event::Marked(mark.closed(World::time(6)))
    };
    world.go_on([late("tools"), Event::Nothing]);
    let named = |world: &World, projects: &[&str], id: EnvironmentId| {
        let scope = Scope::projects(projects.iter().map(|path| (*path).to_owned()));
        let at = At::Time(World::time(5));
        let list = block_on(world.queries.ask(
            &scope,
            at,
            ListEnvironments::new(&EnvironmentFilter::default(), &whole()),
        ));
        let one = block_on(world.queries.ask(&scope, at, GetEnvironment::new(&id))).unwrap();
        let clusters = block_on(world.queries.ask(&scope, at, ListClusters::new(&whole()))).unwrap().items;
        let of_clusters = clusters.iter().map(|cluster| cluster.gaps.len()).sum::<usize>();
        [list.unwrap().metadata.snapshot.coverage.gaps.len(), one.metadata.coverage.gaps.len(), of_clusters]
    };
    let development = EnvironmentId::of("ops/tools", "development");
    assert_eq!(named(&world, &["shop/web"], id()), [0, 0, 0]);
    assert_eq!(named(&world, &["ops/tools"], development), [1, 1, 1]);
    world.go_on([late("shop"), Event::Nothing]);
    assert_eq!(named(&world, &["shop/web"], id()), [1, 1, 1]);
}

/// What is told of each cluster by name.
struct Told(Vec<(&'static str, Confirmed)>);

impl Freshness for Told {
    fn confirmed(&self, cluster: &str) -> Confirmed {
        let found = self.0.iter().find(|(name, _)| *name == cluster);
        found.map_or(Confirmed::Unknown, |(_, confirmed)| *confirmed)
    }
}

#[test]
fn an_answer_by_time_states_up_to_when_it_is_confirmed_and_how_late_changes_may_be() {
    let world = unseen();
    let seconds = |seconds: u64| World::time(4).plus(Duration::from_secs(seconds));
    let ask = |told: &[(&'static str, Confirmed)], scope: &Scope, at| {
        let queries = world.queries.clone().with_freshness(Arc::new(Told(told.to_vec())));
        let page =
            block_on(queries.ask(scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole())))
                .unwrap();
        (page.metadata.snapshot.confirmed_until, page.metadata.snapshot.delay_ms)
    };
    let until = |seconds_: u64| Confirmed::Until(seconds(seconds_).plus(Duration::from_millis(700)));
    let (both, all) = (&[("east", until(9)), ("west", until(3))], Scope::everything());
    assert_eq!(ask(both, &all, At::Now), (Some(seconds(3)), Some(5000)), "the least, in whole seconds");
    assert_eq!(
        ask(both, &all, At::Time(World::time(3))),
        (Some(World::time(3)), Some(5000)),
        "the past at most"
    );
    assert_eq!(ask(both, &all, At::Offset(world.heads[3])), (None, None), "an offset is what it is");
    let of_web = Scope::projects(["shop/web".to_owned()]);
    assert_eq!(ask(both, &of_web, At::Now).0, Some(seconds(3)), "it looks into both");
    let tools = &[("east", until(9)), ("west", Confirmed::InGaps)];
    assert_eq!(ask(tools, &all, At::Now).0, Some(seconds(9)), "gaps are named and confirm nothing");
    assert_eq!(ask(&[("east", until(9))], &all, At::Now).0, None, "nothing is known of one");
    let east = block_on(world.queries.clone().with_freshness(Arc::new(Told(both.to_vec()))).ask(
        &all,
        At::Now,
        GetEnvironment::new(&id()),
    ));
    assert_eq!(east.unwrap().metadata.confirmed_until, Some(seconds(9)), "of its own cluster alone");
}

#[test]
fn while_nothing_can_be_recorded_no_answer_about_it_is_complete() {
    let world = unseen();
    let clock = Arc::new(ManualClock::default());
    clock.set(World::time(world.last()));
    let health = WriterHealth::refusing(World::time(5), "the disk is full; make room");
    let status = ViewStatus::new(Watermark::default()).with_writer(health);
    status.set_usable(true);
    let queries = Queries::new(world.directory(), 1, status, clock);
    let named = |scope: &Scope, at| {
        let page =
            block_on(queries.ask(scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole())))
                .unwrap();
        let coverage = page.metadata.snapshot.coverage;
        assert_eq!(coverage.complete, coverage.gaps.is_empty());
        coverage.gaps.into_iter().map(|gap| (gap.cluster, gap.kind, gap.since)).collect::<Vec<_>>()
    };
    let gap = |cluster: &str| (cluster.to_owned(), String::new(), World::time(5));
    let (all, tools) = (Scope::everything(), Scope::projects(["shop/web".to_owned()]));
    for at in [At::Now, At::Time(World::time(5)), At::Ago(Duration::from_secs(60))] {
        assert_eq!(named(&all, at), [gap("east"), gap("west")], "{at:?}");
        assert_eq!(named(&tools, at), [gap("east"), gap("west")], "{at:?}");
    }
    assert_eq!(named(&all, At::Time(World::time(4))), []);
    assert_eq!(named(&all, At::Offset(world.heads[6])), [], "an offset holds what was recorded");
    let one = block_on(queries.ask(&all, At::Now, GetEnvironment::new(&id()))).unwrap().metadata;
    assert_eq!(one.coverage.gaps.iter().map(|gap| gap.cluster.as_str()).collect::<Vec<_>>(), ["east"]);
    assert!(one.not_recording && one.coverage.gaps[0].message.contains("make room"));
    let clusters = block_on(queries.ask(&all, At::Now, ListClusters::new(&whole()))).unwrap().items;
    assert!(clusters.iter().all(|cluster| !cluster.watched && cluster.gaps.len() == 1), "{clusters:?}");
}

#[test]
fn gaps_of_clusters_that_the_configuration_does_not_hold_are_named() {
    let mut world = unseen();
    let named = |world: &World, scope: &Scope, at| {
        let any = EnvironmentFilter::default();
        let page = block_on(world.queries.ask(scope, at, ListEnvironments::new(&any, &whole()))).unwrap();
        let gaps = page.metadata.snapshot.coverage.gaps.into_iter();
        gaps.map(|gap| (gap.cluster, gap.kind, gap.reason)).collect::<Vec<_>>()
    };
    let gap = |cluster: &str, kind: &str, reason: &str| (cluster.into(), kind.into(), reason.into());
    let (all, web) = (Scope::everything(), Scope::projects(["shop/web".to_owned()]));
    let catalog = |clusters: &[&str], looked_at: &[&str]| {
        let cluster =
            |name: &&str| CatalogFact::Cluster(ClusterSpec { name: (*name).into(), region: String::new() });
        let tools = |cluster: &&str| environment("ops/tools", cluster, &[(cluster, "shop", "web")]).into();
        let web = environment("shop/web", "production", &[("west", "shop", "web")]).into();
        let facts = clusters.iter().map(cluster).chain(looked_at.iter().map(tools));
        Event::Catalog(facts.chain([web]).collect())
    };
    let imported =
        CoverageMark::gap(watch("dump", "Pod", ""), World::time(7), reason::IMPORTED, "from files");
    world.go_on([catalog(&["east", "west"], &["east"]), Event::Marked(imported), Event::Nothing]);
    assert_eq!(named(&world, &all, At::Now), [], "nobody looks there");
    world.go_on([catalog(&["east", "west"], &["dump", "east"]), Event::Nothing]);
    let of_import = gap("dump", "Pod", reason::IMPORTED);
    let later = World::time(world.last());
    for at in [At::Now, At::Offset(world.head()), At::Time(later)] {
        assert_eq!(named(&world, &all, at), std::slice::from_ref(&of_import), "{at:?}");
        assert_eq!(named(&world, &web, at), [], "it looks elsewhere");
    }
    let before = world.head();
    let removed = CoverageMark::gap(WatchKey::discovery("east", ""), later, reason::NOT_WATCHED, "");
    world.go_on([Event::Marked(removed), catalog(&["west"], &["dump", "east"]), Event::Nothing]);
    let of_removed = gap("east", "", reason::NOT_WATCHED);
    for at in [At::Now, At::Offset(world.head())] {
        assert_eq!(named(&world, &all, at), [of_import.clone(), of_removed.clone()], "{at:?}");
        assert_eq!(named(&world, &web, at), [], "it looks elsewhere");
    }
    assert_eq!(named(&world, &all, At::Offset(before)), [of_import], "it was watched then");
}

#[test]
fn gaps_of_a_time_are_found_by_the_index_of_their_ends() {
    let view = unseen().view();
    let plan = |sql: &str| {
        let mut statement = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
        let rows = statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get::<_, String>(3));
        rows.unwrap().map(|row| row.unwrap()).collect::<Vec<_>>().join("\n")
    };
    let [environment, resources] = crate::timeline::gaps_by_time();
    for sql in [gaps::AT_TIMES, environment, resources] {
        let plan = plan(sql);
        assert!(plan.contains("USING INDEX coverage_missed (cluster_id=? AND missed_to>?)"), "{plan}");
    }
}
