//! What GitLab manages for an environment carries labels of its own, which make members as well.

use serde_json::{Value, json};

use super::*;
use strandline_model::{AgentId, AgentSpec, CatalogFact, ClusterSpec, ProjectSpec, TargetSpec};

fn catalog(agent: Option<u64>, targets: Vec<TargetSpec>) -> Event {
    let id = AgentId::new("ops/agents", "production");
    let environment = EnvironmentSpec {
        targets,
        settings: strandline_model::EnvironmentSettings {
            cluster_agent: Some(id.clone()),
            kubernetes_namespace: "shop".into(),
            ..Default::default()
        },
        ..EnvironmentSpec::new("shop/web", "production")
    };
    Event::Catalog(vec![
        CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: "eu".into() }),
        CatalogFact::Project(ProjectSpec {
            path: "shop/web".into(),
            number: Some(42),
            ..ProjectSpec::default()
        }),
        CatalogFact::Agent(Box::new(AgentSpec {
            cluster: "one".into(),
            number: agent,
            ..AgentSpec::new(id)
        })),
        CatalogFact::from(environment),
    ])
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, labels: Value) -> Event {
    let mut metadata = json!({"name": name, "labels": labels});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    Event::Object(json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
}

fn cluster() -> Vec<Event> {
    let managed = json!({"agent.gitlab.com/env-production-42-7": "", "agent.gitlab.com/id-7": "",
        "agent.gitlab.com/project_id-42": "", "agent.gitlab.com/environment_slug-production": ""});
    let shared = json!({"agent.gitlab.com/env-production-42-8": "", "agent.gitlab.com/env-staging-42-7": ""});
    let own = json!({"app.gitlab.com/project_id": "42", "app.gitlab.com/environment_slug": "production"});
    let rbac = "rbac.authorization.k8s.io/v1";
    vec![
        object("v1", "Namespace", "", "shop", managed.clone()),
        object("v1", "Namespace", "", "other", managed.clone()),
        object(rbac, "RoleBinding", "shop", "ours", managed.clone()),
        object(rbac, "RoleBinding", "shop", "another-agent", shared),
        object(rbac, "RoleBinding", "other", "elsewhere", managed),
        object("v1", "ConfigMap", "shop", "deployed", own),
        object("v1", "ConfigMap", "shop", "nobody", json!({})),
    ]
}

async fn members(world: &World) -> Vec<String> {
    let (scope, filter, page) = (Scope::everything(), ResourceFilter::default(), whole());
    let id = EnvironmentId::of("shop/web", "production");
    let held =
        world.queries.ask(&scope, At::Now, ListEnvironmentResources::new(&id, &filter, &page)).await.unwrap();
    let mut names: Vec<_> = held.items.into_iter().map(|item| item.key.name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_gitlab_manages_for_an_environment_belongs_to_it() {
    let first = [vec![catalog(Some(7), Vec::new())], cluster()].concat();
    let last = [cluster(), vec![catalog(Some(7), Vec::new())]].concat();
    for events in [first, last] {
        let mut world = World::new(events);
        assert_eq!(members(&world).await, ["deployed", "ours", "shop"]);
        // While the agent's number is not known, any agent's will do; another number is another agent.
        world.go_on([catalog(None, Vec::new())]);
        assert_eq!(members(&world).await, ["another-agent", "deployed", "ours", "shop"]);
        world.go_on([catalog(Some(8), Vec::new())]);
        assert_eq!(members(&world).await, ["another-agent", "deployed"]);
        world.rebuild();
        assert_eq!(members(&world).await, ["another-agent", "deployed"]);
    }
}

#[tokio::test]
async fn labels_that_an_environment_states_itself_are_the_only_ones() {
    let target = |labels: &[(&str, &str)]| TargetSpec {
        agent: Some(AgentId::new("ops/agents", "production")),
        namespace: "shop".into(),
        labels: Some(labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()),
        ..TargetSpec::default()
    };
    let events = [vec![catalog(Some(7), vec![target(&[("app", "web")])])], cluster()].concat();
    assert_eq!(members(&World::new(events)).await, [""; 0]);
}
