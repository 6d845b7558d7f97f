//! Coverage: states and their reach, now and the past, filters, and what a scope is told. Whether it is right at every
//! offset for who sees everything is a property test of the projection.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::scope::events;
use super::*;
use strandline_model::{CoverageState, Kind, Offset, WatchKey};

/// Covers a kind of a cluster like this from here on.
fn cover(cluster: &str, group: &str, kind: &str, state: CoverageState) -> Event {
    Event::Cover { cluster: cluster.into(), kind: Kind::new(group, kind), state }
}

async fn all(world: &World, scope: &Scope, at: At) -> Vec<WatchCoverage> {
    world.queries.ask(scope, at, ListCoverage::new(&CoverageFilter::default(), &whole())).await.unwrap().items
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
        let answer = block_on(world.queries.ask(&scope, At::Now, GetEnvironment::new(&id))).unwrap();
        assert_eq!(answer.value.health.state == Some(Health::Unknown), unknown, "{told}");
        let coverage = answer.metadata.coverage;
        let gaps: Vec<_> = coverage.gaps.iter().map(|gap| format!("{}/{}", gap.group, gap.kind)).collect();
        assert_eq!(gaps, named, "{told}");
        assert_eq!(coverage.complete, named.is_empty(), "{told}");
    }
}

#[test]
fn a_cluster_that_is_withdrawn_is_nobodys_gap() {
    let gap = cover("west", "", "Pod", CoverageState::Gap);
    let mut world = World::new([Event::Declare(environments()), gap]);
    let gaps = |world: &World, at| {
        let clusters =
            block_on(world.queries.ask(&Scope::everything(), at, ListClusters::new(&whole()))).unwrap();
        clusters.metadata.snapshot.coverage.gaps.len()
    };
    assert_eq!(gaps(&world, At::Now), 1);
    let before = world.heads[2];
    world.go_on([Event::Declare(Vec::new())]);
    assert_eq!(gaps(&world, At::Now), 0);
    assert_eq!(gaps(&world, At::Offset(before)), 1, "it was one then");
}

#[test]
fn a_watch_of_its_namespace_stands_in_for_one_of_the_whole_cluster() {
    let pod = Thing { app: "web".into(), ..Thing::pod("east", "shop", "web") };
    let (id, scope) = (EnvironmentId::of("shop/web", "production"), Scope::everything());
    let mut world = World::new([Event::Declare(environments()), Event::Apply(pod)]);
    let state = |world: &World| {
        let answer = block_on(world.queries.ask(&scope, At::Now, GetEnvironment::new(&id))).unwrap();
        (answer.value.health.state == Some(Health::Unknown), answer.metadata.coverage.complete)
    };
    let steps = [
        (mark("east", "Pod", "", true), (true, false)),
        (mark("east", "Pod", "bank", false), (true, false)),
        (mark("east", "Pod", "shop", false), (false, true)),
        (mark("east", "Pod", "shop", true), (true, false)),
        (mark("east", "Pod", "", false), (true, false)),
        (mark("east", "Pod", "shop", false), (false, true)),
    ];
    for (step, expected) in steps {
        let told = format!("{step:?}");
        world.go_on([step]);
        assert_eq!(state(&world), expected, "{told}");
    }
}

#[test]
fn only_now_tells_when_the_cluster_was_last_heard_of() {
    use CoverageState::{Gap, Watched};
    let pod = Thing::pod("east", "shop", "web");
    let watched = [Event::Declare(environments()), cover("east", "", "Pod", Watched), Event::Apply(pod)];
    let mut world = World::new(watched.into_iter().chain([Event::Nothing, Event::Nothing]));
    let scope = Scope::everything();
    let heard = |world: &World, at| {
        let items = block_on(all(world, &scope, at));
        let pods = items.iter().filter(|item| item.watch.kind.kind == "Pod");
        pods.map(|item| (item.last_seen, item.lag_ms)).collect::<Vec<_>>()
    };
    assert_eq!(heard(&world, At::Now), [(Some(World::time(3)), Some(120_000))]);
    assert_eq!(heard(&world, At::Offset(world.heads[5])), [(None, None)], "the same offset, but not as now");
    world.go_on([cover("east", "", "Pod", Gap)]);
    assert_eq!(heard(&world, At::Now), [(Some(World::time(3)), None)], "what is not watched has no lag");
}

