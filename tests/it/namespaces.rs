//! A cluster whose namespaces are environments, without further configuration.

use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::{Result, Server, items};

const ALL: &str = "/environments?limit=100";

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn pod(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": namespace}, "spec": {}})
}

fn ids(answer: &Value) -> Vec<&str> {
    let mut ids: Vec<&str> = items(answer).filter_map(|item| item["id"].as_str()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn each_namespace_of_a_cluster_is_an_environment() -> Result<()> {
    let simulated = ApiServer::start("here", builtin_kinds()).await?;
    for name in ["production", "staging", "kube-system"] {
        simulated.apply(namespace(name));
        simulated.apply(pod(name));
    }
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters:\n- name: here\n  url: {}\n  exclude_namespaces: [kube-system]\n  \
         namespace_environments: {{project: local}}\n",
        simulated.url()
    );
    let mut server = Server::start(folder.path(), &config).await?;
    let found = server.until(ALL, |answer| ids(answer) == ["local.production", "local.staging"]).await?;
    let one = items(&found).find(|item| item["id"] == "local.production").ok_or("no environment")?;
    assert_eq!(one["tier"], "production", "{one:#}");
    assert_eq!(one["declared_by"], json!([{"source": "namespace"}]), "{one:#}");
    let resources = "/environments/local.production/resources?kind=Pod";
    server.until(resources, |answer| items(answer).count() == 1).await?;
    let before = server.ask(ALL).await?["metadata"]["offset"].as_u64().ok_or("no offset")?;

    // After a restart they are as they were, and what changed meanwhile is found.
    server.kill().await?;
    simulated.delete("", "Pod", "staging", "one");
    simulated.delete("", "Namespace", "", "staging");
    simulated.apply(namespace("review-1"));
    server.kill_and_restart().await?;
    server.until(ALL, |answer| ids(answer) == ["local.production", "local.review-1"]).await?;
    let past = server.ask(&format!("{ALL}&at={before}")).await?;
    assert_eq!(ids(&past), ["local.production", "local.staging"]);
    server.stop().await
}
