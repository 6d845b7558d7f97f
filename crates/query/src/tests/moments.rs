//! Moments: however one is named, and where there is nothing yet or any more.

use std::time::Duration;

use serde_json::Value;

use super::*;
use strandline_model::{CatalogFact, Offset, ResourceKey, Source};

/// All that is told of a moment, without how it was asked for.
async fn told(world: &World, at: At) -> Value {
    let (queries, all) = (&world.queries, &Scope::everything());
    let environments =
        queries.ask(all, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole())).await.unwrap();
    let id = EnvironmentId::of("shop/web", "production");
    let graph = queries
        .ask(all, at, GetEnvironmentGraph::new(&id, &uncut()))
        .await
        .map_err(|error| error.to_string());
    let history =
        queries.ask(all, at, ListResourceVersions::new(&Uid::new("shop-mover"), None, true, &whole())).await;
    let history = history.map_err(|error| error.to_string());
    let (clusters, any) =
        (queries.ask(all, at, ListClusters::new(&whole())).await.unwrap(), &EventFilter::default());
    let events = queries
        .ask(all, at, ListEnvironmentEvents::new(&id, any, &whole()))
        .await
        .map_err(|error| error.to_string());
    let mut value = serde_json::json!([environments, graph, history, events, clusters]);
    for answer in value.as_array_mut().unwrap() {
        let answer = if answer.get("Ok").is_some() { &mut answer["Ok"] } else { answer };
        if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("at");
            metadata.remove("delay_ms");
        }
        // Only of a time is it told when a gap ended.
        let clusters = answer["items"].as_array_mut().into_iter().flatten();
        for gaps in clusters.filter_map(|item| item["gaps"].as_array_mut()) {
            gaps.iter_mut().for_each(|gap| gap["until"] = Value::Null);
        }
        if let Some(gaps) = answer.pointer_mut("/metadata/coverage/gaps").and_then(Value::as_array_mut) {
            gaps.iter_mut().for_each(|gap| gap["until"] = Value::Null);
        }
    }
    value
}

#[test]
fn offsets_times_and_durations_agree() {
    let world = World::new(small_history());
    let now = World::time(world.last());
    block_on(async {
        let mut before = Value::Null;
        for step in 1..=world.last() {
            let (offset, time) = (world.heads[step], World::time(step));
            let by_offset = told(&world, At::Offset(offset)).await;
            assert_eq!(told(&world, At::Time(time)).await, by_offset, "step {step}");
            assert_eq!(told(&world, At::Ago(now.since(time))).await, by_offset, "step {step}");
            if step < world.last() {
                let later = At::Time(time.plus(Duration::from_secs(59)));
                assert_eq!(told(&world, later).await, by_offset, "a little after step {step}");
            }
            assert_eq!(before == by_offset, offset == world.heads[step - 1], "step {step} moves the offset");
            before = by_offset;
        }
        assert_eq!(told(&world, At::Now).await, before, "now is the last step");
    });
}

#[test]
fn an_answer_names_the_moment_that_was_asked_for() {
    let world = World::new(small_history());
    let (all, asked) = (Scope::everything(), World::time(7).plus(Duration::from_secs(5)));
    let page = block_on(world.queries.ask(&all, At::Time(asked), ListClusters::new(&whole()))).unwrap();
    let snapshot = page.metadata.snapshot;
    let told = (snapshot.offset, snapshot.time, snapshot.at, snapshot.lag_changes);
    assert_eq!(told, (world.heads[7], Some(World::time(7)), Some(asked), 0));
}

#[test]
fn before_the_first_change_there_is_nothing() {
    let world = World::new(small_history());
    let (queries, all) = (&world.queries, &Scope::everything());
    let ages = Duration::from_secs(u64::MAX / 2_000_000);
    let moments = [At::Offset(Offset::ZERO), At::Time(World::time(0)), At::Ago(ages)];
    block_on(async {
        for at in moments {
            let none = &EnvironmentFilter::default();
            let environments = queries.ask(all, at, ListEnvironments::new(none, &whole())).await.unwrap();
            let clusters = queries.ask(all, at, ListClusters::new(&whole())).await.unwrap();
            assert!(environments.items.is_empty() && clusters.items.is_empty(), "{at:?}");
            let snapshot = environments.metadata.snapshot;
            assert_eq!((snapshot.offset, snapshot.time), (Offset::ZERO, None), "{at:?}");
            let (id, uid) = (EnvironmentId::of("shop/web", "production"), Uid::new("shop-mover"));
            let (any, page) = (&EventFilter::default(), &whole());
            let answers = [
                queries.ask(all, at, ListEnvironmentEvents::new(&id, any, page)).await.err(),
                queries.ask(all, at, ListResourceEvents::new(&uid, None, any, page)).await.err(),
                queries.ask(all, at, GetEnvironment::new(&id)).await.err(),
                queries.ask(all, at, GetEnvironmentGraph::new(&id, &uncut())).await.err(),
                queries.ask(all, at, GetResource::new(&uid, None)).await.err(),
                queries.ask(all, at, ListResourceVersions::new(&uid, None, false, &whole())).await.err(),
            ];
            for error in answers {
                assert!(matches!(error, Some(QueryError::NotFound { .. })), "{at:?}: {error:?}");
            }
        }
    });
}

