//! Why an environment may show less than people expect.

use super::*;
use strandline_model::{CoverageState, Kind};

/// The codes of the warnings of `shop/web:production`, which looks at one cluster, after these events.
fn told(events: Vec<Event>) -> Vec<String> {
    let world = World::new(events);
    let id = EnvironmentId::of("shop/web", "production");
    let found = block_on(world.queries.ask(&Scope::everything(), At::Now, GetEnvironment::new(&id))).unwrap();
    found.value.warnings.into_iter().map(|warning| warning.code).collect()
}

#[test]
fn of_a_cluster_that_nobody_can_see_it_is_never_said_that_nothing_is_there() {
    let declared =
        |targets: &[(&str, &str, &str)]| Event::Declare(vec![environment("shop/web", "production", targets)]);
    let one = || declared(&[("east", "shop", "web")]);
    let reached = || [mark("east", "", "", false), mark("east", "Pod", "", false)];
    let pod = Thing { app: "web".into(), ..Thing::pod("east", "shop", "web-0") };
    let excluded = Event::Cover {
        cluster: "east".into(),
        kind: Kind::new("", "Secret"),
        state: CoverageState::Excluded,
    };

    let empty = vec![one(), reached()[0].clone(), reached()[1].clone()];
    assert_eq!(told(empty.clone()), ["no_resources"], "all of it is watched, and it is empty");
    assert_eq!(told([empty.clone(), vec![excluded]].concat()), ["no_resources"]);

    let unreachable = mark("east", "", "", true);
    assert_eq!(told(vec![one(), unreachable.clone()]), ["not_watched"], "from the beginning");
    assert_eq!(told(vec![unreachable.clone(), one()]), ["not_watched"], "before there was an environment");
    let lost = [empty.clone(), vec![unreachable.clone()]].concat();
    assert_eq!(told(lost.clone()), ["not_watched"], "from some time on");
    assert_eq!(told([lost, reached().to_vec()].concat()), ["no_resources"], "until it is seen again");
    let gone = vec![Event::Apply(pod.clone()), Event::Delete(pod.clone()), unreachable.clone()];
    assert_eq!(told([empty.clone(), gone].concat()), ["not_watched"], "what it held before is gone");
    let held = vec![Event::Apply(pod), unreachable];
    assert_eq!(told([empty, held].concat()), [""; 0], "what it holds is told, as Unknown");

    let two = declared(&[("east", "shop", "web"), ("west", "shop", "web")]);
    let half = vec![two, mark("west", "", "", false), mark("east", "", "", true)];
    assert_eq!(told(half), ["not_watched"], "one of its clusters is enough");
}
