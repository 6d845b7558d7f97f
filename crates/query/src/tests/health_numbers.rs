//! The health of environments in numbers, against the list of environments.

use super::*;

#[test]
fn numbers_of_health_are_those_of_the_list_and_name_production_first() {
    let declare = |name: &str, tier: Tier, region: &str, state: EnvironmentState| EnvironmentSpec {
        tier,
        region: region.into(),
        state,
        ..environment("shop/web", name, &[("east", name, "")])
    };
    let in_use = EnvironmentState::Available;
    let declared = vec![
        declare("dev", Tier::Development, "eu", in_use),
        declare("live", Tier::Production, "eu", in_use),
        declare("new", Tier::Production, "eu", in_use),
        declare("test", Tier::Testing, "", in_use),
        declare("old", Tier::Production, "eu", EnvironmentState::Stopped),
    ];
    let degraded = Thing { health: 4, ..Thing::pod("east", "live", "web-0") };
    let world = World::new([Event::Nothing, Event::Declare(declared), Event::Apply(degraded)]);
    let ask = |environments_max, groups_max, at| {
        let question = CountHealth { environments_max, groups_max };
        block_on(world.queries.ask(&Scope::everything(), at, question)).unwrap()
    };
    let all = ask(10, 10, At::Now);
    let page = block_on(world.queries.ask(
        &Scope::everything(),
        At::Now,
        ListEnvironments { filter: EnvironmentFilter::default().in_use_by_default(), page: whole() },
    ));
    let listed = page.unwrap().items;
    let named: Vec<_> = all.environments.iter().map(|one| (one.id.as_str(), one.tier.as_str())).collect();
    let expected = [
        ("shop.web.live", "production"),
        ("shop.web.new", "production"),
        ("shop.web.test", "testing"),
        ("shop.web.dev", "development"),
    ];
    assert_eq!(named, expected);
    for one in &all.environments {
        let same = listed.iter().find(|listed| listed.id.as_str() == one.id).unwrap();
        assert_eq!((one.health, &one.region), (same.health.state, &same.region), "{}", one.id);
    }
    assert_eq!((all.environments_left_out, all.groups_left_out), (0, 0));
    let counts = |tier: &str, region: &str| {
        let group = all.groups.iter().find(|group| group.tier == tier && group.region == region);
        group.map(|group| (group.counts.total(), group.counts.degraded))
    };
    assert_eq!(
        counts("production", "eu"),
        Some((2, u64::from(listed[1].health.state == Some(Health::Degraded))))
    );
    assert_eq!(counts("testing", &listed[3].region), Some((1, 0)));
    let mut states = all.states.clone();
    states.sort();
    assert_eq!(states, [("available".to_owned(), 4), ("stopped".to_owned(), 1)]);
    let some = ask(1, 1, At::Now);
    assert_eq!((some.environments.len(), some.environments_left_out), (1, 3));
    assert_eq!((some.groups.len(), some.groups_left_out), (1, 2));
    let nobody = CountHealth { environments_max: 10, groups_max: 10 };
    let nobody = block_on(world.queries.ask(&Scope::projects([]), At::Now, nobody)).unwrap();
    assert_eq!((nobody.environments, nobody.groups), (vec![], vec![]));
}
