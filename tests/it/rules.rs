//! Rules of a user's own in the running program: what they judge, and what was judged before they changed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::server::{PROGRAM, Result, Server, items};

const ENVIRONMENT: &str = "/environments/shop.web.production";

fn config(cluster: &ApiServer) -> String {
    format!(
        "clusters: [{{name: one, url: \"{}\"}}]\n\
         environments: [{{project: shop/web, name: production, cluster: one, namespace: shop}}]\n\
         health: {{scripts: health, ignore: [{{labels: canary=yes}}]}}\n\
         relations: relations.yaml\n",
        cluster.url()
    )
}

/// A Deployment without a controller, which no rule of the program's would call more than on its way.
fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "annotations": {"example.org/config": "settings"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {"spec": {"containers": []}}}})
}

/// Writes the rules: a script that calls every Deployment this, and a relation by an annotation.
fn write(folder: &Path, health: &str) -> Result<()> {
    let place = folder.join("health/apps/Deployment");
    fs::create_dir_all(&place)?;
    let script = format!("return {{status = \"{health}\", message = \"it is \" .. obj.metadata.name}}");
    fs::write(place.join("health.lua"), script)?;
    let relations = "relations:\n  - {name: configured, edge: mounts, object: {group: apps, kind: Deployment}, \
         direction: from_target, annotation: example.org/config, target: {kind: ConfigMap}}\n";
    Ok(fs::write(folder.join("relations.yaml"), relations)?)
}

/// Health, message, rule and set of rules of a Deployment.
async fn verdict(server: &Server, name: &str) -> Result<[String; 4]> {
    let has = |list: &Value| items(list).any(|item| item["name"] == name);
    let list = server.until(&format!("{ENVIRONMENT}/resources"), has).await?;
    let found = items(&list).find(|item| item["name"] == name).ok_or("it is gone")?;
    let uid = found["id"].as_str().ok_or("no uid")?;
    let detail = server.ask(&format!("/resources/{uid}")).await?;
    Ok(["health", "message", "rule", "rule_set"]
        .map(|field| detail[field].as_str().unwrap_or_default().to_owned()))
}

/// Waits until a Deployment is judged so.
async fn until(server: &Server, name: &str, health: &str) -> Result<()> {
    let judged = |list: &Value| items(list).any(|item| item["name"] == name && item["health"] == health);
    server.until(&format!("{ENVIRONMENT}/resources"), judged).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_rules_judge_what_comes_and_soon_what_was() -> Result<()> {
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), "Degraded")?;
    cluster.apply(deployment("first"));
    let server = Server::start(folder.path(), &config(&cluster)).await?;
    let [health, message, rule, old] = verdict(&server, "first").await?;
    assert_eq!([&health, &message, &rule], ["Degraded", "it is first", "lua/apps/Deployment"]);
    server.until(ENVIRONMENT, |found| found["health"]["state"] == "Degraded").await?;
    // What the relation names is told although nothing is there, once it is known that nothing is.
    let missing = |why: &Value| why["paths"][0]["missing"][0]["name"] == "settings";
    server.until(&format!("{ENVIRONMENT}/why"), missing).await?;

    // Other rules judge what comes at once, and what was as soon as another view has taken the place of this one.
    write(folder.path(), "Suspended")?;
    server.signal("HUP").await?;
    cluster.apply(deployment("second"));
    until(&server, "second", "Suspended").await?;
    until(&server, "first", "Suspended").await?;
    let [.., changed] = verdict(&server, "first").await?;
    assert_ne!(changed, old);
    assert!(server.output().contains("changes=\"health and relations\""), "{}", server.output());
    let rebuilt = |report: &Value| report["state"] == "done";
    assert_eq!(server.until("/rebuild", rebuilt).await?["rules"], json!(changed));

    // Rules with a mistake change nothing.
    fs::write(folder.path().join("health/apps/Deployment/health.lua"), "return {\nif\n")?;
    server.signal("HUP").await?;
    let begun = Instant::now();
    while !server.output().contains("the previous configuration stays in effect") {
        // A bound on hanging, not on speed.
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", server.output());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(verdict(&server, "first").await?[3], changed);
    server.stop().await?;

    // So it is with rules that changed while nothing ran.
    write(folder.path(), "Progressing")?;
    let server = Server::start(folder.path(), &config(&cluster)).await?;
    until(&server, "first", "Progressing").await?;
    server.stop().await?;

    write(folder.path(), "Healthy")?;
    let rebuilt = Command::new(PROGRAM)
        .args(["rebuild", "--config"])
        .arg(folder.path().join("config.yaml"))
        .arg("--data")
        .arg(folder.path().join("data"))
        .output()
        .await?;
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    let server = Server::start(folder.path(), &config(&cluster)).await?;
    let [health, .., new] = verdict(&server, "first").await?;
    assert_eq!(health, "Healthy");
    assert_eq!(server.ask("/rebuild").await?["state"], "none");
    // Right after its start, what is not watched yet makes it Unknown.
    let healthy = |found: &Value| found["health"]["state"] == "Healthy";
    let environment = server.until(ENVIRONMENT, healthy).await?;
    assert_eq!(environment["health"]["rule_set"], json!(new));
    let mut canary = deployment("canary");
    canary["metadata"]["labels"] = json!({"canary": "yes"});
    canary["metadata"]["deletionTimestamp"] = json!("2026-11-20T12:00:00Z");
    cluster.apply(canary);
    assert_eq!(verdict(&server, "canary").await?[0], "Progressing");
    // What is excepted does not count.
    let environment = server.until(ENVIRONMENT, healthy).await?;
    assert_eq!(environment["health"]["counts"]["progressing"], 1, "{environment}");
    server.stop().await
}

#[tokio::test]
async fn rules_that_make_no_sense_are_told_before_anything_starts() -> Result<()> {
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), "Healthy")?;
    fs::write(folder.path().join("health/apps/Deployment/health.lua"), "return {\nif\n")?;
    fs::write(folder.path().join("config.yaml"), config(&cluster))?;
    let refused = Command::new(PROGRAM)
        .args(["serve", "--config"])
        .arg(folder.path().join("config.yaml"))
        .output()
        .await?;
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("health.lua:2:") && told.contains("hint:"), "{told}");
    Ok(())
}
