//! What lasts for too long, by the setting, and nothing else happens.

use std::time::Duration;

use serde_json::{Value, json};
use strandline_model::Timestamp;
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::{Result, Server, items};

const ENVIRONMENT: &str = "/environments/shop.web.production";

/// The intervals of the Pod's health without how long they lasted, which for the last is until the answer.
async fn course(server: &Server) -> Result<Value> {
    let listed = server.ask(&format!("{ENVIRONMENT}/resources")).await?;
    let id = items(&listed).next().and_then(|pod| pod["id"].as_str()).ok_or("there is no Pod")?.to_owned();
    let mut told = server.ask(&format!("/resources/{id}/health")).await?["intervals"].take();
    for interval in told.as_array_mut().into_iter().flatten() {
        interval["lasted_ms"] = Value::Null;
    }
    Ok(told)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_no_node_takes_is_degraded_after_the_time_that_is_set() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
         cluster: one\n    namespace: shop\nhealth:\n  unschedulable_grace: 2s\n",
        simulated.url()
    );
    let mut server = Server::start(folder.path(), &config).await?;
    // A time that lies ahead, so that the log's counts.
    simulated.apply(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available",
            "lastTransitionTime": "2200-01-01T00:00:00Z"}]}}),
    );
    let degraded = server.until(ENVIRONMENT, |told| told["health"]["state"] == "Degraded").await?;
    let before = course(&server).await?;
    let told: Vec<_> =
        before.as_array().into_iter().flatten().map(|one| (&one["health"], &one["message"])).collect();
    let expected =
        [(&json!("Degraded"), &json!("0/3 nodes are available")), (&json!("Progressing"), &json!(""))];
    assert_eq!(told, expected, "{before:#}");
    let time = |which: usize| before[which]["from"].as_str().unwrap_or_default().parse::<Timestamp>();
    assert_eq!(time(0)?.since(time(1)?), Duration::from_secs(2));
    // After a crash, and with a view that is built anew, it is told as before.
    server.kill_and_restart().await?;
    server.stop().await?;
    std::fs::remove_file(folder.path().join("data/view.db"))?;
    let server = Server::start(folder.path(), &config).await?;
    let offset = degraded["metadata"]["offset"].as_u64().ok_or("an answer names its offset")?;
    let again = server.ask(&format!("{ENVIRONMENT}?at={offset}")).await?;
    assert_eq!(again["health"], degraded["health"]);
    assert_eq!(course(&server).await?, before);
    server.stop().await
}
