use super::*;
use crate::app::watch::event::round;
use crate::http::problem::ProblemCode;
use strandline_model::{EnvironmentFilter, EnvironmentId, Tier};
use strandline_query::ResourceFilter;
use strandline_query::testing::{World, small_history};

/// What a stream from a position says of a list up to now, each event with its data; of another run of the server, as it were.
async fn missed(world: &World, scope: &Scope, list: &WatchedList, from: &Position) -> Vec<WatchEvent> {
    let watch = Watch::new(CancellationToken::new());
    let joined = watch.join(&world.queries, scope, list, Some(from)).await;
    joined.unwrap_or_else(|problem| panic!("{from}: {problem:?}")).missed.to_vec()
}

/// The events between each two of these offsets, one after the other.
async fn step_by_step(
    world: &World,
    scope: &Scope,
    list: &WatchedList,
    offsets: &[Offset],
) -> Vec<WatchEvent> {
    let read = async |at: Offset| {
        list::read_past(&world.queries, scope, list, At::Offset(at)).await.expect("a list")
    };
    let mut events = Vec::new();
    for pair in offsets.windows(2) {
        let before = list::digest(&read(pair[0]).await);
        let step = round(&before, &read(pair[1]).await, pair[0], pair[1]).expect("a round");
        events.extend(step.events.iter().cloned());
    }
    events
}

fn scopes() -> [Scope; 3] {
    let of = |path: &str| Scope::projects([path.to_owned()]);
    [Scope::everything(), of("shop/web"), of("nobody/nothing")]
}

fn environments() -> WatchedList {
    WatchedList::Environments(EnvironmentFilter::default())
}

/// Who watches, and what they may watch.
fn watched() -> Vec<(Scope, WatchedList)> {
    let production = EnvironmentFilter { tiers: vec![Tier::Production], ..EnvironmentFilter::default() };
    let resources = |id: &str, filter| WatchedList::Resources(EnvironmentId::new(id), filter);
    let pods = ResourceFilter { kinds: vec!["po".parse().expect("a kind")], ..ResourceFilter::default() };
    let mut all = Vec::new();
    for (number, scope) in scopes().into_iter().enumerate() {
        all.push((scope.clone(), environments()));
        all.push((scope.clone(), WatchedList::Environments(production.clone())));
        if number < 2 {
            all.push((scope.clone(), resources("shop.web.production", ResourceFilter::default())));
            all.push((scope, resources("shop.web.production", pods.clone())));
        }
    }
    // Of two clusters.
    all.push((Scope::everything(), resources("shop.db.production", ResourceFilter::default())));
    all
}

