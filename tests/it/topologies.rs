//! Several ways into one real cluster, each with an account of its own that may see little.

use std::path::Path;

use serde_json::Value;

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::server::{Result, Server, gaps, items};

/// Two namespaces with a ConfigMap and a Secret each; one account that sees ConfigMaps everywhere, and one that sees
/// Secrets and ConfigMaps of `shop`.
const MANIFESTS: &str = r#"
{kind: List, apiVersion: v1, items: [
  {apiVersion: v1, kind: Namespace, metadata: {name: shop}},
  {apiVersion: v1, kind: Namespace, metadata: {name: bank}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {round: "1"}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: bank}, data: {round: "1"}},
  {apiVersion: v1, kind: Secret, metadata: {name: password, namespace: shop}},
  {apiVersion: v1, kind: Secret, metadata: {name: password, namespace: bank}},
  {apiVersion: v1, kind: ServiceAccount, metadata: {name: wide, namespace: bank}},
  {apiVersion: v1, kind: ServiceAccount, metadata: {name: narrow, namespace: shop}},
  {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: wide},
   rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]},
  {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: wide},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wide},
   subjects: [{kind: ServiceAccount, name: wide, namespace: bank}]},
  {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: narrow, namespace: shop},
   rules: [{apiGroups: [""], resources: [secrets, configmaps], verbs: [get, list, watch]}]},
  {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: narrow, namespace: shop},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: narrow},
   subjects: [{kind: ServiceAccount, name: narrow, namespace: shop}]}
]}
"#;

const SECRETS_TOO: &str = r#"[{"op": "add", "path": "/rules/-", "value":
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}}]"#;

fn config(kubeconfig: &Path) -> String {
    let environment = |namespace: &str| {
        format!("  - {{project: shop/web, name: {namespace}, cluster: real, namespace: {namespace}}}\n")
    };
    format!(
        "kubeconfig: {}\nclusters:\n  - name: real\n    watchers:\n      - context: wide\n      \
         - {{context: narrow, namespaces: [shop]}}\nenvironments:\n{}{}",
        kubeconfig.display(),
        environment("shop"),
        environment("bank"),
    )
}

/// Kind and name of each resource of an environment, sorted; one that were told twice would stand there twice.
fn told(answer: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ours = items(answer).filter(|item| ["settings", "password"].iter().any(|name| item["name"] == *name));
    let mut told: Vec<_> =
        ours.map(|item| format!("{}/{}", text(&item["kind"]), text(&item["name"]))).collect();
    told.sort();
    told
}

fn has_gap(answer: &Value, kind: &str) -> bool {
    gaps(&answer["metadata"]).any(|gap| gap["kind"] == kind)
}

#[tokio::test(flavor = "multi_thread")]
async fn ways_that_see_little_add_up_without_duplicates() -> Result<()> {
    if skip_without_control_plane("ways_that_see_little_add_up_without_duplicates") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    plane.apply(MANIFESTS).await?;
    let folder = tempfile::tempdir()?;
    let config = config(&plane.kubeconfig_of(&[("wide", "bank"), ("narrow", "shop")]).await?);
    let server = Server::start(folder.path(), &config).await?;
    let resources = |environment: &str| format!("/environments/shop.web.{environment}/resources?limit=500");
    let both = ["ConfigMap/settings", "Secret/password"];

    let shop =
        server.until(&resources("shop"), |answer| told(answer) == both && !has_gap(answer, "Secret")).await?;
    assert!(!has_gap(&shop, "ConfigMap"));
    let bank = server.until(&resources("bank"), |answer| told(answer) == ["ConfigMap/settings"]).await?;
    assert!(has_gap(&bank, "Secret"), "what nobody may see of it is a gap");

    plane
        .kubectl(&["patch", "configmap", "settings", "-n", "shop", "--patch", r#"{"data":{"round":"2"}}"#])
        .await?;
    let settings = items(&shop).find(|item| item["name"] == "settings").ok_or("it is there")?;
    let history = format!("/resources/{}/history", settings["id"].as_str().unwrap_or_default());
    server.until(&history, |versions| items(versions).count() == 2).await?;

    plane.kubectl(&["patch", "clusterrole", "wide", "--type=json", "--patch", SECRETS_TOO]).await?;
    let bank =
        server.until(&resources("bank"), |answer| told(answer) == both && !has_gap(answer, "Secret")).await?;
    assert!(!has_gap(&bank, "ConfigMap"));
    let states = |answer: &Value| -> Vec<String> {
        let secrets = items(answer).filter(|item| item["kind"] == "Secret");
        secrets.map(|item| format!("{} {}", item["namespace"], item["state"]).replace('"', "")).collect()
    };
    server.until("/coverage?kind=Secret", |answer| states(answer) == [" watched", "shop excluded"]).await?;
    let shop = server.ask(&resources("shop")).await?;
    assert_eq!(told(&shop), both, "nothing was taken for gone, and nothing came twice");
    assert_eq!(items(&server.ask(&history).await?).count(), 2);
    server.stop().await?;
    plane.stop().await
}
