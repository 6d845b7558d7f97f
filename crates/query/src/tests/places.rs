//! What somebody sees who may read places: what looks at these alone.

use proptest::prelude::*;

use super::oracle::Eyes;
use super::scope::{PROJECTS, Two, events};
use super::*;

/// A cluster and a namespace, which is empty for all of the cluster.
type Place = (&'static str, &'static str);

/// Namespaces of clusters, and clusters.
const PLACES: [Place; 6] =
    [("east", "shop"), ("east", "tools"), ("west", "shop"), ("west", "tools"), ("east", ""), ("west", "")];

proptest! {
    #![proptest_config(strandline_testkit::cases(6))]

    #[test]
    fn who_may_read_places_sees_a_world_without_what_looks_elsewhere(
        events in events(),
        projects in prop::sample::subsequence(PROJECTS.to_vec(), 0..2),
        places in prop::sample::subsequence(PLACES.to_vec(), 1..4),
    ) {
        let two = Two::new(events, Eyes::of(&projects, &places));
        block_on(two.agree());
    }
}

#[test]
fn each_place_of_the_small_world_shows_what_looks_there_alone() {
    let seen: [(&[Place], &[&str]); 6] = [
        (&[("west", "stage")], &["shop.web.staging-us"]),
        (&[("east", "shop")], &["shop.web.production"]),
        (&[("east", "shop"), ("west", "shop")], &["shop.db.production", "shop.web.production"]),
        (&[("west", "")], &["ops.tools.us", "shop.web.staging-us"]),
        (&[("east", "stage"), ("north", "")], &[]),
        (&[], &[]),
    ];
    for (places, expected) in seen {
        let two = Two::new(small_history(), Eyes::of(&[], places));
        block_on(two.agree());
        let page = whole();
        let all = ListEnvironments::new(&EnvironmentFilter::default(), &page);
        let found = block_on(two.full.queries.ask(&two.scope, At::Now, all)).unwrap();
        let found: Vec<_> = found.items.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(found, expected, "{places:?}");
    }
}

#[test]
fn where_environments_look_is_told_to_the_server_alone_and_those_of_now_first() {
    let of = |namespace: &str| environment("shop/web", namespace, &[("east", namespace, "")]);
    let elsewhere = environment("shop/db", "production", &[("west", "other", "")]);
    let world = World::new([
        Event::Declare(vec![of("gone"), of("b"), elsewhere.clone()]),
        Event::Declare(vec![of("b"), of("c"), elsewhere]),
    ]);
    let ask = |scope: &Scope, limit: usize| {
        let question = ListTargetNamespaces { cluster: "east".to_owned(), limit };
        block_on(world.queries.ask(scope, At::Now, question)).unwrap()
    };
    assert_eq!(ask(&Scope::everything(), 10), ["b", "c", "gone"]);
    assert_eq!(ask(&Scope::everything(), 2), ["b", "c"]);
    assert_eq!(ask(&of_places(&[("east", "")]), 10), [""; 0]);
}

/// A scope of places alone.
fn of_places(places: &[(&str, &str)]) -> Scope {
    Eyes::of(&[], places).scope()
}

#[test]
fn where_an_environment_looked_decides_for_that_time_and_one_that_looks_nowhere_is_nobodys() {
    let of =
        |targets: &[(&str, &str, &str)]| Event::Declare(vec![environment("shop/web", "production", targets)]);
    let (here, there) = (("east", "shop", ""), ("west", "tools", ""));
    let world = World::new([of(&[here]), of(&[here, there]), of(&[there]), of(&[])]);
    let sees = |places: &[(&str, &str)]| -> Vec<bool> {
        let scope = of_places(places);
        let id = EnvironmentId::of("shop/web", "production");
        let found = |head: &Offset| {
            block_on(world.queries.ask(&scope, At::Offset(*head), GetEnvironment::new(&id))).is_ok()
        };
        world.heads[1..].iter().map(found).collect()
    };
    assert_eq!(sees(&[("east", "shop")]), [true, false, false, false]);
    assert_eq!(sees(&[("west", "tools")]), [false, false, true, false]);
    assert_eq!(sees(&[("east", "shop"), ("west", "tools")]), [true, true, true, false]);
    assert_eq!(sees(&[("east", ""), ("west", "")]), [true, true, true, false]);
    assert_eq!(sees(&[("east", "tools"), ("west", "shop")]), [false; 4]);
}
