//! Deployments across environments.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use strandline_model::{CatalogFact, ClusterSpec, DeploymentId, DeploymentSpec, DeploymentStatus};

/// A deployment of a project's job to an environment.
fn deployment(id: u64, project: &str, environment: &str, step: usize) -> DeploymentSpec {
    DeploymentSpec {
        id: DeploymentId(id),
        environment: EnvironmentId::new(environment),
        project: project.into(),
        status: DeploymentStatus::Success,
        reference: if id.is_multiple_of(2) { "main".into() } else { format!("v{id}.0") },
        tag: !id.is_multiple_of(2),
        sha: format!("{id:040x}"),
        job: None,
        user: ["alice", "bob", ""][usize::try_from(id % 3).unwrap()].into(),
        created_at: None,
        finished_at: (step > 0).then(|| World::time(step)),
        agent: None,
        authorization: None,
    }
}

const ENVIRONMENTS: [(&str, &str); 4] =
    [("shop/web", "production"), ("shop/web", "staging-us"), ("shop/db", "production"), ("ops/tools", "us")];

fn catalog(projects: &[&str], deployments: &[DeploymentSpec]) -> Event {
    let ours = ENVIRONMENTS.iter().filter(|(project, _)| projects.contains(project));
    let environments = ours.map(|(project, name)| environment(project, name, &[("east", "shop", "")]).into());
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "east".into(), region: "eu".into() });
    let deployments = deployments.iter().map(|one| CatalogFact::Deployment(Box::new(one.clone())));
    Event::Catalog(std::iter::once(cluster).chain(environments).chain(deployments).collect())
}

fn all_projects() -> Vec<&'static str> {
    ENVIRONMENTS.iter().map(|(project, _)| *project).collect::<BTreeSet<_>>().into_iter().collect()
}

/// One after another, a step each; the third finished before the others, and was recorded late.
fn world() -> World {
    let failed = deployment(2, "ops/tools", "shop.web.production", 2);
    let specs = [
        deployment(1, "shop/web", "shop.web.production", 1),
        // Whose job deployed well would see the environment.
        DeploymentSpec { status: DeploymentStatus::Failed, ..failed },
        deployment(3, "shop/db", "shop.db.production", 1),
        deployment(4, "shop/web", "shop.web.staging-us", 0),
    ];
    World::new((0..=specs.len()).map(|count| catalog(&all_projects(), &specs[..count])))
}

fn ask(world: &World, scope: &Scope, filter: &DeploymentFilter, page: &PageRequest) -> Page<Deployment> {
    world.clock.set(World::time(world.last()));
    block_on(world.queries.ask(scope, At::Now, ListDeployments::new(filter, page))).unwrap()
}

fn numbers(world: &World, filter: &DeploymentFilter) -> Vec<u64> {
    let found = ask(world, &Scope::everything(), filter, &whole()).items;
    found.into_iter().map(|one| one.spec.id.0).collect()
}

#[test]
fn deployments_are_chosen_by_environment_person_ref_and_time() {
    let world = world();
    let any = DeploymentFilter::default;
    let of = |environments| DeploymentFilter { environments, ..any() };
    let none = EnvironmentFilter::default;
    let globs = |text: &str| vec![text.parse::<Glob>().unwrap()];
    let time = |step| Some(At::Time(World::time(step)));
    for (filter, expected) in [
        (any(), vec![4, 3, 2, 1]),
        (of(EnvironmentFilter { tiers: vec![Tier::Production], ..none() }), vec![3, 2, 1]),
        (of(EnvironmentFilter { regions: vec!["us".into()], ..none() }), vec![4]),
        (of(EnvironmentFilter { groups: vec!["shop".parse().unwrap()], ..none() }), vec![4, 3, 2, 1]),
        (of(EnvironmentFilter { groups: vec!["ops".parse().unwrap()], ..none() }), vec![]),
        (DeploymentFilter { projects: globs("ops/*"), ..any() }, vec![2]),
        (DeploymentFilter { refs: globs("v*"), ..any() }, vec![3, 1]),
        (DeploymentFilter { by: globs("bob"), ..any() }, vec![4, 1]),
        (DeploymentFilter { since: time(2), ..any() }, vec![4, 2]),
        (DeploymentFilter { until: time(1), ..any() }, vec![3, 1]),
        (DeploymentFilter { since: time(2), until: time(2), ..any() }, vec![2]),
        (DeploymentFilter { since: time(4), until: time(2), ..any() }, vec![2]),
    ] {
        assert_eq!(numbers(&world, &filter), expected, "{filter:?}");
        let one = PageRequest { limit: 1, after: None };
        let (mut page, mut paged) = (one, Vec::new());
        loop {
            let found = ask(&world, &Scope::everything(), &filter, &page);
            paged.extend(found.items.into_iter().map(|one| one.spec.id.0));
            match found.metadata.next {
                Some(next) => page.after = Some(next),
                None => break,
            }
        }
        assert_eq!(paged, expected, "{filter:?}");
    }
    let unknown = of(EnvironmentFilter { regions: vec!["uss".into()], ..none() });
    let warnings = ask(&world, &Scope::everything(), &unknown, &whole()).metadata.warnings;
    assert_eq!(warnings[0].suggestion.as_deref(), Some("us"));
    let count = |filter: DeploymentFilter| {
        let question = CountDeployments::new(&EnvironmentId::new("shop.web.production"), &filter);
        block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap()
    };
    assert_eq!([count(any()), count(DeploymentFilter { by: globs("bob"), ..any() })], [2, 1]);
}