#[test]
fn what_lies_in_the_future_is_refused() {
    let world = World::new(small_history());
    let (head, now) = (world.heads[world.last()], World::time(world.last()));
    let ask = |at| block_on(world.queries.ask(&Scope::everything(), at, ListClusters::new(&whole())));
    match ask(At::Offset(head.next())) {
        Err(QueryError::FutureOffset { asked, newest }) => assert_eq!((asked, newest), (head.next(), head)),
        other => panic!("{other:?}"),
    }
    assert!(matches!(ask(At::Offset(Offset::from_i64(i64::MAX))), Err(QueryError::FutureOffset { .. })));
    let asked = now.plus(Duration::from_secs(6));
    assert!(matches!(ask(At::Time(asked)), Err(QueryError::FutureTime { .. })));
    let within_skew = ask(At::Time(now.plus(Duration::from_secs(4)))).unwrap();
    assert_eq!(within_skew.metadata.snapshot.offset, head, "clocks differ a little");
}

#[test]
fn a_deleted_resource_is_gone_but_its_history_is_told() {
    let (all, uid) = (Scope::everything(), Uid::new("shop-web-0"));
    let world = World::new(small_history());
    block_on(async {
        let gone = world.queries.ask(&all, At::Now, GetResource::new(&uid, None)).await;
        assert!(matches!(gone, Err(QueryError::NotFound { .. })), "{gone:?}");
        let history = world
            .queries
            .ask(&all, At::Now, ListResourceVersions::new(&uid, None, true, &whole()))
            .await
            .unwrap();
        let changes: Vec<_> = history.items.iter().map(|version| version.change).collect();
        assert_eq!(changes, [VersionChange::Deleted, VersionChange::Applied]);
        let last_alive = At::Offset(Offset::new(history.items[0].offset.get() - 1));
        let detail = world.queries.ask(&all, last_alive, GetResource::new(&uid, None)).await.unwrap().value;
        assert_eq!(Some(detail.object), history.items[1].object);
        assert_eq!(detail.environments, [EnvironmentId::of("shop/web", "production")], "it was a member");
    });
}

#[test]
fn what_is_held_back_by_a_finalizer_is_alive_then_terminating_then_gone() {
    let pod = Thing { app: "web".into(), ..Thing::pod("east", "shop", "held") };
    let leaving = Thing { waits_for: "shop/backup".into(), ..pod.clone() };
    let declared = Event::Declare(environments());
    let world =
        World::new([declared, Event::Apply(pod), Event::Apply(leaving.clone()), Event::Delete(leaving)]);
    let (scope, uid) = (Scope::everything(), Uid::new("shop-held"));
    let (id, every) = (EnvironmentId::of("shop/web", "production"), ResourceFilter::default());
    block_on(async {
        for (step, since, waiting_for) in [(2, None, &[][..]), (3, Some(World::time(0)), &["shop/backup"])] {
            let at = At::Offset(world.heads[step]);
            let detail = world.queries.ask(&scope, at, GetResource::new(&uid, None)).await.unwrap().value;
            assert_eq!(detail.resource.terminating_since, since, "step {step}");
            assert_eq!(detail.waiting_for, waiting_for, "step {step}");
            let list = world
                .queries
                .ask(&scope, at, ListEnvironmentResources::new(&id, &every, &whole()))
                .await
                .unwrap();
            assert_eq!(list.items, [detail.resource], "a list says the same");
        }
        let gone = world.queries.ask(&scope, At::Now, GetResource::new(&uid, None)).await;
        assert!(matches!(gone, Err(QueryError::NotFound { .. })), "{gone:?}");
    });
}

