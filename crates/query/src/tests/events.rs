//! What Events said, of what was there and of what is gone.

use super::*;

/// Reason and count of what is told to a scope of an environment, the newest first.
fn told(world: &World, at: At, project: &str, name: &str) -> Vec<(String, String, u64)> {
    let (scope, id) = (Scope::projects([project.to_owned()]), EnvironmentId::of(project, name));
    let any = &EventFilter::default();
    let page =
        block_on(world.queries.ask(&scope, at, ListEnvironmentEvents::new(&id, any, &whole()))).unwrap();
    page.items.into_iter().map(|event| (event.key.name, event.reason, event.count)).collect()
}

fn lines(expected: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    expected.iter().map(|(name, reason, count)| ((*name).to_owned(), (*reason).to_owned(), *count)).collect()
}

#[test]
fn an_environment_tells_of_what_is_gone_and_of_what_left_until_then() {
    let world = World::new(small_history());
    let web = [("mover", "BackOff", 3), ("web-0", "Killing", 1), ("web-0", "Scheduled", 1)];
    assert_eq!(told(&world, At::Now, "shop/web", "production"), lines(&web));
    let db = [
        ("mover", "Killing", 1),
        ("mover", "BackOff", 8),
        ("db-0", "Created", 1),
        ("db-1", "Pulled", 1),
        ("db-1", "Pulled", 1),
        ("db-0", "BackOff", 5),
    ];
    assert_eq!(told(&world, At::Now, "shop/db", "production"), lines(&db));
}

#[test]
fn the_past_knows_nothing_of_later_counts() {
    let world = World::new(small_history());
    let first = At::Time(World::time(
        small_history().iter().position(|step| matches!(step, Event::Delete(_))).unwrap() + 1,
    ));
    assert_eq!(told(&world, first, "shop/db", "production"), lines(&[("db-0", "BackOff", 2)]));
    let web = lines(&[("web-0", "Scheduled", 1)]);
    assert_eq!(
        told(&world, first, "shop/web", "production"),
        web,
        "said before it was there, told after its end"
    );
}

#[test]
fn a_name_means_whoever_carries_it_in_that_cluster_only() {
    let about =
        |cluster: &str| Thing { uid: format!("{cluster}-uid"), ..Thing::pod(cluster, "tools", "same") };
    let by_name = Remark { about: about("east"), reason: "Pulled", count: 1, by_name: true };
    let things = [Event::Say(by_name), Event::Apply(about("east")), Event::Apply(about("west"))];
    let other = Event::Apply(Thing { uid: "third".into(), ..about("east").of("v1", "Secret") });
    let world = World::new(things.into_iter().chain([other]));
    let (all, any) = (&Scope::everything(), &EventFilter::default());
    for (uid, expected) in [("east-uid", 1), ("west-uid", 0), ("third", 0)] {
        let (uid, page) = (Uid::new(uid), whole());
        let found =
            block_on(world.queries.ask(all, At::Now, ListResourceEvents::new(&uid, None, any, &page)))
                .unwrap();
        assert_eq!(found.items.len(), expected, "{uid:?}");
    }
}
