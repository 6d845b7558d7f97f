//! A log that lost its end: the view holds changes that the log does not, and answers from them.

use std::path::Path;
use std::time::Duration;

use super::*;
use strandline_log::LogReader;
use strandline_model::Offset;

/// The files of the log, without what tells where it ended.
fn log_files(directory: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let of_log = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log.db"))
    };
    files.filter(of_log).collect()
}

/// A world whose log is as it was `kept` steps after its beginning, while its view has gone on.
fn cut(kept: usize, events: Vec<Event>) -> World {
    let (first, rest) = events.split_at(kept);
    let mut world = World::new(first.iter().cloned());
    let aside = tempfile::tempdir().unwrap();
    for file in log_files(world.directory()) {
        std::fs::copy(&file, aside.path().join(file.file_name().unwrap())).unwrap();
    }
    world.go_on(rest.iter().cloned());
    world.queries.reopen();
    for file in log_files(world.directory()) {
        std::fs::remove_file(file).unwrap();
    }
    for file in log_files(aside.path()) {
        std::fs::copy(&file, world.directory().join(file.file_name().unwrap())).unwrap();
    }
    let found = LogReader::open(world.directory()).unwrap().head().unwrap();
    assert_eq!(found, world.heads[kept], "the log ends where it was cut");
    assert!(found < *world.heads.last().unwrap(), "and the view holds more");
    world
}

#[test]
fn a_log_that_lost_its_end_answers_from_the_view_now_and_at_every_time() {
    let mut events = small_history();
    // When the catalog changed the view does not tell.
    events.pop();
    let kept = events.len() - 5;
    let (world, whole_world) = (cut(kept, events.clone()), World::new(events));
    let (all, last) = (Scope::everything(), world.last());
    let id = EnvironmentId::of("shop/web", "production");
    let told = |world: &World, at| {
        let queries = &world.queries;
        block_on(async {
            let environments =
                queries.ask(&all, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole())).await;
            let graph = queries.ask(&all, at, GetEnvironmentGraph::new(&id, &uncut())).await.unwrap();
            let overview = queries.ask(&all, at, GetOverview::default()).await.unwrap();
            let clusters = queries.ask(&all, at, ListClusters::new(&whole())).await.unwrap();
            let timeline = queries
                .ask(&all, at, GetEnvironmentTimeline::new(&id, &TimelineFilter::default(), &whole()))
                .await;
            assert!(timeline.is_ok(), "{timeline:?}");
            serde_json::json!([environments.unwrap().items, graph.value, overview.value, clusters.items])
        })
    };
    for step in kept - 2..=last {
        for at in [At::Time(World::time(step)), At::Offset(world.heads[step])] {
            assert_eq!(told(&world, at), told(&whole_world, at), "{at:?} of step {step}");
        }
    }
    let ago = At::Ago(Duration::from_secs(5 * 60));
    assert_eq!(told(&world, ago), told(&whole_world, ago));
    assert_eq!(told(&world, At::Now), told(&whole_world, At::Now));
    let beyond = Offset::new(world.heads[last].get() + 1);
    let future = block_on(world.queries.ask(&all, At::Offset(beyond), ListClusters::new(&whole())));
    assert!(matches!(future, Err(QueryError::FutureOffset { newest, .. }) if newest == world.heads[last]));
}

#[test]
fn the_body_of_a_lost_change_is_refused_with_what_it_is() {
    let lost = Thing { app: "web".into(), ..Thing::pod("east", "shop", "lost") };
    let world = cut(
        2,
        vec![
            Event::Declare(environments()),
            Event::Apply(Thing { app: "web".into(), ..Thing::pod("east", "shop", "kept") }),
            Event::Apply(lost),
        ],
    );
    let (all, id) = (Scope::everything(), EnvironmentId::of("shop/web", "production"));
    let list = block_on(world.queries.ask(
        &all,
        At::Now,
        ListEnvironmentResources::new(&id, &ResourceFilter::default(), &whole()),
    ));
    assert_eq!(list.unwrap().items.len(), 2, "the list is the view's");
    let body = block_on(world.queries.ask(&all, At::Now, GetResource::new(&Uid::new("shop-lost"), None)));
    match body {
        Err(QueryError::Lost { offset, newest }) => {
            assert_eq!((offset, newest), (world.heads[3], world.heads[2]))
        }
        other => panic!("{other:?}"),
    }
    assert!(
        block_on(world.queries.ask(&all, At::Now, GetResource::new(&Uid::new("shop-kept"), None))).is_ok()
    );
}
