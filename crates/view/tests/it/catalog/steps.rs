//! What may happen to a catalog, of few names so that they meet often.

use super::*;

pub(super) fn agent(n: usize) -> AgentId {
    AgentId::new(PROJECTS[2 - n], ["production", "staging"][n])
}

fn project() -> impl Strategy<Value = Step> {
    let number = prop::option::of(1..3_u64);
    (0..PROJECTS.len(), number, any::<bool>()).prop_map(|(n, number, labelled)| {
        let labels = labelled.then(|| ("team".to_owned(), "a".to_owned())).into_iter().collect();
        let path = PROJECTS[n].to_owned();
        Step::Fact(
            Source::Api,
            CatalogFact::Project(ProjectSpec { path, number, labels, ..ProjectSpec::default() }),
        )
    })
}

fn an_agent() -> impl Strategy<Value = Step> {
    let lets_in = prop::sample::select(vec![
        "",
        "user_access: {access_as: {agent: {}}, projects: [{id: shop/web}]}",
        "user_access: {access_as: {agent: {}}, groups: [{id: shop}, {id: ops/deploy}]}",
        "user_access: [",
    ]);
    (0..2_usize, 0..3_usize, lets_in).prop_map(|(n, cluster, configuration)| {
        let cluster = CLUSTERS.get(cluster).copied().unwrap_or_default().to_owned();
        let spec = AgentSpec { cluster, configuration: configuration.to_owned(), ..AgentSpec::new(agent(n)) };
        Step::Fact(Source::Folder, CatalogFact::Agent(Box::new(spec)))
    })
}

fn an_environment() -> impl Strategy<Value = Step> {
    let way = 0..5_usize;
    let state = prop::sample::select(EnvironmentState::ALL.to_vec());
    let region = prop::sample::select(vec!["", "", "", "own"]);
    (0..PROJECTS.len(), 0..NAMES.len(), way, state, region, any::<bool>()).prop_map(
        |(project, name, way, state, region, labelled)| {
            let mut spec = EnvironmentSpec::new(PROJECTS[project], NAMES[name]);
            let namespace = NAMESPACES[way % 2].to_owned();
            match way {
                0 => {}
                1 | 2 => {
                    let labels = (way == 2).then(Labels::new);
                    let cluster = CLUSTERS[way % 2].to_owned();
                    spec.targets.push(TargetSpec { cluster, namespace, labels, ..TargetSpec::default() });
                }
                3 => {
                    let agent = Some(agent(0));
                    spec.targets.push(TargetSpec { agent, namespace, ..TargetSpec::default() });
                }
                _ => {
                    spec.settings.cluster_agent = Some(agent(1));
                    spec.settings.kubernetes_namespace = namespace;
                }
            }
            spec.labels = labelled.then(|| ("region".to_owned(), "told".to_owned())).into_iter().collect();
            (spec.state, spec.region) = (state, region.to_owned());
            Step::Fact(if way == 1 { Source::Config } else { Source::Api }, CatalogFact::from(spec))
        },
    )
}

fn a_deployment() -> impl Strategy<Value = Step> {
    let status = prop::sample::select(vec![
        DeploymentStatus::Success,
        DeploymentStatus::Success,
        DeploymentStatus::Running,
        DeploymentStatus::Failed,
    ]);
    let finished = prop::option::of(0..3_i64);
    let through = prop::option::of((0..2_usize, 0..2_usize));
    (0..18_usize, 0..PROJECTS.len(), status, finished, through).prop_map(
        |(id, project, status, finished, through)| {
            // A deployment keeps its environment: two of them for each.
            let (of, name) = (id / 2 % PROJECTS.len(), id / 2 / PROJECTS.len());
            let agent = through.map(|(n, namespace)| AgentDeployment {
                only_labelled: false,
                agent: agent(n),
                kubernetes_namespace: NAMESPACES[namespace].to_owned(),
            });
            let spec = DeploymentSpec {
                id: DeploymentId(id as u64),
                environment: EnvironmentId::of(PROJECTS[of], NAMES[name]),
                project: PROJECTS[project].to_owned(),
                status,
                reference: String::new(),
                tag: false,
                sha: String::new(),
                job: None,
                user: String::new(),
                created_at: None,
                finished_at: finished.map(Timestamp::from_micros),
                agent,
                authorization: None,
            };
            Step::Fact(Source::Api, CatalogFact::Deployment(Box::new(spec)))
        },
    )
}

pub(super) fn a_step() -> impl Strategy<Value = Step> {
    let cluster = (0..2_usize, 0..REGIONS.len()).prop_map(|(n, region)| {
        let (name, region) = (CLUSTERS[n].to_owned(), REGIONS[region].to_owned());
        Step::Fact(Source::Config, CatalogFact::Cluster(ClusterSpec { name, region }))
    });
    let declares = prop::option::of((0..NAMES.len(), 0..PROJECTS.len(), 0..2_usize));
    let object = (0..2_usize, 0..2_usize, declares).prop_map(|(cluster, name, declares)| Step::Object {
        cluster,
        name,
        declares,
    });
    let withdraw = prop_oneof![
        (0..2_usize).prop_map(|n| Step::Withdraw(CatalogKind::Cluster, CLUSTERS[n].to_owned())),
        (0..3_usize).prop_map(|n| Step::Withdraw(CatalogKind::Project, PROJECTS[n].to_owned())),
        (0..2_usize).prop_map(|n| Step::Withdraw(CatalogKind::Agent, agent(n).to_string())),
        (0..3_usize, 0..3_usize).prop_map(|(project, name)| {
            let id = EnvironmentId::of(PROJECTS[project], NAMES[name]);
            Step::Withdraw(CatalogKind::Environment, id.to_string())
        }),
    ];
    prop_oneof![2 => cluster, 2 => project(), 3 => an_agent(), 4 => an_environment(), 4 => a_deployment(),
        3 => object, 2 => withdraw]
}
