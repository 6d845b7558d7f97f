//! Kinds of which retention lets go before the rest.

use std::sync::Arc;

use super::*;
use crate::testing::record;
use strandline_clock::testing::ManualClock;
use strandline_model::{KindPattern, Offset, Uid, reason};
use strandline_view::{Projector, ProjectorOptions, PruneRequest, Pruning};

/// A Pod with five states and a ConfigMap beside it, of which Pods are known from the fourth state on.
fn thinned() -> (World, Offset) {
    let pod = |health| Event::Apply(Thing { app: "web".into(), health, ..Thing::pod("east", "shop", "a") });
    let config = Thing { app: "web".into(), ..Thing::pod("east", "shop", "c").of("v1", "ConfigMap") };
    let events = [Event::Declare(environments()), Event::Apply(config), mark("east", "Pod", "", false)];
    let world = World::new(events.into_iter().chain((0..5).map(pod)));
    let floor = world.heads[world.last() - 1];
    let kinds = record(world.directory(), Arc::new(ManualClock::default()), async |appender| {
        let pods: KindPattern = "Pod".parse().unwrap();
        appender.raise_floors(vec![(pods, floor)]).await.unwrap()
    });
    let pruning = Pruning::default();
    pruning.request(PruneRequest { before: Offset::ZERO, kinds });
    let mut projector =
        Projector::open(world.directory(), ProjectorOptions::small(RuleSet::default())).unwrap();
    while projector.prune(&pruning).unwrap() {}
    record(world.directory(), Arc::new(ManualClock::default()), async |appender| {
        while !appender.thin(2).await.unwrap().done {}
    });
    (world, floor)
}

fn production() -> EnvironmentId {
    EnvironmentId::new("shop.web.production")
}

/// The reasons of the gaps that an environment names, and how many resources it has.
async fn told(world: &World, scope: &Scope, at: Offset) -> (Vec<(String, String)>, usize) {
    let any = ResourceFilter::default();
    let page = world
        .queries
        .ask(scope, At::Offset(at), ListEnvironmentResources::new(&production(), &any, &whole()))
        .await;
    let page = page.unwrap();
    let gaps = page.metadata.snapshot.coverage.gaps.into_iter().map(|gap| (gap.kind, gap.reason)).collect();
    (gaps, page.items.len())
}

#[test]
fn before_its_floor_a_kind_is_a_gap_and_a_resource_of_it_is_not_known() {
    let (world, floor) = thinned();
    let (all, uid, before) = (&Scope::everything(), &Uid::new("shop-a"), Offset::new(floor.get() - 1));
    let check = async || {
        let gap = vec![("Pod".to_owned(), reason::COMPACTED.to_owned())];
        assert_eq!(told(&world, all, before).await, (gap, 1), "the ConfigMap is known as ever");
        assert_eq!(told(&world, all, floor).await, (Vec::new(), 2));
        let refused =
            world.queries.ask(all, At::Offset(before), GetResource::new(uid, None)).await.unwrap_err();
        assert!(
            matches!(refused, QueryError::Compacted { earliest, time: Some(_) } if earliest == floor),
            "{refused}"
        );
        assert!(world.queries.ask(all, At::Offset(floor), GetResource::new(uid, None)).await.is_ok());
        let history = world
            .queries
            .ask(all, At::Now, ListResourceVersions::new(uid, None, true, &whole()))
            .await
            .unwrap();
        assert_eq!(history.items.len(), 2, "what holds at the floor, and what came later");
    };
    block_on(async {
        check().await;
        world.rebuild();
        world.queries.reopen();
        check().await;
    });
}

#[test]
fn who_does_not_see_a_resource_learns_nothing_of_it_from_its_floor() {
    let (world, floor) = thinned();
    let (others, before) = (Scope::projects(["ops/tools".to_owned()]), Offset::new(floor.get() - 1));
    block_on(async {
        let refused =
            world.queries.ask(&others, At::Offset(before), GetResource::new(&Uid::new("shop-a"), None)).await;
        assert!(matches!(refused, Err(QueryError::NotFound { .. })), "{refused:?}");
        let listed = world
            .queries
            .ask(&others, At::Offset(before), ListEnvironments::new(&EnvironmentFilter::default(), &whole()))
            .await;
        let gaps = listed.unwrap().metadata.snapshot.coverage.gaps;
        let looks_there = environments().iter().any(|spec| {
            spec.project == "ops/tools" && spec.targets.iter().any(|target| target.cluster == "east")
        });
        assert_eq!(!gaps.is_empty(), looks_there, "{gaps:?}");
        let ours = Scope::projects(["shop/web".to_owned()]);
        assert_eq!(told(&world, &ours, before).await.0.len(), 1, "who looks there is told of it");
    });
}