#[test]
fn later_pages_are_of_now_where_the_first_was() {
    let (world, scope, filter) =
        (World::new(small_history()), Scope::everything(), CoverageFilter::default());
    let second = |at| {
        let mut page = PageRequest { limit: 1, after: None };
        block_on(async {
            page.after =
                world.queries.ask(&scope, at, ListCoverage::new(&filter, &page)).await.unwrap().metadata.next;
            page.limit = PageRequest::MAX;
            world.queries.ask(&scope, At::Now, ListCoverage::new(&filter, &page)).await.unwrap().items
        })
    };
    assert!(second(At::Now).iter().any(|item| item.last_seen.is_some()));
    let past = second(At::Offset(world.heads[world.last()]));
    assert!(!past.is_empty() && past.iter().all(|item| item.last_seen.is_none()), "{past:?}");
}

#[test]
fn a_gap_lasts_until_the_next_mark() {
    use CoverageState::{Gap, Watched};
    let marks = [Watched, Gap, Watched].map(|state| cover("east", "apps", "Deployment", state));
    let world = World::new([Event::Declare(environments())].into_iter().chain(marks));
    let gap = |step: usize| {
        let items = block_on(all(&world, &Scope::everything(), At::Offset(world.heads[step])));
        let item = items.iter().find(|item| item.watch.kind.kind == "Deployment").unwrap().clone();
        (item.state, item.since, item.last_error.map(|gap| (gap.since, gap.until)))
    };
    let [_, _, watched, broken, mended] = [0, 1, 2, 3, 4].map(World::time);
    assert_eq!(gap(2), (Watched, watched, None));
    assert_eq!(gap(3), (Gap, broken, Some((broken, None))));
    assert_eq!(gap(4), (Watched, mended, Some((broken, Some(mended)))));
}

#[test]
fn coverage_is_filtered_as_in_memory() {
    use CoverageState::{Excluded, Gap, Watched};
    let more = [
        cover("east", "apps", "Deployment", Excluded),
        cover("west", "apps", "Deployment", Watched),
        cover("west", "metrics.k8s.io", "", Gap),
    ];
    let (world, scope) = (World::new(small_history().into_iter().chain(more)), Scope::everything());
    let everything = block_on(all(&world, &scope, At::Now));
    assert!(CoverageState::ALL.iter().all(|state| everything.iter().any(|item| item.state == *state)));
    let kinds: [&[&str]; 5] =
        [&[], &["po"], &["Deployment"], &["deployments.APPS", "Secret"], &["Deployment.batch"]];
    for clusters in [&[][..], &["east"], &["east", "west"], &["north"]] {
        for kinds in kinds {
            for states in [&[][..], &[Gap], &[Watched, Excluded]] {
                let filter = CoverageFilter {
                    clusters: clusters.iter().map(|&cluster| cluster.to_owned()).collect(),
                    kinds: kinds.iter().map(|kind| kind.parse().unwrap()).collect(),
                    states: states.to_vec(),
                };
                let page = block_on(world.queries.ask(&scope, At::Now, ListCoverage::new(&filter, &whole())))
                    .unwrap();
                let naive = everything.iter().filter(|item| {
                    let is_meant = filter.kinds.iter().any(|name| name.means(&item.watch.kind));
                    (clusters.is_empty() || clusters.contains(&item.watch.cluster.as_str()))
                        && (kinds.is_empty() || is_meant)
                        && (states.is_empty() || states.contains(&item.state))
                });
                assert_eq!(page.items, naive.cloned().collect::<Vec<_>>(), "{filter:?}");
            }
        }
    }
}

/// Kind, namespace and the newest change of all that a scope is told of, by cluster and uid; and which is there.
#[derive(Default)]
struct Oracle {
    changed: BTreeMap<(String, String), (Kind, String, Offset)>,
    there: BTreeSet<(String, String)>,
}

impl Oracle {
    /// Asks every other question there is.
    async fn of(world: &World, scope: &Scope, at: At) -> Self {
        let (queries, mut sight) = (&world.queries, Oracle::default());
        let environments =
            queries.ask(scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole())).await;
        for environment in environments.unwrap().items {
            let every = ResourceFilter::default();
            let held = queries
                .ask(scope, at, ListEnvironmentResources::new(&environment.id, &every, &whole()))
                .await;
            let names =
                held.unwrap().items.into_iter().map(|item| (item.key.cluster, item.id.as_str().into()));
            sight.there.extend(names);
        }
        let things = small_history().into_iter().filter_map(|event| match event {
            Event::Apply(thing) => Some(thing),
            _ => None,
        });
        for thing in things {
            let (uid, cluster) = (Uid::new(thing.uid.as_str()), Some(thing.cluster.as_str()));
            let history =
                queries.ask(scope, at, ListResourceVersions::new(&uid, cluster, false, &whole())).await;
            let newest = history.ok().and_then(|page| Some(page.items.first()?.offset));
            let kind = Kind::from_api_version(&thing.api_version, &thing.kind);
            if let Some(newest) = newest {
                sight.changed.insert((thing.cluster, thing.uid), (kind, thing.namespace, newest));
            }
        }
        sight
    }

    /// How many are there of what a watch follows, and when one of them changed last.
    fn told(&self, watch: &WatchKey) -> (u64, Option<Offset>) {
        let followed = self.changed.iter().filter(|((cluster, _), (kind, namespace, _))| {
            (cluster, kind) == (&watch.cluster, &watch.kind)
                && (watch.namespace.is_empty() || *namespace == watch.namespace)
        });
        let there = followed.clone().filter(|(name, _)| self.there.contains(*name)).count();
        (there as u64, followed.map(|(_, (.., offset))| *offset).max())
    }
}

