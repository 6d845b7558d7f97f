//! Kinds of a real cluster that change and go, and rights that are taken away: what is answered about before, during and after.

use serde_json::Value;
use strandline_clock::{Clock, SystemClock};

use crate::control_plane::harness::ControlPlane;
use crate::server::{Result, Server, has_gap, items};

const GADGETS: &str = "/resources?kind=Gadget.past.example";

/// The definition with these versions, the first of which is stored.
fn definition(versions: &[&str], conversion: &str) -> String {
    let version = |(index, name): (usize, &&str)| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {}\n    schema: {{openAPIV3Schema: {{type: object, \
             x-kubernetes-preserve-unknown-fields: true}}}}\n",
            index == 0
        )
    };
    let versions: String = versions.iter().enumerate().map(version).collect();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
         metadata: {{name: gadgets.past.example}}\nspec:\n  group: past.example\n  scope: Namespaced\n  \
         names: {{plural: gadgets, singular: gadget, kind: Gadget}}\n  conversion: {conversion}\n  versions:\n{versions}"
    )
}

fn gadget(version: &str) -> String {
    format!(
        "apiVersion: past.example/{version}\nkind: Gadget\nmetadata: {{name: one, namespace: default}}\nspec: {{a: 1}}\n"
    )
}

fn state<'a>(coverage: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let text = |item: &'a Value, field: &str| item[field].as_str().unwrap_or_default();
    let of = |item: &&Value| item["kind"] == kind;
    items(coverage).find(of).map_or(("", ""), |item| (text(item, "state"), text(item, "reason")))
}

async fn offset(server: &Server) -> Result<u64> {
    let list = server.ask(GADGETS).await?;
    list["metadata"]["offset"].as_u64().ok_or_else(|| "no offset".into())
}

/// What is recorded of the gadget.
async fn recorded(server: &Server) -> Result<Value> {
    let list = server.ask(GADGETS).await?;
    let uid = items(&list).next().and_then(|item| item["id"].as_str()).unwrap_or_default().to_owned();
    server.ask(&format!("/resources/{uid}")).await
}

async fn until_in_version(server: &Server, version: &str) -> Result<()> {
    for _ in 0..600 {
        let found = recorded(server).await.unwrap_or_default();
        if found["object"]["apiVersion"] == format!("past.example/{version}") {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Err(format!("never in {version}: {:?}\n{}", recorded(server).await, server.output()).into())
}

/// A kind is served in a newer version, cannot be converted for a while, and is removed.
pub(super) async fn change_and_go(mut plane: ControlPlane) -> Result<()> {
    plane.apply(&definition(&["v1alpha1"], "{strategy: None}")).await?;
    plane.until_established(&["gadgets.past.example"]).await?;
    plane.apply(&gadget("v1alpha1")).await?;
    let folder = tempfile::tempdir()?;
    let config =
        format!("clusters:\n  - name: real\n    kubeconfig: {}\n", plane.kubeconfig_path().display());
    let mut server = Server::start(folder.path(), &config).await?;
    until_in_version(&server, "v1alpha1").await?;

    plane.apply(&definition(&["v1", "v1alpha1"], "{strategy: None}")).await?;
    until_in_version(&server, "v1").await?;
    let served = offset(&server).await?;

    // What is stored in the old version cannot be read while nobody converts it.
    let nowhere = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: \"https://127.0.0.1:1/\"}}}";
    server.kill().await?;
    plane.apply(&definition(&["v1", "v1alpha1"], nowhere)).await?;
    plane.compact_store().await?;
    server.start_again().await?;
    server.until("/coverage?kind=Gadget.past.example", |answer| state(answer, "Gadget").0 == "gap").await?;
    let meanwhile = server.ask(GADGETS).await?;
    assert_eq!(items(&meanwhile).count(), 1, "what cannot be read is not gone: {meanwhile}");
    assert_eq!(meanwhile["metadata"]["coverage"]["complete"], false);

    plane.apply(&definition(&["v1", "v1alpha1"], "{strategy: None}")).await?;
    server
        .until("/coverage?kind=Gadget.past.example", |answer| state(answer, "Gadget").0 == "watched")
        .await?;
    plane.kubectl(&["delete", "crd", "gadgets.past.example"]).await?;
    server
        .until("/coverage?kind=Gadget.past.example", |answer| {
            state(answer, "Gadget") == ("excluded", "removed")
        })
        .await?;
    let after = server.until(GADGETS, |answer| items(answer).count() == 0).await?;
    assert!(after["metadata"]["offset"].as_u64() > Some(served));
    let before = server.ask(&format!("{GADGETS}&at={served}")).await?;
    assert_eq!(items(&before).count(), 1, "it was there: {before}");
    server.stop().await?;
    plane.stop().await
}

/// The account that watches may do nothing for a while.
pub(super) async fn lose_rights(mut plane: ControlPlane) -> Result<()> {
    const MAPS: &str = "/resources?kind=ConfigMap&namespace=rights&name=one";
    const COVERAGE: &str = "/coverage?kind=ConfigMap";
    let bind =
        ["create", "clusterrolebinding", "watcher", "--clusterrole=view", "--serviceaccount=rights:watcher"];
    plane.kubectl(&["create", "namespace", "rights"]).await?;
    plane.kubectl(&["create", "serviceaccount", "watcher", "-n", "rights"]).await?;
    plane.kubectl(&bind).await?;
    plane.kubectl(&["create", "configmap", "one", "-n", "rights"]).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = plane.kubeconfig_of(&[("watcher", "rights")]).await?;
    let config = format!("clusters:\n  - name: real\n    kubeconfig: {}\n", kubeconfig.display());
    let server = Server::start(folder.path(), &config).await?;
    server.until(MAPS, |answer| items(answer).count() == 1).await?;

    plane.kubectl(&["delete", "clusterrolebinding", "watcher"]).await?;
    // A watch that is open goes on; the next one is refused.
    plane.stop_api_server().await?;
    plane.start_api_server().await?;
    server.until(COVERAGE, |answer| state(answer, "ConfigMap") == ("gap", "forbidden")).await?;
    plane.kubectl(&["delete", "configmap", "one", "-n", "rights"]).await?;
    let moment = SystemClock.now();
    let blind = server.ask(MAPS).await?;
    assert_eq!(items(&blind).count(), 1, "what may not be seen is not gone: {blind}");
    assert_eq!(blind["metadata"]["coverage"]["complete"], false);

    plane.kubectl(&bind).await?;
    server.until(MAPS, |answer| items(answer).count() == 0).await?;
    server.until(COVERAGE, |answer| state(answer, "ConfigMap").0 == "watched").await?;
    let then = server.ask(&format!("{MAPS}&at={moment}")).await?;
    assert!(has_gap(&then, "ConfigMap", "forbidden"), "the moment lies in the gap: {}", then["metadata"]);
    server.stop().await?;
    plane.stop().await
}
