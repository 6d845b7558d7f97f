//! A scoped answer costs what is in it: steps are counted, whatever the machine.

use std::sync::atomic::Ordering;

use super::*;

const OURS: [&str; 2] = ["shop/web", "shop/db"];
/// The number of the environment that is stopped.
const STOPPED: usize = 99;

/// So many environments of each of our projects, a Pod in each, beside so many of others in the same cluster; and one of
/// ours that is stopped in the end.
fn world(ours: usize, others: usize) -> World {
    let of = |project: &str, n: usize| {
        let namespace = format!("{}-{n}", project.replace('/', "-"));
        (environment(project, &format!("env-{n}"), &[("east", &namespace, "")]), namespace)
    };
    let ours = OURS.iter().flat_map(|project| (0..ours).map(|n| of(project, n)));
    let others = (0..others).map(|n| of(&format!("others/{n}"), n));
    let all: Vec<_> = ours.chain(others).chain([of(OURS[0], STOPPED)]).collect();
    let pods = all.iter().map(|(_, namespace)| Event::Apply(Thing::pod("east", namespace, "web")));
    let pods: Vec<_> = pods.collect();
    let mut environments: Vec<_> = all.into_iter().map(|(environment, _)| environment).collect();
    let declared = Event::Declare(environments.clone());
    if let Some(last) = environments.last_mut() {
        last.state = EnvironmentState::Stopped;
    }
    World::new(
        [declared, mark("east", "Pod", "", false), mark("east", "ConfigMap", "", true)]
            .into_iter()
            .chain(pods)
            .chain([Event::Declare(environments)]),
    )
}

