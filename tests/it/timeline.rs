//! A rollout, one that fails and its rollback by real controllers: what happened, and which change broke it.

use serde_json::Value;

use crate::control_plane::harness::{ControlPlane, NODE, skip_without_control_plane};
use crate::server::{Result, Server};

const ENVIRONMENT: &str = "/environments/shop.web.production";

fn config(plane: &ControlPlane) -> String {
    format!(
        "clusters:\n  - name: real\n    kubeconfig: {}\n\
         projects:\n  - path: shop/web\n\
         environments:\n  - {{project: shop/web, name: production, cluster: real, namespace: shop, labels: {{}}}}\n",
        plane.kubeconfig_path().display()
    )
}

/// A Deployment whose Pods are told to run on this node; nobody starts what is on a node that is not there.
fn deployment(image: &str, node: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: {{replicas: 2, \
         progressDeadlineSeconds: 10, selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, \
         spec: {{nodeName: {node}, containers: [{{name: main, image: \"{image}\"}}]}}}}}}}}\n"
    )
}

fn is(health: &'static str) -> impl Fn(&Value) -> bool {
    move |environment| environment["health"]["state"] == health
}

fn list<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of[name].as_array().into_iter().flatten()
}

/// The image that a change of the Deployment set, where it did.
fn image_of(change: &Value) -> Option<&str> {
    let of_image = |one: &&Value| one["path"].as_str().is_some_and(|path| path.ends_with(".image"));
    list(change, "differences").find(of_image)?["after"].as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_change_that_broke_a_rollout_is_named() -> Result<()> {
    if skip_without_control_plane("the_change_that_broke_a_rollout_is_named") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(folder.path(), &config(&plane)).await?;
    plane.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n").await?;
    plane.apply(&deployment("example.com/main:1", NODE)).await?;
    server.until(ENVIRONMENT, is("Healthy")).await?;
    plane.apply(&deployment("example.com/main:2", NODE)).await?;
    server.until("/images?image=example.com/main:2", |images| list(images, "items").next().is_some()).await?;
    server.until(ENVIRONMENT, is("Healthy")).await?;
    plane.apply(&deployment("example.com/main:3", "nowhere")).await?;
    server.until(ENVIRONMENT, is("Degraded")).await?;
    let onset = server.ask(&format!("{ENVIRONMENT}/onset?health=Degraded")).await?;
    let cause = list(&onset, "causes").next().ok_or("no cause is told")?;
    assert_eq!(
        (&cause["rank"], &cause["resource"]["kind"]),
        (&"cause".into(), &"Deployment".into()),
        "{cause}"
    );
    assert_eq!(image_of(cause), Some("example.com/main:3"), "{cause}");
    assert!(cause["resource"]["changed_by"]["manager"].is_string(), "{cause}");
    // Rolled back, and after a crash and a view that is built anew, it is told as before.
    plane.kubectl(&["rollout", "undo", "deployment/web", "-n", "shop"]).await?;
    server.until(ENVIRONMENT, is("Healthy")).await?;
    server.kill_and_restart().await?;
    server.stop().await?;
    std::fs::remove_file(folder.path().join("data/view.db"))?;
    let server = Server::start(folder.path(), &config(&plane)).await?;
    let asked = onset["metadata"]["offset"].as_u64().ok_or("it names its offset")?;
    let again = server.ask(&format!("{ENVIRONMENT}/onset?health=Degraded&at={asked}")).await?;
    assert_eq!(again["causes"], onset["causes"]);
    let last = server.ask(&format!("{ENVIRONMENT}/onset?health=Degraded")).await?;
    assert!(list(&last, "causes").next().is_some(), "it is told although it is over: {last}");
    let timeline = server.ask(&format!("{ENVIRONMENT}/timeline?since=1h&lane=health&limit=100")).await?;
    let became: Vec<_> = list(&timeline, "entries").map(Value::to_string).collect();
    let degraded = became.iter().position(|entry| entry.contains("Degraded"));
    assert!(degraded.is_some_and(|place| place > 0), "it became well after it: {became:?}");
    let page = server.ask(&format!("{ENVIRONMENT}/timeline?since=1h")).await?;
    assert!(page["totals"]["changes"].as_u64() > Some(3), "{}", page["totals"]);
    server.stop().await?;
    plane.stop().await
}
