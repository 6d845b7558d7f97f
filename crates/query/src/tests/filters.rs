//! Filters against the same filter in memory.

use std::collections::BTreeSet;

use super::*;
use strandline_model::{Kind, KindName};

/// Whether a filter lets a value through.
fn passes<T: PartialEq>(wanted: &[T], value: Option<&T>) -> bool {
    wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
}

/// Nothing, each alone, and the first with the last.
fn choices<T: Clone>(values: &[T]) -> Vec<Vec<T>> {
    let both = values.first().into_iter().chain(values.last()).cloned().collect();
    let single = values.iter().map(|value| vec![value.clone()]);
    std::iter::once(Vec::new()).chain(single).chain([both]).collect()
}

#[test]
fn environments_are_filtered_as_in_memory() {
    let (world, scope) = (World::new(small_history()), Scope::everything());
    let step = world.last() - 1;
    let (queries, at) = (&world.queries, At::Offset(world.heads[step]));
    let globs = ["shop/web", "OPS/*", "shop"].map(|text| text.parse().unwrap());
    block_on(async {
        let none = EnvironmentFilter::default();
        let all = queries.ask(&scope, at, ListEnvironments::new(&none, &whole())).await.unwrap().items;
        let states: BTreeSet<_> = all.iter().map(|environment| environment.health.state).collect();
        assert!(states.len() > 2, "the world holds several states: {states:?}");
        for tiers in choices(&[Tier::Production, Tier::Staging, Tier::Testing, Tier::Other]) {
            for regions in choices(&["eu".to_owned(), "us".to_owned(), "mars".to_owned()]) {
                for projects in choices(&globs) {
                    for healths in choices(&Health::ALL) {
                        let (tiers, regions) = (tiers.clone(), regions.clone());
                        let projects = projects.clone();
                        let filter = EnvironmentFilter {
                            tiers,
                            regions,
                            projects,
                            healths,
                            ..EnvironmentFilter::default()
                        };
                        let naive = all.iter().filter(|e| {
                            passes(&filter.tiers, Some(&e.tier))
                                && passes(&filter.regions, Some(&e.region))
                                && (filter.projects.is_empty()
                                    || filter.projects.iter().any(|glob| glob.matches_path(&e.project)))
                                && passes(&filter.healths, e.health.state.as_ref())
                        });
                        let found = queries
                            .ask(&scope, at, ListEnvironments::new(&filter, &whole()))
                            .await
                            .unwrap()
                            .items;
                        assert_eq!(found, naive.cloned().collect::<Vec<_>>(), "{filter:?}");
                    }
                }
            }
        }
    });
}

#[test]
fn environments_are_found_by_name_and_state_as_in_memory() {
    let stopped = EnvironmentSpec {
        state: EnvironmentState::Stopped,
        ..environment("shop/web", "review/Fix-1", &[("east", "shop", "fix")])
    };
    let declared = environments().into_iter().chain([stopped]).collect();
    let (world, scope) = (World::new([Event::Declare(declared)]), Scope::everything());
    let (queries, at) = (&world.queries, At::Now);
    let searches = ["", "prod", "PROD", "%", "_", "fix-1", "/", "nothing", "'"].map(str::to_owned);
    let texts = ["production", "us", "Production", "prod"].map(str::to_owned);
    block_on(async {
        let none = EnvironmentFilter::default();
        let all = queries.ask(&scope, at, ListEnvironments::new(&none, &whole())).await.unwrap().items;
        for states in choices(&EnvironmentState::ALL) {
            for names in choices(&texts) {
                for search in &searches {
                    let states = states.clone();
                    let exactly = names.iter().map(|name: &String| Glob::exactly(name)).collect();
                    let filter =
                        EnvironmentFilter { states, names: exactly, search: search.clone(), ..none.clone() };
                    let naive = all.iter().filter(|e| {
                        passes(&filter.states, Some(&e.state))
                            && passes(&names, Some(&e.name))
                            && e.name.to_ascii_lowercase().contains(&search.to_ascii_lowercase())
                    });
                    let found = queries
                        .ask(&scope, at, ListEnvironments::new(&filter, &whole()))
                        .await
                        .unwrap()
                        .items;
                    assert_eq!(found, naive.cloned().collect::<Vec<_>>(), "{filter:?}");
                }
            }
        }
    });
}

#[test]
fn resources_are_filtered_as_in_memory() {
    let (world, scope) = (World::new(small_history()), Scope::everything());
    let (queries, at) = (&world.queries, At::Now);
    let kinds = ["Pod", "replicasets", "DEPLOYMENT", "deploy", "deployments.apps", "Secret", "Pdo"];
    let kinds = kinds.map(|kind| kind.parse::<KindName>().unwrap());
    block_on(async {
        let mut seen = BTreeSet::new();
        for environment in environments().iter().filter(|environment| environment.name != "development") {
            let (id, none) = (&environment.id, ResourceFilter::default());
            let all = queries
                .ask(&scope, at, ListEnvironmentResources::new(id, &none, &whole()))
                .await
                .unwrap()
                .items;
            seen.extend(all.iter().map(|resource| resource.health));
            for kinds in choices(&kinds) {
                for healths in choices(&Health::ALL) {
                    let filter =
                        ResourceFilter { kinds: kinds.clone(), healths, ..ResourceFilter::default() };
                    let is_meant = |kind: &Kind| {
                        filter.kinds.is_empty() || filter.kinds.iter().any(|name| name.means(kind))
                    };
                    let naive = all.iter().filter(|resource| {
                        is_meant(&resource.key.kind) && passes(&filter.healths, resource.health.as_ref())
                    });
                    let found =
                        queries.ask(&scope, at, ListEnvironmentResources::new(id, &filter, &whole())).await;
                    assert_eq!(found.unwrap().items, naive.cloned().collect::<Vec<_>>(), "{id}: {filter:?}");
                }
            }
        }
        assert!(seen.len() > 3 && seen.contains(&None), "the world holds several states: {seen:?}");
    });
}

#[test]
fn events_are_filtered_as_in_memory() {
    let (world, scope) = (World::new(small_history()), Scope::everything());
    let (queries, at, id) = (&world.queries, At::Now, EnvironmentId::of("shop/db", "production"));
    block_on(async {
        let none = EventFilter::default();
        let all =
            queries.ask(&scope, at, ListEnvironmentEvents::new(&id, &none, &whole())).await.unwrap().items;
        let seen: BTreeSet<_> = all.iter().map(|event| event.r#type.as_str()).collect();
        assert_eq!(seen.len(), 2, "the world holds both types: {seen:?}");
        for types in choices(&EventType::ALL) {
            for reasons in choices(&["BackOff", "pulled", "KILLING", "Back"].map(str::to_owned)) {
                let filter = EventFilter { types: types.clone(), reasons };
                let lower: Vec<_> = filter.reasons.iter().map(|reason| reason.to_lowercase()).collect();
                let naive = all.iter().filter(|event| {
                    passes(&filter.types, event.r#type.parse().ok().as_ref())
                        && passes(&lower, Some(&event.reason.to_lowercase()))
                });
                let found = queries.ask(&scope, at, ListEnvironmentEvents::new(&id, &filter, &whole())).await;
                assert_eq!(found.unwrap().items, naive.cloned().collect::<Vec<_>>(), "{filter:?}");
            }
        }
    });
}
