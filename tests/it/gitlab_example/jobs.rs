//! The jobs of the example's pipelines, read from their files: the agents' files let each deploy to where the example says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use strandline_gitlab::{Job, JobEnvironment, Variables, decide, read_agent_config};

use crate::server::Result;

const CHECKOUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/gitlab/checkouts");

/// Project, environment, project of the environment, agent, namespace and manifest of every job, for the branch `login`
/// where it is of a merge request, else for main.
const EXPECTED: [&str; 11] = [
    "development/deployment: production backend through operation/agent-management:production in production: backend",
    "development/deployment: production frontend through operation/agent-management:production in production: frontend",
    "development/website: production through operation/agent-management:production in website-production: frontend",
    "development/website: staging through operation/agent-management:production in website-staging: frontend",
    "operation/agent-management: production prometheus through operation/agent-management:production in monitoring: prometheus",
    "operation/deployment for development/backend: production/eu-region through operation/deployment:production-eu in backend: backend",
    "operation/deployment for development/backend: production/us-region through operation/deployment:production-us in backend: backend",
    "operation/deployment for development/frontend: production/eu-region through operation/deployment:production-eu in frontend: frontend",
    "operation/deployment for development/frontend: production/us-region through operation/deployment:production-us in frontend: frontend",
    "operation/deployment for development/frontend: review/login through operation/deployment:production-us in review-apps: frontend",
    "operation/deployment: production prometheus through operation/deployment:production-us in prometheus: prometheus",
];

/// What one job deploys.
struct Deployment {
    project: String,
    /// The project whose pipeline triggers the job; empty for its own.
    upstream: String,
    environment: String,
    agent: String,
    namespace: Option<String>,
    manifest: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What a job deploys; none for one that is triggered, whose deployments are those of who triggers it.
fn deployment(project: &str, jobs: &Value, job: &Value) -> Option<Deployment> {
    let base = &jobs[text(&job["extends"])];
    let either = |name: &str| if job[name].is_null() { &base[name] } else { &job[name] };
    let variable = |name: &str| match &job["variables"][name] {
        Value::Null => text(&base["variables"][name]),
        own => text(own),
    };
    let triggered = either("trigger");
    let kubernetes = &job["environment"]["kubernetes"];
    let (environment, agent) = match kubernetes {
        Value::Null => (variable("ENVIRONMENT"), variable("AGENT")),
        _ => (text(&job["environment"]["name"]), text(&kubernetes["agent"])),
    };
    let upstream = if triggered.is_null() { String::new() } else { project.to_owned() };
    let project = if triggered.is_null() { project.to_owned() } else { text(&triggered["project"]) };
    let manifest = variable("MANIFEST");
    let manifest = manifest.strip_prefix("manifests/")?.strip_suffix(".yaml")?.to_owned();
    let environment = environment.replace("$CI_COMMIT_REF_SLUG", "login");
    let namespace = kubernetes["namespace"].as_str().map(str::to_owned);
    Some(Deployment { project, upstream, environment, agent, namespace, manifest })
}

/// All projects that have a pipeline.
fn projects() -> Result<Vec<String>> {
    let mut projects = Vec::new();
    for group in std::fs::read_dir(CHECKOUTS)? {
        for project in std::fs::read_dir(group?.path())? {
            let path = project?.path();
            if path.join(".gitlab-ci.yml").exists() {
                projects.push(path.strip_prefix(CHECKOUTS)?.display().to_string());
            }
        }
    }
    projects.sort();
    Ok(projects)
}

/// Where the agent's file lets the job deploy.
fn allowed(deployment: &Deployment) -> Result<String> {
    let (owner, name) = deployment.agent.split_once(':').ok_or("an agent has a project")?;
    let file: PathBuf = [CHECKOUTS, owner, ".gitlab/agents", name, "config.yaml"].iter().collect();
    let read = read_agent_config(&std::fs::read_to_string(&file)?).map_err(|error| error.to_string())?;
    assert!(read.warnings.is_empty(), "{}: {:?}", file.display(), read.warnings);
    let upstream = deployment.upstream.as_str();
    let variables = [
        ("UPSTREAM_PROJECT_PATH", upstream),
        ("UPSTREAM_PROJECT_NAME", upstream.rsplit('/').next().unwrap_or_default()),
        ("CI_DEFAULT_BRANCH", "main"),
    ];
    let job = Job {
        project: deployment.project.clone(),
        groups: Vec::new(),
        environment: Some(JobEnvironment::named(deployment.environment.as_str())),
        ref_name: Some("main".into()),
        tag: false,
        protected: false,
        default_branch: None,
        variables: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect::<Variables>(),
        namespace: deployment.namespace.clone(),
    };
    let decision = decide(&read.config, owner, &job.completed());
    assert!(decision.allowed, "{} to {}: {}", deployment.project, deployment.environment, decision.message);
    decision.namespace.ok_or_else(|| "no namespace".into())
}

#[test]
fn every_job_of_the_example_may_deploy_to_where_it_says() -> Result<()> {
    let mut told = BTreeSet::new();
    for project in projects()? {
        let file = std::fs::read_to_string(Path::new(CHECKOUTS).join(&project).join(".gitlab-ci.yml"))?;
        let jobs: Value = serde_saphyr::from_str(&file)?;
        let jobs_by_name: BTreeMap<String, Value> = serde_json::from_value(jobs.clone())?;
        for (name, job) in jobs_by_name.iter().filter(|(name, _)| !name.starts_with('.')) {
            let Some(found) = deployment(&project, &jobs, job) else {
                assert_eq!(name, "deploy", "only the deployment engine leaves it to others what it deploys");
                continue;
            };
            let namespace = allowed(&found)?;
            let whose =
                if found.upstream.is_empty() { String::new() } else { format!(" for {}", found.upstream) };
            told.insert(format!(
                "{}{whose}: {} through {} in {namespace}: {}",
                found.project, found.environment, found.agent, found.manifest
            ));
        }
    }
    assert_eq!(told, EXPECTED.map(str::to_owned).into());
    Ok(())
}

#[test]
fn the_example_is_a_configuration_without_mistakes() -> Result<()> {
    let path = Path::new(CHECKOUTS).with_file_name("strandline.yaml");
    let config = strandline::config::load(&path).map_err(|error| error.to_string())?;
    for folder in &config.agent_folders {
        for (agent, cluster) in folder.clusters.iter().filter(|(agent, cluster)| agent != cluster) {
            assert!(folder.path.join(".gitlab/agents").join(agent).join("config.yaml").exists(), "{agent}");
            assert!(config.clusters.iter().any(|known| known.name == *cluster), "{cluster}");
        }
    }
    let paths: BTreeSet<_> = config.projects.iter().map(|project| project.path.clone()).collect();
    assert_eq!(paths, projects()?.into_iter().collect(), "each project has a checkout with a pipeline");
    Ok(())
}