#[test]
fn a_uid_of_two_clusters_asks_for_one() {
    let (all, uid, world) = (Scope::everything(), Uid::new("twin"), World::new(small_history()));
    block_on(async {
        let ambiguous = world.queries.ask(&all, At::Now, GetResource::new(&uid, None)).await;
        let Err(QueryError::Ambiguous { keys, .. }) = ambiguous else { panic!("{ambiguous:?}") };
        assert_eq!(keys.iter().map(|key| key.cluster.as_str()).collect::<Vec<_>>(), ["east", "west"]);
        let history =
            world.queries.ask(&all, At::Now, ListResourceVersions::new(&uid, None, false, &whole())).await;
        assert!(matches!(history, Err(QueryError::Ambiguous { .. })), "{history:?}");
        let any = &EventFilter::default();
        let events =
            world.queries.ask(&all, At::Now, ListResourceEvents::new(&uid, None, any, &whole())).await;
        assert!(matches!(events, Err(QueryError::Ambiguous { .. })), "{events:?}");
        for cluster in ["east", "west"] {
            let found =
                world.queries.ask(&all, At::Now, GetResource::new(&uid, Some(cluster))).await.unwrap().value;
            let ResourceKey { cluster: of, name, .. } = found.resource.key;
            assert_eq!((of.as_str(), name.as_str()), (cluster, "twin"));
        }
        let nowhere = world.queries.ask(&all, At::Now, GetResource::new(&uid, Some("north"))).await;
        assert!(matches!(nowhere, Err(QueryError::NotFound { .. })), "{nowhere:?}");
    });
}

#[test]
fn questions_that_are_held_answer_for_one_moment_whatever_happens_and_is_asked_for() {
    let history = small_history();
    let (first, rest) = history.split_at(history.len() - 4);
    let mut world = World::new(first.iter().cloned());
    let (all, none, one) =
        (Scope::everything(), EnvironmentFilter::default(), PageRequest { limit: 1, after: None });
    let list = |queries: Queries, at: At, page: PageRequest| {
        let (all, none) = (all.clone(), none.clone());
        async move { queries.ask(&all, at, ListEnvironments::new(&none, &page)).await.unwrap() }
    };
    let step = world.last();
    let now = block_on(world.queries.held(At::Now)).unwrap();
    let past = block_on(now.held(At::Ago(Duration::from_secs(600)))).unwrap();
    let (expected, token) = block_on(async {
        let token = list(world.queries.clone(), At::Now, one.clone()).await.metadata.next;
        (list(world.queries.clone(), At::Now, whole()).await, token)
    });
    world.go_on(rest.iter().cloned());
    block_on(async {
        assert_ne!(
            list(world.queries.clone(), At::Now, whole()).await.items,
            expected.items,
            "it has moved on"
        );
        for at in [At::Now, At::Offset(Offset::ZERO), At::Time(World::time(3))] {
            let held = list(now.clone(), at, whole()).await;
            assert_eq!((&held.items, held.metadata.snapshot.offset), (&expected.items, world.heads[step]));
        }
        let ago = list(past, At::Now, whole()).await;
        let then = list(world.queries.clone(), At::Time(World::time(step - 10)), whole()).await;
        assert_eq!((ago.items, ago.metadata.snapshot.offset), (then.items, then.metadata.snapshot.offset));
        // A token of another moment only tells where the list goes on.
        let later = world.queries.held(At::Now).await.unwrap();
        let rest = list(later, At::Now, PageRequest { after: token, ..whole() }).await;
        let now = list(world.queries.clone(), At::Now, whole()).await.items;
        let key = |one: &Environment| (one.project.clone(), one.name.clone());
        let expected: Vec<_> = now.into_iter().filter(|one| key(one) > key(&expected.items[0])).collect();
        assert_eq!((rest.items, rest.metadata.snapshot.offset), (expected, world.heads[world.last()]));
    });
}

#[test]
fn an_offset_that_the_view_does_not_hold_yet_is_waited_for() {
    let world = World::new(small_history());
    let spec = EnvironmentSpec::new("shop/late", "production");
    let (id, all) = (EnvironmentId::of("shop/late", "production"), Scope::everything());
    block_on(async { world.write().declare(Source::Folder, vec![CatalogFact::from(spec)]).await }).unwrap();
    world.tell_head();
    let at = At::Offset(world.head());
    let missing = block_on(world.queries.ask(&all, at, GetEnvironment::new(&id))).unwrap_err();
    assert!(matches!(missing, QueryError::Building { .. }), "nobody takes it into the view: {missing}");
    let (told, held, found, later, ()) = block_on(async {
        let one = world.queries.ask(&all, at, GetEnvironment::new(&id));
        let (held, offset) = (world.queries.held(at), world.queries.offset_of(at));
        let later = world.queries.is_later(at, At::Offset(world.heads[1]), At::Now);
        // All of them wait before the view goes on, because they are polled first.
        tokio::join!(biased; one, held, offset, later, async { world.project() })
    });
    assert_eq!(told.unwrap().value.name, "production");
    assert_eq!(At::Offset(found.unwrap()), at);
    assert!(held.is_ok() && later.unwrap());
}
