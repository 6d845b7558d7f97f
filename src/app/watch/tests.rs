use super::*;
use crate::app::watch::event::round;
use strandline_model::Tier;
use strandline_query::testing::{World, small_history};

/// What a stream from a position says of a list up to now, each event with its data; of another run of the server, as it were.
async fn missed(
    world: &World,
    scope: &Scope,
    filter: &EnvironmentFilter,
    from: &Position,
) -> Vec<WatchEvent> {
    let watch = Watch::new(CancellationToken::new());
    let joined = watch.join(&world.queries, scope, filter, Some(from)).await;
    joined.unwrap_or_else(|problem| panic!("{from}: {problem:?}")).missed.to_vec()
}

/// The events between each two of these offsets, one after the other.
async fn step_by_step(
    world: &World,
    scope: &Scope,
    filter: &EnvironmentFilter,
    offsets: &[Offset],
) -> Vec<WatchEvent> {
    let list = async |at: Offset| {
        listing::read(&world.queries, scope, filter, At::Offset(at)).await.expect("a list")
    };
    let mut events = Vec::new();
    for pair in offsets.windows(2) {
        let before = listing::digest(&list(pair[0]).await);
        let step = round(&before, &list(pair[1]).await, pair[0], pair[1]).expect("a round");
        events.extend(step.events.iter().cloned());
    }
    events
}

fn scopes() -> [Scope; 3] {
    let of = |path: &str| Scope::projects([path.to_owned()]);
    [Scope::everything(), of("shop/web"), of("nobody/nothing")]
}

#[tokio::test]
async fn a_stream_that_broke_off_anywhere_goes_on_with_what_it_had_not_sent() {
    let world = World::new(small_history());
    let filters = [
        EnvironmentFilter::default(),
        EnvironmentFilter { tiers: vec![Tier::Production], ..EnvironmentFilter::default() },
    ];
    let mut inside = 0;
    for (scope, filter) in scopes().iter().flat_map(|scope| filters.iter().map(move |filter| (scope, filter)))
    {
        let head = world.head();
        let middle = Offset::new(head.get() / 2);
        let whole = step_by_step(&world, scope, filter, &[Offset::ZERO, middle, head]).await;
        for (place, event) in whole.iter().enumerate() {
            let first_round = event.position.reached() == middle;
            let rest: Vec<_> = whole[place + 1..].to_vec();
            let position: Position = event.position.to_string().parse().expect("a position");
            inside += usize::from(position.within.is_some());
            // Of the round that it broke off in the rest comes as it was; all after that is one step to now.
            let again = missed(&world, scope, filter, &position).await;
            let of_round = if first_round {
                rest.iter().filter(|event| event.position.reached() == middle).count()
            } else {
                rest.len()
            };
            assert_eq!(again[..of_round], rest[..of_round], "after {position}");
            assert_eq!(again[of_round..], rest[of_round..], "after {position}");
        }
    }
    assert!(inside > 5, "few rounds had several events: {inside}");
}

#[tokio::test]
async fn what_a_stream_says_one_by_one_leads_to_the_list() {
    let world = World::new(small_history());
    let filter = EnvironmentFilter::default();
    for scope in scopes() {
        let offsets: Vec<_> = (0..=world.head().get()).map(Offset::new).collect();
        let mut held = std::collections::BTreeMap::new();
        for event in step_by_step(&world, &scope, &filter, &offsets).await {
            let told: strandline_protocol::WatchedEnvironment =
                serde_json::from_str(&event.data).expect("the documented shape");
            match told.environment {
                None => assert!(held.remove(&told.id).is_some() && event.name == "leave", "{event:?}"),
                Some(environment) => {
                    let before = held.insert(told.id, environment.clone());
                    let expected = match before {
                        None => "enter",
                        Some(before) if before.health.state != environment.health.state => "health",
                        Some(before) => {
                            assert_ne!(before, environment, "nothing changed: {event:?}");
                            "change"
                        }
                    };
                    assert_eq!(event.name, expected);
                }
            }
        }
        let now = listing::read(&world.queries, &scope, &filter, At::Now).await.expect("a list");
        let now: std::collections::BTreeMap<_, _> = now.into_iter().map(|(id, (_, one))| (id, one)).collect();
        assert_eq!(held, now);
    }
}

#[tokio::test]
async fn who_watches_the_same_shares_one_list_and_is_reset_when_too_slow() {
    let mut events = small_history();
    let later = events.split_off(events.len() / 2);
    let mut world = World::new(events);
    let (watch, filter, scope) =
        (Watch::new(CancellationToken::new()), EnvironmentFilter::default(), Scope::everything());
    let join = async || watch.join(&world.queries, &scope, &filter, None).await.expect("a stream");
    let (mut prompt, mut slow) = (join().await, join().await);
    let other = watch.join(&world.queries, &Scope::projects(["shop/web".to_owned()]), &filter, None).await;
    let begin = prompt.reached;
    assert_eq!((watch.watched().len(), slow.reached, prompt.missed.len()), (2, begin, 0));
    drop(other);
    assert_eq!(watch.watched().len(), 1, "a list that nobody watches is let go");
    let (mut seen, mut offsets) = (Vec::new(), vec![begin]);
    let feed = watch.watched().remove(0);
    for event in later {
        world.go_on([event]);
        let before = feed.reached();
        feed.advance(&world.queries).await.expect("the list is read");
        offsets.push(feed.reached());
        let (from, to) = (listing::read(&world.queries, &scope, &filter, At::Offset(before)), feed.known());
        if listing::digest(&from.await.expect("a list")) != *to.await.1 {
            seen.extend(prompt.next().await.expect("a round").iter().cloned());
        }
    }
    assert_eq!(seen, step_by_step(&world, &scope, &filter, &offsets).await);
    prompt.catch_up();
    assert_eq!(prompt.reached, world.head(), "a bookmark is where the list was read last");
    let rounds: std::collections::BTreeSet<_> = seen.iter().map(|event| event.position.reached()).collect();
    for round in &rounds {
        match slow.next().await {
            Ok(_) => assert!(rounds.len() <= feed::ROUNDS_KEPT, "{round}"),
            Err(ended) => {
                assert_eq!(ended, Ended::TooSlow);
                assert!(rounds.len() > feed::ROUNDS_KEPT);
                break;
            }
        }
    }
}
