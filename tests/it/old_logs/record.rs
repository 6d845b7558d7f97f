//! Records a small log with something of everything: versions that are packed against each other, a Secret, a deletion, a cluster
//! that cannot be asked and one that is removed, a deployment, an erased value, and a restart.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::{Result, Server, items, run};

/// What is erased again.
const LEAKED: &str = "leaked-0d9f3c5e7b";

/// Versions of a Pod.
const VERSIONS: u64 = 12;

fn pod(name: &str, version: u64) -> Value {
    let ready = if version.is_multiple_of(3) { "False" } else { "True" };
    let text = "the same in every version, so that only what differs is kept; ".repeat(10);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "annotations": {"text": text, "version": version.to_string()}},
        "spec": {"containers": [{"name": "web", "image": format!("registry.example.com/web:{version}")}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn config(clusters: &[&ApiServer]) -> String {
    let clusters: Vec<String> = clusters
        .iter()
        .map(|cluster| format!("{{name: {}, url: '{}'}}", cluster.name(), cluster.url()))
        .collect();
    format!(
        "clusters: [{}]\nprojects: [{{path: shop/web, id: 7, labels: {{team: web}}}}]\n\
         environments: [{{project: shop/web, name: production, cluster: one, namespace: shop, labels: {{}}}}]\n",
        clusters.join(", ")
    )
}

async fn deploy(server: &Server) -> Result<()> {
    let body = json!({"project": "shop/web", "environment": "production", "sha": "0123456789abcdef", "status": "success"});
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = http::Request::post(format!("{}/api/v1/deployments", server.url()))
        .header("content-type", "application/json")
        .body(Full::from(body.to_string()))?;
    let status = client.request(request).await?.status();
    if status.is_success() { Ok(()) } else { Err(format!("recording a deployment: {status}").into()) }
}

/// Records a log into a folder that must not exist.
pub(super) async fn record(kept: &Path) -> Result<()> {
    if kept.exists() {
        return Err(format!(
            "{} exists: a log of an earlier program is never recorded again",
            kept.display()
        )
        .into());
    }
    let folder = tempfile::tempdir()?;
    let (one, two) =
        (ApiServer::start("one", builtin_kinds()).await?, ApiServer::start("two", builtin_kinds()).await?);
    two.faults().refuse(None, 401);
    one.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    one.apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop"}, "data": {"password": "cGFzc3dvcmQ="}}));
    one.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}, "data": {"note": LEAKED}}));
    let mut server = Server::start(folder.path(), &config(&[&one, &two])).await?;
    let resources = "/environments/shop.web.production/resources";
    for version in 1..=VERSIONS {
        for name in ["web-0", "web-1"] {
            one.apply(pod(name, version));
        }
        let seen = |list: &Value| items(list).filter(|item| item["kind"] == "Pod").count() == 2;
        server.until(resources, seen).await?;
        // Versions that come at once may be recorded as one.
        let image = format!("registry.example.com/web:{version}");
        server.until("/images", |list| items(list).any(|item| item["image"] == image)).await?;
    }
    one.delete("", "Pod", "shop", "web-1");
    server.until(resources, |list| items(list).filter(|item| item["kind"] == "Pod").count() == 1).await?;
    server.until("/coverage?cluster=two&state=gap", |list| items(list).count() > 0).await?;
    deploy(&server).await?;
    server.stop().await?;
    let values = folder.path().join("values");
    fs::write(&values, format!("{LEAKED}\n"))?;
    let data = folder.path().join("data");
    run(&["redact"], &[("--data", &data), ("--value-file", &values)]).await?;
    one.apply(pod("web-2", 1));
    server = Server::start(folder.path(), &config(&[&one])).await?;
    server.until(resources, |list| items(list).filter(|item| item["kind"] == "Pod").count() == 2).await?;
    server.until("/clusters", |list| items(list).count() == 1).await?;
    let offset = server.ask("/clusters").await?["metadata"]["offset"].as_u64().ok_or("an offset")?;
    server.stop().await?;
    fs::create_dir_all(kept)?;
    fs::write(kept.join("log.db.zst"), zstd::encode_all(&fs::read(data.join("log.db"))?[..], 19)?)?;
    for name in ["log.head", "redaction.key"] {
        fs::copy(data.join(name), kept.join(name))?;
    }
    Ok(fs::write(kept.join("offset"), format!("{offset}\n"))?)
}
