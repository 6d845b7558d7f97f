//! Which project has which environments, and in which clusters they are.

use std::collections::BTreeMap;

use super::schedule::SiteId;
use super::world::Site;
use crate::workloads::catalog::{Location, PROJECTS, Project};
use strandline_model::{
    AgentId, AgentSpec, EnvironmentId, EnvironmentSettings, EnvironmentSpec, ProjectSpec, TargetSpec, Tier,
};
use strandline_syntax::slug;

/// A cluster as it is founded: name, short name of the region, region and zones of the cloud.
pub(super) struct Ground {
    pub(super) name: &'static str,
    pub(super) region: &'static str,
    pub(super) cloud_region: &'static str,
}

/// The four clusters.
pub(super) const GROUNDS: [Ground; 4] = [
    Ground { name: "us-east", region: "us", cloud_region: "us-east-1" },
    Ground { name: "us-west", region: "us", cloud_region: "us-west-2" },
    Ground { name: "eu-central", region: "eu", cloud_region: "eu-central-1" },
    Ground { name: "eu-west", region: "eu", cloud_region: "eu-west-1" },
];

/// Every lasting location of every project, with the number of its cluster.
pub(super) fn lasting_locations() -> Vec<(usize, Location)> {
    let mut locations = Vec::new();
    for (number, project) in PROJECTS.iter().enumerate() {
        for cluster in 0..GROUNDS.len() {
            let name = if cluster < 2 { "production/us-region" } else { "production/eu-region" };
            locations.push((cluster, location(project, cluster, name, Tier::Production)));
        }
        let home = if number % 2 == 0 { 1 } else { 3 };
        locations.push((home, location(project, home, "staging", Tier::Staging)));
        if project.tested {
            locations.push((2, location(project, 2, "qa", Tier::Testing)));
        }
    }
    locations
}

/// Where the review app of a branch is.
pub(super) fn review(project: &'static Project, branch: &str) -> (usize, Location) {
    let cluster = 3;
    (cluster, location(project, cluster, &format!("review/{branch}"), Tier::Development))
}

fn location(project: &'static Project, cluster: usize, name: &str, tier: Tier) -> Location {
    let ground = &GROUNDS[cluster % GROUNDS.len()];
    let short = match tier {
        Tier::Production => "production".to_owned(),
        _ => name.replace('/', "-"),
    };
    Location {
        project,
        environment: name.to_owned(),
        slug: slug(name),
        tier,
        region: ground.region.to_owned(),
        cluster: ground.name.to_owned(),
        namespace: format!("{}-{short}", project.path.replace('/', "-")),
    }
}

/// The environments of sites that are not being deleted, each with all its targets.
pub(super) fn environments(sites: &BTreeMap<SiteId, Box<Site>>) -> Vec<EnvironmentSpec> {
    let mut environments: BTreeMap<EnvironmentId, EnvironmentSpec> = BTreeMap::new();
    for site in sites.values().filter(|site| site.deleting.is_none()) {
        let location = &site.location;
        let id = EnvironmentId::of(location.project.path, &location.environment);
        let environment = environments.entry(id.clone()).or_insert_with(|| EnvironmentSpec {
            id,
            slug: location.slug.clone(),
            tier: location.tier,
            settings: EnvironmentSettings {
                dynamic: location.tier == Tier::Development,
                ..EnvironmentSettings::default()
            },
            region: location.region.clone(),
            ..EnvironmentSpec::new(location.project.path, &location.environment)
        });
        environment.targets.push(target(location));
    }
    environments.into_values().collect()
}

/// The project that owns the agents.
const AGENTS: &str = "platform/agents";

/// The agent that connects to a cluster.
pub(super) fn agent(cluster: &str) -> AgentId {
    AgentId::new(AGENTS, cluster)
}

/// The projects, each labelled with the team that its group is.
pub(super) fn projects() -> Vec<ProjectSpec> {
    let project = |project: &Project| ProjectSpec {
        path: project.path.to_owned(),
        number: Some(u64::from(project.id)),
        default_branch: "main".to_owned(),
        labels: [("team".to_owned(), team(project).to_owned())].into(),
        namespaces: Vec::new(),
    };
    PROJECTS.iter().map(project).collect()
}

fn team(project: &Project) -> &'static str {
    project.path.split('/').next().unwrap_or(project.path)
}

/// The agents, one in each cluster, shared with everybody's jobs: review apps in namespaces of their own, production
/// from what is released.
pub(super) fn agents() -> Vec<AgentSpec> {
    let teams: std::collections::BTreeSet<&str> = PROJECTS.iter().map(team).collect();
    let mut configuration = "ci_access:\n  groups:\n".to_owned();
    for team in &teams {
        configuration.push_str(&format!("    - id: {team}\n"));
    }
    configuration.push_str("user_access:\n  access_as:\n    agent: {}\n  groups:\n");
    for team in &teams {
        configuration.push_str(&format!("    - id: {team}\n"));
    }
    let agent = |ground: &Ground| AgentSpec {
        cluster: ground.name.to_owned(),
        configuration: configuration.clone(),
        ..AgentSpec::new(agent(ground.name))
    };
    GROUNDS.iter().map(agent).collect()
}

/// Review apps own their namespace; elsewhere the labels decide.
fn target(location: &Location) -> TargetSpec {
    let labels = [
        ("app.gitlab.com/project_id".to_owned(), location.project.id.to_string()),
        ("app.gitlab.com/environment_slug".to_owned(), location.slug.clone()),
    ];
    let labels = if location.tier == Tier::Development { BTreeMap::new() } else { labels.into() };
    TargetSpec {
        agent: Some(agent(&location.cluster)),
        namespace: location.namespace.clone(),
        labels: Some(labels),
        ..TargetSpec::default()
    }
}