#[tokio::test]
async fn a_stream_that_broke_off_anywhere_goes_on_with_what_it_had_not_sent() {
    let world = World::new(small_history());
    let mut inside = 0;
    for (scope, list) in &watched() {
        let head = world.head();
        let middle = Offset::new(head.get() / 2);
        let whole = step_by_step(&world, scope, list, &[Offset::ZERO, middle, head]).await;
        for (place, event) in whole.iter().enumerate() {
            let first_round = event.position.reached() == middle;
            let rest: Vec<_> = whole[place + 1..].to_vec();
            let position: Position = event.position.to_string().parse().expect("a position");
            inside += usize::from(position.within.is_some());
            // Of the round that it broke off in the rest comes as it was; all after that is one step to now.
            let again = missed(&world, scope, list, &position).await;
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
    let mut seen = std::collections::BTreeSet::new();
    for (scope, list) in watched() {
        let offsets: Vec<_> = (0..=world.head().get()).map(Offset::new).collect();
        let mut held = std::collections::BTreeMap::new();
        for event in step_by_step(&world, &scope, &list, &offsets).await {
            let said: serde_json::Value = serde_json::from_str(&event.data).expect("JSON");
            let key = (said["id"].to_string(), said["cluster"].to_string());
            let item = said.get("environment").or(said.get("resource"));
            seen.insert((matches!(event.key, list::Key::Resource(..)), event.name));
            let Some(item) = item else {
                assert!(held.remove(&key).is_some() && event.name == "leave", "{event:?}");
                continue;
            };
            let health =
                |item: &serde_json::Value| item["health"].get("state").unwrap_or(&item["health"]).clone();
            let expected = match held.insert(key, item.clone()) {
                None => "enter",
                Some(before) if health(&before) != health(item) => {
                    assert_eq!(
                        said.get("was").unwrap_or(&serde_json::Value::Null),
                        &health(&before),
                        "{event:?}"
                    );
                    "health"
                }
                Some(before) => {
                    assert_ne!(&before, item, "nothing changed: {event:?}");
                    "change"
                }
            };
            assert_eq!(event.name, expected);
        }
        let now = list::read(&world.queries, &scope, &list, At::Now).await.expect("a list");
        let now: Vec<_> = now.values().map(|(_, item)| serde_json::to_value(item).expect("JSON")).collect();
        let mut held: Vec<_> = held.into_values().collect();
        held.sort_by_key(|item| now.iter().position(|one| one == item));
        assert_eq!(held, now, "{list:?}");
    }
    let expected = [(false, "change"), (false, "health"), (true, "enter"), (true, "health"), (true, "leave")];
    assert!(expected.iter().all(|one| seen.contains(one)), "not all that can be said is: {seen:?}");
}

#[tokio::test]
async fn resources_of_what_nobody_may_see_are_not_found_and_those_of_what_goes_end_the_stream() {
    let (watch, everything) = (Watch::new(CancellationToken::new()), Scope::everything());
    let mut events = small_history();
    let last = events.split_off(events.len() - 1);
    let mut world = World::new(events);
    let list = |id: &str| WatchedList::Resources(EnvironmentId::new(id), ResourceFilter::default());
    let development = list("ops.tools.development");
    let refused = async |world: &World, scope: &Scope, list: &WatchedList| {
        watch.join(&world.queries, scope, list, None).await.err().map(|problem| problem.code)
    };
    let others = Scope::projects(["shop/web".to_owned()]);
    assert_eq!(refused(&world, &everything, &list("nobody")).await, Some(ProblemCode::NotFound));
    assert_eq!(refused(&world, &others, &development).await, Some(ProblemCode::NotFound));
    let mut stream = watch.join(&world.queries, &everything, &development, None).await.expect("a stream");
    assert_eq!(watch.watched().len(), 1, "nothing is kept of what was refused");
    // Its environment is declared no more.
    world.go_on(last);
    let problem = watch.watched().remove(0).advance(&world.queries).await.err().map(|problem| problem.code);
    assert_eq!(problem, Some(ProblemCode::NotFound));
    assert_eq!(stream.next().await.err(), Some(Ended::Closed));
    assert_eq!(watch.watched().len(), 0);
    assert_eq!(refused(&world, &everything, &development).await, Some(ProblemCode::NotFound));
}

#[tokio::test]
async fn who_watches_the_same_shares_one_list_and_is_reset_when_too_slow() {
    let mut events = small_history();
    let later = events.split_off(events.len() / 2);
    let mut world = World::new(events);
    let (watch, list, scope) = (Watch::new(CancellationToken::new()), environments(), Scope::everything());
    let join = async || watch.join(&world.queries, &scope, &list, None).await.expect("a stream");
    let (mut prompt, mut slow) = (join().await, join().await);
    let other = watch.join(&world.queries, &Scope::projects(["shop/web".to_owned()]), &list, None).await;
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
        let (from, to) = (list::read(&world.queries, &scope, &list, At::Offset(before)), feed.known());
        if list::digest(&from.await.expect("a list")) != *to.await.1 {
            seen.extend(prompt.next().await.expect("a round").iter().cloned());
        }
    }
    assert_eq!(seen, step_by_step(&world, &scope, &list, &offsets).await);
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

#[tokio::test(start_paused = true)]
async fn a_list_that_rests_is_read_again_later() {
    let feed = Feed::new(&Scope::everything(), &environments());
    assert!(!feed.is_resting());
    feed.rest(RETRY);
    assert!(feed.is_resting());
    tokio::time::advance(RETRY).await;
    assert!(!feed.is_resting());
}
