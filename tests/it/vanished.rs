//! Kinds that vanish while nobody watches.

use serde_json::json;
use strandline_sim::api_server::{ApiServer, ServedKind, builtin_kinds};

use crate::server::{Result, Server, has_gap, items};

const RESOURCES: &str = "/environments/shop.web.production/resources?limit=500";

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_vanishes_while_the_server_is_down_is_a_gap() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    simulated.add_kind(ServedKind::custom("example.dev", "v1", "Database", "databases"));
    simulated.apply(json!({"apiVersion": "example.dev/v1", "kind": "Database",
        "metadata": {"name": "orders", "namespace": "shop"}}));
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
         cluster: one\n    namespace: shop\n",
        simulated.url()
    );
    let mut server = Server::start(folder.path(), &config).await?;
    server.until(RESOURCES, |list| items(list).count() == 1).await?;
    server.until(RESOURCES, |list| list["metadata"]["coverage"]["complete"] == true).await?;
    server.kill().await?;
    simulated.remove_kind("example.dev", "Database");
    server.kill_and_restart().await?;
    let answer = server.until(RESOURCES, |answer| has_gap(answer, "Database", "not_served")).await?;
    assert_eq!(items(&answer).count(), 1, "nothing was deleted yet");
    let id = items(&answer).next().and_then(|item| item["id"].as_str()).unwrap_or_default().to_owned();
    let answer = server.until(RESOURCES, |answer| items(answer).count() == 0).await?;
    assert!(!has_gap(&answer, "Database", "not_served"), "the gap is over: {answer:#}");
    let versions = server.ask(&format!("/resources/{id}/history")).await?;
    let cause = items(&versions).map(|version| version["cause"].clone()).find(|cause| !cause.is_null());
    assert_eq!(cause.unwrap_or_default()["type"], "kind_removed", "{versions:#}");
    server.stop().await
}
