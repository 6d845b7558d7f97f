//! Coverage: which states concern an environment.

use super::*;
use crate::model::{CoverageState, Kind};

/// Covers a kind of a cluster like this from here on.
fn cover(cluster: &str, group: &str, kind: &str, state: CoverageState) -> Event {
    Event::Cover { cluster: cluster.into(), kind: Kind::new(group, kind), state }
}

#[test]
fn only_what_concerns_an_environment_makes_it_unknown() {
    use CoverageState::{Excluded, Gap, Watched};
    let pod = Thing { app: "web".into(), ..Thing::pod("east", "shop", "web") };
    let (id, scope) = (EnvironmentId::of("shop/web", "production"), Scope::everything());
    // What is covered how; whether the environment is Unknown then; and which gaps its answer names.
    let cases: [(Event, bool, &[&str]); 6] = [
        (cover("east", "", "Pod", Watched), false, &[]),
        (cover("east", "", "Pod", Excluded), false, &[]),
        (cover("east", "metrics.k8s.io", "", Gap), false, &["metrics.k8s.io/"]),
        (cover("east", "", "Secret", Gap), false, &["/Secret"]),
        (cover("east", "", "Pod", Gap), true, &["/Pod"]),
        (cover("east", "", "", Gap), true, &["/"]),
    ];
    for (covered, unknown, named) in cases {
        let told = format!("{covered:?}");
        let world = World::new([Event::Declare(environments()), Event::Apply(pod.clone()), covered]);
        let answer = block_on(world.queries.environment(&scope, At::Now, &id)).unwrap();
        assert_eq!(answer.value.health.state == Some(Health::Unknown), unknown, "{told}");
        let coverage = answer.metadata.coverage;
        let gaps: Vec<_> = coverage.gaps.iter().map(|gap| format!("{}/{}", gap.group, gap.kind)).collect();
        assert_eq!(gaps, named, "{told}");
        assert_eq!(coverage.complete, named.is_empty(), "{told}");
    }
}
