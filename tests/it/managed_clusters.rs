//! Clusters that come and go with the ManagedClusters of a hub of Open Cluster Management.

use data_encoding::BASE64;
use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, ServedKind, builtin_kinds};

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::https::{AUTHORITY, proxy};
use crate::server::{Result, Server, assert_nowhere, get, ids, items, names};
use crate::simulated::cluster;

/// A ManagedCluster, accepted and with this address.
fn managed(name: &str, url: &str, bundle: &str) -> Value {
    json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": name},
        "spec": {"hubAcceptsClient": true, "managedClusterClientConfigs": [{"url": url, "caBundle": bundle}]}})
}

/// The Secret that managed-serviceaccount keeps of an account.
fn token_of(cluster: &str, account: &str, token: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": account, "namespace": cluster,
            "labels": {"authentication.open-cluster-management.io/is-managed-serviceaccount": "true"}},
        "data": {"token": BASE64.encode(token.as_bytes())}})
}

/// Waits until a cluster lies in a gap with these words.
async fn until_gap(server: &Server, cluster: &str, words: &str) -> Result<Value> {
    let said = |watch: &Value| {
        watch["reason"] == "credentials" && watch["message"].as_str().is_some_and(|why| why.contains(words))
    };
    server.until(&format!("/coverage?cluster={cluster}&state=gap"), |list| items(list).any(said)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_come_go_and_change_with_the_managed_clusters_of_a_hub() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut kinds = builtin_kinds();
    let group = "cluster.open-cluster-management.io";
    kinds.push(ServedKind {
        custom: true,
        ..ServedKind::builtin(group, "v1", "ManagedCluster", "managedclusters", false)
    });
    let (hub, one, two) =
        (ApiServer::start("hub", kinds).await?, cluster("one").await?, cluster("two").await?);
    let encrypted = async |cluster: &ApiServer| -> Result<String> {
        let to = cluster.url().strip_prefix("http://").ok_or("no address")?.parse()?;
        Ok(format!("https://{}", proxy(to).await?))
    };
    let (bundle, at_one, at_two) =
        (BASE64.encode(&std::fs::read(AUTHORITY)?), encrypted(&one).await?, encrypted(&two).await?);
    hub.apply(managed("eu-1", &at_one, &bundle));
    hub.apply(token_of("eu-1", "reader", "canary-one"));
    // One has no token: that of another name, that of another namespace, and what is of no ManagedServiceAccount are not its own.
    hub.apply(managed("eu-2", &at_two, &bundle));
    hub.apply(token_of("eu-2", "other", "canary-two"));
    let mut unlabelled = token_of("eu-2", "reader", "canary-three");
    unlabelled["metadata"]["labels"] = json!({});
    hub.apply(unlabelled);
    hub.apply(managed("inside", "http://169.254.169.254/latest", ""));
    hub.apply(token_of("inside", "reader", "canary-four"));
    // Another authority than that of its server, or none, is no reason to go on unverified.
    hub.apply(managed("other-ca", &at_one, ""));
    hub.apply(token_of("other-ca", "reader", "canary-five"));
    let mut waiting = managed("waiting", &at_two, &bundle);
    waiting["spec"]["hubAcceptsClient"] = json!(false);
    hub.apply(waiting.clone());
    let config = format!(
        "hubs:\n  - {{name: fleet, source: managed_clusters, service_account: reader, url: '{}', \
         namespace_environments: {{project: fleet}}}}\n",
        hub.url()
    );
    let server = Server::start(folder.path(), &config).await?;

    let resources = "/environments/fleet.shop/resources";
    server.until(resources, |list| names(list) == ["one"]).await?;
    assert_eq!(ids(&server.ask("/clusters").await?), ["eu-1", "eu-2", "inside", "other-ca"]);
    until_gap(&server, "eu-2", "the hub has no Secret eu-2/reader").await?;
    until_gap(&server, "inside", "does not begin with https://").await?;
    let unverified = |list: &Value| {
        items(list).any(|watch| watch["message"].as_str().is_some_and(|why| why.contains("certificate")))
    };
    server.until("/coverage?cluster=other-ca&state=gap", unverified).await?;

    // A cluster that the hub accepts is one, and one that has its token now is recorded; the first goes on without a gap.
    waiting["spec"]["hubAcceptsClient"] = json!(true);
    hub.apply(waiting.clone());
    server.until_logged("clusters added: waiting").await?;
    hub.apply(token_of("eu-2", "reader", "canary-six"));
    server.until(resources, |list| names(list) == ["one", "two"]).await?;
    server.until("/coverage?cluster=eu-2&state=gap", |gaps| items(gaps).count() == 0).await?;
    let gaps = server.ask("/coverage?cluster=eu-1&state=gap").await?;
    assert_eq!(items(&gaps).count(), 0, "{gaps:#}");

    // A token that is renewed is taken, of that cluster only.
    hub.apply(token_of("eu-1", "reader", "canary-seven"));
    server.until_logged("clusters changed: eu-1\"").await?;
    server.until("/coverage?cluster=eu-1&state=gap", |gaps| items(gaps).count() == 0).await?;

    // What is no longer accepted, is being deleted or is gone leaves.
    waiting["spec"]["hubAcceptsClient"] = json!(false);
    hub.apply(waiting);
    server.until_logged("clusters removed: waiting").await?;
    let mut leaving = managed("eu-2", &at_two, &bundle);
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    leaving["metadata"]["finalizers"] = json!(["cluster.open-cluster-management.io/api-resource-cleanup"]);
    hub.apply(leaving);
    server.until_logged("clusters removed: eu-2").await?;
    hub.delete(group, "ManagedCluster", "", "inside");
    server.until("/clusters", |list| ids(list) == ["eu-1", "other-ca"]).await?;

    for path in ["coverage", "clusters"] {
        let (_, text) = get(&format!("{}/api/v1/{path}", server.url())).await?;
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(!server.output().contains("canary"), "{}", server.output());
    server.stop().await?;
    assert_nowhere(&folder.path().join("data"), &["canary"])
}

/// As much of the definition as it takes for such objects.
const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: managedclusters.cluster.open-cluster-management.io
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: cluster.open-cluster-management.io
  scope: Cluster
  names: {kind: ManagedCluster, listKind: ManagedClusterList, plural: managedclusters, singular: managedcluster}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                hubAcceptsClient: {type: boolean}
                managedClusterClientConfigs:
                  type: array
                  items:
                    type: object
                    required: [url]
                    properties:
                      url: {type: string}
                      caBundle: {type: string, format: byte}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_real_hub_gives_its_managed_clusters_to_an_account_with_the_documents_role() -> Result<()> {
    let test = "a_real_hub_gives_its_managed_clusters_to_an_account_with_the_documents_role";
    if skip_without_control_plane(test) {
        return Ok(());
    }
    let (plane, folder) = (ControlPlane::start().await?, tempfile::tempdir()?);
    // The hub is one of its own clusters. One account reads the hub, and another one is that of the cluster.
    plane.apply(DEFINITION).await?;
    plane.until_established(&["managedclusters.cluster.open-cluster-management.io"]).await?;
    for namespace in ["one", "strandline"] {
        plane.kubectl(&["create", "namespace", namespace]).await?;
        plane.kubectl(&["create", "serviceaccount", "strandline", "-n", namespace]).await?;
    }
    plane.kubectl(&["create", "configmap", "seen", "-n", "one"]).await?;
    let admin = plane.kubectl(&["config", "view", "--minify", "--flatten", "--raw", "-o", "json"]).await?;
    let admin: Value = serde_json::from_str(&admin)?;
    let at = &admin["clusters"][0]["cluster"];
    let text = |key: &str| at[key].as_str().map(str::to_owned).ok_or_else(|| format!("no {key}"));
    let one = managed("one", &text("server")?, &text("certificate-authority-data")?);
    plane.apply(&one.to_string()).await?;
    let token = plane.kubectl(&["create", "token", "strandline", "-n", "one"]).await?;
    plane.apply(&token_of("one", "strandline", token.trim()).to_string()).await?;
    plane.apply(&token_of("one", "elsewhere", "a").to_string()).await?;
    let kubeconfig = plane.kubeconfig_of(&[("strandline", "strandline")]).await?;
    let config = format!(
        "hubs:\n  - {{name: fleet, source: managed_clusters, kubeconfig: '{}', \
         namespace_environments: {{project: fleet, names: [one]}}}}\n",
        kubeconfig.display()
    );
    let server = Server::start(folder.path(), &config).await?;
    server.until_logged("managedclusters.cluster.open-cluster-management.io is forbidden").await?;

    // The ClusterRole of the documents, and for the cluster's own account a Role of what is to be recorded.
    let page = crate::checkout::read("docs/operations/rbac.md");
    let role = page.split("```text\n").find(|block| block.contains("managedclusters")).ok_or("a role")?;
    plane.apply(role.split("```").next().unwrap_or_default()).await?;
    let bind = ["create", "clusterrolebinding", "hub", "--clusterrole=strandline-hub"];
    plane.kubectl(&[&bind[..], &["--serviceaccount=strandline:strandline"]].concat()).await?;
    let view =
        ["create", "clusterrolebinding", "cluster", "--clusterrole=view", "--serviceaccount=one:strandline"];
    plane.kubectl(&view).await?;
    let resources = "/environments/fleet.one/resources?kind=ConfigMap";
    server.until(resources, |list| names(list).contains(&"seen")).await?;

    // The role opens no other Secret.
    let as_it = |path: &'static str| {
        let (plane, kubeconfig) = (&plane, kubeconfig.display().to_string());
        async move { plane.kubectl(&["--kubeconfig", &kubeconfig, "get", "--raw", path]).await }
    };
    as_it("/api/v1/secrets?fieldSelector=metadata.name%3Dstrandline").await?;
    for path in ["/api/v1/secrets", "/api/v1/secrets?fieldSelector=metadata.name%3Delsewhere"] {
        let refused = as_it(path).await.err().ok_or("no refusal")?.to_string();
        assert!(refused.contains("forbidden"), "{path}: {refused}");
    }

    // The watches of the real server report a token that is gone, and a cluster that is no longer accepted.
    plane.kubectl(&["delete", "secret", "strandline", "-n", "one"]).await?;
    until_gap(&server, "one", "the hub has no Secret one/strandline").await?;
    let refuse = r#"{"spec": {"hubAcceptsClient": false}}"#;
    plane.kubectl(&["patch", "managedcluster", "one", "--type=merge", "-p", refuse]).await?;
    server.until("/clusters", |list| items(list).count() == 0).await?;
    server.stop().await?;
    plane.stop().await
}
