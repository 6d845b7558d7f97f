//! What is kept of environments in memory, held against what the view says of the same offset later.

use std::sync::Arc;

use proptest::prelude::*;

use super::overview::{history, question};
use super::*;
use crate::standings::{Standing, Standings};
use strandline_gitlab::Membership;
use strandline_model::HealthCounts;
use strandline_view::RecentChanges;

/// A Pod of the small history's environments, that is well or ill.
fn pod(namespace: &str, health: usize) -> Event {
    Event::Apply(Thing { health, app: "web".into(), ..Thing::pod("east", namespace, "web") })
}

fn kept(world: &World, standings: &Standings) -> Arc<Vec<Standing>> {
    standings.at(&world.view(), world.head(), world.head()).unwrap()
}

fn resources(all: &[Standing]) -> Vec<HealthCounts> {
    all.iter().map(Standing::resources).collect()
}

/// The ids of those that were read once for both.
fn untouched(before: &[Standing], after: &[Standing]) -> Vec<String> {
    let same = |one: &&Standing| before.iter().any(|other| Arc::ptr_eq(&one.id, &other.id));
    after.iter().filter(same).map(|one| one.id.to_string()).collect()
}

/// An overview, with environments one by one in some order or without, and who asks for it.
fn request() -> impl Strategy<Value = (Scope, GetOverview)> {
    let scopes = [
        Scope::everything(),
        Scope::members(Membership::new([""; 0], ["shop"])),
        Scope::members(Membership::new(["shop/web"], ["ops"])),
    ];
    let orders =
        [OverviewOrder::Attention, OverviewOrder::Name, OverviewOrder::Since, OverviewOrder::Deployed];
    let rows = prop::sample::select(orders.to_vec()).prop_map(|order| OverviewRows { order, page: whole() });
    (prop::sample::select(scopes.to_vec()), question(), prop::option::of(rows))
        .prop_map(|(scope, question, environments)| (scope, GetOverview { environments, ..question }))
}

proptest! {
    #![proptest_config(strandline_testkit::cases(4))]

    #[test]
    fn what_is_kept_says_at_each_step_what_the_view_says_of_it_later(
        events in history(),
        requests in prop::collection::vec(request(), 4),
        rebuilt in any::<prop::sample::Index>(),
    ) {
        let mut world = World::new([]);
        let rebuilt = rebuilt.index(events.len());
        let ask = |world: &World, offset, (scope, request): &(Scope, GetOverview)| {
            block_on(world.queries.ask(scope, At::Offset(offset), request.clone())).unwrap().value
        };
        let mut told = Vec::new();
        for (step, event) in events.into_iter().enumerate() {
            world.go_on([event]);
            if step == rebuilt {
                world.rebuild();
            }
            let offset = world.head();
            told.extend(requests.iter().filter(|_| offset.get() > 0).map(|request| (offset, request, ask(&world, offset, request))));
        }
        world.go_on([Event::Nothing, pod("elsewhere", 0)]);
        for (offset, request, told) in told {
            prop_assert_eq!(told, ask(&world, offset, request), "{:?} at {}", request, offset);
        }
    }
}

#[test]
fn only_what_changed_is_read_again_and_what_is_declared_only_where_that_did() {
    let mut world = World::new(small_history());
    let standings = Standings::new(world.recent());
    let before = kept(&world, &standings);
    assert!(before.len() > 2, "several environments");
    world.go_on([pod("shop", 2)]);
    let after = kept(&world, &standings);
    assert_eq!(untouched(&before, &after).len(), before.len(), "nothing was declared");
    assert_ne!(resources(&before), resources(&after));
    assert!(Arc::ptr_eq(&after, &kept(&world, &standings)), "nothing happened");
    let mut declared = environments();
    for one in declared.iter_mut().filter(|one| one.id.as_str() == "shop.web.production") {
        one.labels.insert("team".into(), "other".into());
    }
    world.go_on([Event::Declare(declared)]);
    let again = kept(&world, &standings);
    let same = untouched(&after, &again);
    assert!(same.contains(&"shop.db.production".to_owned()), "{same:?}");
    assert!(!same.contains(&"shop.web.production".to_owned()), "{same:?}");
}

#[test]
fn what_changed_in_a_view_says_nothing_of_the_one_that_takes_its_place() {
    let mut world = World::new(small_history());
    let before = world.head();
    world.go_on([pod("shop", 2)]);
    assert!(world.recent().between(before, world.head()).is_some());
    world.rebuild();
    assert_eq!(world.recent().between(before, world.head()), None, "it may have other numbers");
}

#[test]
fn what_nobody_says_is_read_anew() {
    let mut world = World::new(small_history());
    let alone = Standings::new(&RecentChanges::default());
    let before = kept(&world, &alone);
    world.go_on([pod("shop", 2)]);
    let after = kept(&world, &alone);
    assert_eq!(untouched(&before, &after), [""; 0], "whoever writes the view does not say what changed");
    assert_eq!(resources(&kept(&world, &alone)), resources(&kept(&world, &Standings::default())));
}

#[test]
fn an_older_state_of_the_view_is_one_of_the_past() {
    let mut world = World::new(small_history());
    let standings = Standings::new(world.recent());
    let (old, offset) = (world.view(), world.head());
    old.execute_batch("BEGIN; SELECT count(*) FROM checkpoint").unwrap();
    let before = resources(&kept(&world, &Standings::default()));
    world.go_on([pod("shop", 2)]);
    let newest = kept(&world, &standings);
    assert_ne!(resources(&newest), before);
    assert_eq!(resources(&standings.at(&old, offset, offset).unwrap()), before);
    assert!(Arc::ptr_eq(&newest, &kept(&world, &standings)), "what is kept is not set back");
}

#[test]
fn a_moment_is_read_once_and_what_is_declared_as_it_is_now_not_at_all() {
    let mut world = World::new(small_history());
    let (standings, offset) = (Standings::new(world.recent()), world.head());
    world.go_on([pod("shop", 2)]);
    let newest = kept(&world, &standings);
    let then = standings.at(&world.view(), offset, world.head()).unwrap();
    assert_eq!(untouched(&newest, &then).len(), then.len(), "nothing was declared since");
    assert_ne!(resources(&newest), resources(&then));
    assert!(Arc::ptr_eq(&then, &standings.at(&world.view(), offset, world.head()).unwrap()));
}