#[test]
fn a_scope_is_told_only_of_its_places_and_counts_only_what_it_sees() {
    let world = World::new(small_history());
    let places =
        [("shop/web", vec!["east/", "east/ConfigMap", "east/Pod", "west/", "west/Pod"]), ("nobody", vec![])];
    for (project, expected) in places {
        let items = block_on(all(&world, &Scope::projects([project.to_owned()]), At::Now));
        let keys: Vec<_> = items.iter().map(|item| item.watch.to_string()).collect();
        assert_eq!(keys, expected, "{project}: neither Secret nor Event, which are watched in tools only");
    }
    let mut counts = BTreeSet::new();
    for project in ["shop/web", "shop/db", "ops/tools"] {
        let scope = Scope::projects([project.to_owned()]);
        for step in world.last() - 16..=world.last() {
            let at = At::Offset(world.heads[step]);
            let (items, sight) =
                block_on(async { (all(&world, &scope, at).await, Oracle::of(&world, &scope, at).await) });
            for item in items {
                let told = (item.resources, item.last_change.map(|change| change.offset));
                assert_eq!(told, sight.told(&item.watch), "{project} after step {step}: {}", item.watch);
                counts.insert(item.resources);
            }
        }
    }
    assert!(counts.len() > 3, "the world holds several counts: {counts:?}");
}

proptest! {
    #![proptest_config(strandline_testkit::cases(8))]

    /// What is counted of now is found in the past, where all is looked through one by one: after each step a scope is told what it is
    /// told of that offset later.
    #[test]
    fn what_is_counted_for_a_scope_is_found_one_by_one(events in events()) {
        let scopes = [vec!["shop/web"], vec!["shop/db"], vec!["ops/tools", "shop/web"]]
            .map(|projects| Scope::projects(projects.into_iter().map(str::to_owned)));
        let told = |world: &World, at| scopes.each_ref().map(|scope| {
            let items = block_on(all(world, scope, at));
            let one = |item: WatchCoverage| {
                (item.watch.to_string(), item.resources, item.last_change.map(|change| change.offset))
            };
            items.into_iter().map(one).collect::<Vec<_>>()
        });
        let mut world = World::new([]);
        let mut counted = Vec::new();
        for event in events {
            world.go_on([event]);
            counted.push((world.heads[world.last()], told(&world, At::Now)));
        }
        world.go_on([Event::Declare(Vec::new())]);
        for (offset, counted) in counted {
            let found = told(&world, At::Offset(offset));
            prop_assert_eq!(counted, found, "at {}", offset);
        }
    }
}

#[test]
fn an_environment_that_went_to_others_tells_no_gap_of_where_it_is_now() {
    let moved = |project| EnvironmentSpec {
        id: EnvironmentId::new(super::scope::MOVED),
        ..environment(project, "moved", &[("east", "shop", "")])
    };
    let stays = environment("shop/web", "stays", &[("east", "shop", "web")]);
    let world = World::new([
        Event::Declare(vec![moved("shop/web"), stays.clone()]),
        Event::Apply(Thing::pod("east", "shop", "a")),
        mark("east", "Pod", "shop", true),
        Event::Declare(vec![moved("shop/db"), stays]),
    ]);
    let gaps = |project: &str| {
        let scope = Scope::projects([project.to_owned()]);
        let question = DiffEnvironment {
            environment: EnvironmentId::new(super::scope::MOVED),
            from: Some(At::Offset(world.heads[2])),
            lens: Lens::new(Between::Versions, &[]),
            children: true,
            page: whole(),
        };
        let diff = block_on(world.queries.ask(&scope, At::Now, question));
        diff.unwrap().metadata.snapshot.coverage.gaps.len()
    };
    assert_eq!(gaps("shop/db"), 1, "whose it is now is told of it");
    assert_eq!(gaps("shop/web"), 0, "whose it was is not, though it looks at the same namespace");
}