#[test]
fn the_job_s_project_sees_its_deployment_and_nothing_of_where_it_went() {
    let world = world();
    let scope = Scope::projects(["ops/tools".to_owned()]);
    let ask = |filter: &DeploymentFilter| ask(&world, &scope, filter, &whole());
    assert_eq!(ask(&DeploymentFilter::default()).items.len(), 1);
    for tier in Tier::ALL {
        let environments = EnvironmentFilter { tiers: vec![tier], ..EnvironmentFilter::default() };
        let found = ask(&DeploymentFilter { environments, ..DeploymentFilter::default() });
        assert_eq!(found.items.len(), 0, "{tier}: the tier is that of an environment of others");
    }
}

#[test]
fn the_newest_are_read_without_a_look_at_the_rest() {
    let world = world();
    let view = world.view();
    let steps = |sql: &str| {
        let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = plan.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>(3).unwrap());
        }
        steps
    };
    let all = steps(crate::deployments::OF_ALL);
    assert!(
        all.iter().any(|step| step.starts_with("SEARCH d USING PRIMARY KEY (id>? AND id<?)")),
        "{all:#?}"
    );
    assert!(!all.iter().any(|step| step.contains("ORDER BY")), "{all:#?}");
    let some = steps(crate::deployments::OF_ENVIRONMENTS);
    let index =
        "SEARCH d USING COVERING INDEX deployment_by_environment (environment_id=? AND id>? AND id<?)";
    assert!(some.iter().any(|step| step.starts_with(index)), "{some:#?}");
}

/// Pages as a caller reads them, without offsets, which count what others do too.
fn pages(world: &World, scope: &Scope, limit: usize, filter: &DeploymentFilter) -> Vec<Value> {
    let mut page = PageRequest { limit, after: None };
    let mut pages = Vec::new();
    loop {
        let found = ask(world, scope, filter, &page);
        let next = found.metadata.next.clone();
        let warnings = found.metadata.warnings;
        pages.push(json!({"items": found.items, "more": next.is_some(), "warnings": warnings}));
        match next {
            Some(next) => page.after = Some(next),
            None => return pages,
        }
    }
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    #[test]
    fn deployments_of_others_change_nothing(
        made in prop::collection::vec((0..3_usize, 0..ENVIRONMENTS.len(), 0..30_usize), 1..30),
        ours in prop::sample::subsequence(vec!["shop/web", "shop/db", "ops/tools"], 0..3),
        tiers in prop::sample::subsequence(vec![Tier::Production, Tier::Staging], 0..2),
        group in prop::sample::select(vec!["", "shop", "ops", "nobody"]),
        by in prop::sample::select(vec!["", "a*", "bob"]),
        refs in prop::sample::select(vec!["", "main", "v*"]),
        span in (0..30_usize, 0..30_usize, any::<bool>(), any::<bool>()),
    ) {
        let all = all_projects();
        // Each job deploys within its project, so that the world without the others is what is left of it.
        let specs: Vec<_> = (1..).zip(&made).map(|(id, (_, place, step))| {
            let (project, name) = ENVIRONMENTS[*place];
            deployment(id, project, EnvironmentId::of(project, name).as_str(), *step)
        }).collect();
        let steps = |projects: &[&str]| {
            let kept = |specs: &[DeploymentSpec]| -> Vec<_> {
                specs.iter().filter(|one| projects.contains(&one.project.as_str())).cloned().collect()
            };
            World::new((0..=specs.len()).map(|count| catalog(projects, &kept(&specs[..count]))))
        };
        let (full, reduced) = (steps(&all), steps(&ours));
        let scope = Scope::projects(ours.iter().map(|&path| path.to_owned()));
        let globs = |text: &str| -> Vec<Glob> {
            Some(text).filter(|text| !text.is_empty()).iter().map(|text| text.parse().unwrap()).collect()
        };
        // A start in the future is refused.
        let last = specs.len();
        let time = |is: bool, step: usize| is.then(|| At::Time(World::time(step.min(last))));
        let environments = EnvironmentFilter {
            tiers,
            groups: Some(group).filter(|it| !it.is_empty()).iter().map(|it| it.parse().unwrap()).collect(),
            ..EnvironmentFilter::default()
        };
        let random = DeploymentFilter {
            environments, refs: globs(refs), by: globs(by),
            since: time(span.2, span.0), until: time(span.3, span.1),
            ..DeploymentFilter::default()
        };
        for filter in [DeploymentFilter::default(), random] {
            for limit in [2, PageRequest::MAX] {
                let seen = pages(&full, &scope, limit, &filter);
                let expected = pages(&reduced, &Scope::everything(), limit, &filter);
                prop_assert_eq!(seen, expected, "{:?} in pages of {}", filter, limit);
            }
        }
    }
}