/// The steps of every kind of list, with those for the sets of the scope.
fn steps(world: &World) -> Vec<(&'static str, u64)> {
    let (scope, stranger) = (&Scope::projects(OURS.map(str::to_owned)), &Scope::projects(["x".to_owned()]));
    let (queries, page) = (&world.queries, &whole());
    let counted =
        block_on(queries.pool.run(&queries.asker, |reader, _| reader.count_steps())).unwrap().unwrap();
    let mut found = Vec::new();
    let mut ask = |name, question: &dyn Fn() -> usize, told: usize| {
        block_on(queries.ask(stranger, At::Now, ListProjects::new(page))).unwrap();
        let before = counted.load(Ordering::Relaxed);
        assert_eq!(question(), told, "{name}");
        found.push((name, counted.load(Ordering::Relaxed) - before));
    };
    let ours =
        block_on(queries.ask(scope, At::Now, ListEnvironments::new(&EnvironmentFilter::default(), page)));
    let ours = ours.unwrap().items;
    let (all, id) = (ours.len(), &ours[0].id);
    let none = &EnvironmentFilter::default();
    let two = &PageRequest { limit: 2, after: None };
    ask(
        "environments",
        &|| block_on(queries.ask(scope, At::Now, ListEnvironments::new(none, two))).unwrap().items.len(),
        2,
    );
    ask(
        "environment",
        &|| block_on(queries.ask(scope, At::Now, GetEnvironment::new(id))).map_or(0, |_| 1),
        1,
    );
    let every = &ResourceFilter::default();
    let resources = || queries.ask(scope, At::Now, ListEnvironmentResources::new(id, every, page));
    ask("resources", &|| block_on(resources()).unwrap().items.len(), 1);
    let all_of_them = &GetOverview::default();
    let trend = &GetOverview { trend: Some(TrendFilter { since: None, buckets: 5 }), ..all_of_them.clone() };
    let rows = OverviewRows { page: two.clone(), ..OverviewRows::default() };
    let listed = &GetOverview { environments: Some(rows), ..all_of_them.clone() };
    for (name, question) in [("overview", all_of_them), ("trend", trend), ("overview, listed", listed)] {
        let overview = || queries.ask(scope, At::Now, question.clone());
        ask(name, &|| block_on(overview()).unwrap().value.totals.total as usize, all);
    }
    ask(
        "clusters",
        &|| block_on(queries.ask(scope, At::Now, ListClusters::new(page))).unwrap().items.len(),
        1,
    );
    let any = &CoverageFilter::default();
    ask(
        "coverage",
        &|| block_on(queries.ask(scope, At::Now, ListCoverage::new(any, page))).unwrap().items.len(),
        3,
    );
    ask("groups", &|| block_on(queries.ask(scope, At::Now, ListGroups::new(page))).unwrap().items.len(), 1);
    ask(
        "projects",
        &|| block_on(queries.ask(scope, At::Now, ListProjects::new(page))).unwrap().items.len(),
        0,
    );
    let stopped = &EnvironmentId::new(format!("shop.web.env-{STOPPED}"));
    let left = || queries.ask(scope, At::Now, ListLeftBehind::new(stopped));
    ask("left behind", &|| block_on(left()).unwrap().value.resources as usize, 1);
    let any = &DeploymentFilter::default();
    ask(
        "deployments",
        &|| block_on(queries.ask(scope, At::Now, ListDeployments::new(any, page))).unwrap().items.len(),
        0,
    );
    let any = &EventFeedFilter::default();
    ask(
        "events",
        &|| block_on(queries.ask(scope, At::Now, ListEvents::new(any, page))).unwrap().items.len(),
        0,
    );
    let any = &ImageFilter::default();
    ask(
        "images",
        &|| block_on(queries.ask(scope, At::Now, ListImages::new(any, page))).unwrap().items.len(),
        0,
    );
    let uid = &Uid::new("others-0-0-web");
    ask(
        "another's resource",
        &|| block_on(queries.ask(scope, At::Now, GetResource::new(uid, None))).map_or(0, |_| 1),
        0,
    );
    // What others have and we have not, what nobody has, and what everybody has; first whatever prepares the statements.
    for (text, told) in [("first", 0), ("others", 0), ("nothing", 0), ("web", all)] {
        let search = || Search::new(text.parse().unwrap(), &[], Search::MAX);
        let found = || block_on(queries.ask(scope, At::Now, search())).unwrap().value.resources;
        ask(text, &|| found().map_or(0, |hits| hits.items.len()), told);
    }
    for presence in Presence::ALL {
        let search = &ResourceSearch { presence, ..ResourceSearch::default() };
        let there = [all - 1, 1, all][presence as usize];
        ask(
            "search",
            &|| {
                block_on(queries.ask(scope, At::Now, SearchResources::new(search, page))).unwrap().items.len()
            },
            there,
        );
        // A namespace of others, and one that never was.
        for namespace in ["others-0-0", "nowhere"] {
            let search = &ResourceSearch { namespace: Some(namespace.into()), ..search.clone() };
            ask(
                namespace,
                &|| {
                    block_on(queries.ask(scope, At::Now, SearchResources::new(search, page)))
                        .unwrap()
                        .items
                        .len()
                },
                0,
            );
        }
        let search = &ResourceSearch { names: vec!["web".parse().unwrap()], ..search.clone() };
        ask(
            "by name",
            &|| {
                block_on(queries.ask(scope, At::Now, SearchResources::new(search, page))).unwrap().items.len()
            },
            there,
        );
    }
    found
}

#[test]
fn what_others_have_costs_a_scope_nothing() {
    let (few, many) = (steps(&world(2, 80)), steps(&world(2, 320)));
    for ((name, few), (_, many)) in few.into_iter().zip(many) {
        assert!(many <= few + few / 20, "{name}: {few} steps beside few others and {many} beside many");
    }
}

#[test]
fn a_search_takes_the_same_steps_whether_or_not_others_have_what_is_asked_for() {
    let steps = steps(&world(2, 80));
    let of = |wanted: &str| {
        steps.iter().filter(|(name, _)| *name == wanted).map(|(_, steps)| *steps).collect::<Vec<_>>()
    };
    assert_eq!(of("others-0-0"), of("nowhere"));
    assert_eq!(of("others"), of("nothing"));
}

#[test]
fn what_a_scope_sees_costs_it_no_more_than_there_is_of_it() {
    let (few, many) = (steps(&world(4, 80)), steps(&world(16, 320)));
    for ((name, few), (_, many)) in few.into_iter().zip(many) {
        assert!(many <= 5 * few, "{name}: {few} steps with some and {many} with four times as many");
    }
}
