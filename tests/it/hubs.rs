//! Clusters that come and go with the objects of a hub.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, ServedKind, builtin_kinds};

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::server::{Result, Server, get, ids, items, names};
use crate::simulated::{add_pod, cluster};

/// A Secret as Cluster API keeps it of a cluster.
fn secret(cluster: &str, kubeconfig: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {"name": format!("{cluster}-kubeconfig"), "namespace": "fleet",
            "labels": {"cluster.x-k8s.io/cluster-name": cluster}},
        "data": {"value": BASE64.encode(kubeconfig.as_bytes())}})
}

async fn until_metric(server: &Server, line: &str) -> Result<()> {
    let begun = Instant::now();
    while !get(&format!("{}/metrics", server.url())).await?.1.contains(line) {
        assert!(begun.elapsed() < Duration::from_secs(120), "never `{line}`: {}", server.output());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_come_go_and_change_with_the_secrets_of_a_hub() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (hub, one, two) =
        (ApiServer::start("hub", builtin_kinds()).await?, cluster("one").await?, cluster("two").await?);
    hub.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleet"}}));
    hub.apply(secret("eu-1", &one.kubeconfig()));
    hub.apply(secret("broken", "users: [{name: u, user: {token: canary-token}}]\nclusters: ["));
    hub.apply(secret("outside", &one.kubeconfig().replace("user: {}", "user: {tokenFile: /etc/hostname}")));
    hub.apply(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "eu-1-ca", "namespace": "fleet",
        "labels": {"cluster.x-k8s.io/cluster-name": "eu-1"}}, "data": {"tls.key": "Y2FuYXJ5LWtleQ=="}}),
    );
    let config = format!(
        "hubs:\n  - {{name: fleet, source: cluster_api, namespace: fleet, url: '{}', \
         namespace_environments: {{project: fleet}}}}\n\
         environments:\n  - {{project: shop/web, name: later, cluster: us-1, namespace: shop}}\n",
        hub.url()
    );
    let server = Server::start(folder.path(), &config).await?;

    // What can be recorded is, and what has no credentials that can be used lies in a gap that says why.
    let resources = "/environments/fleet.shop/resources";
    server.until(resources, |list| names(list) == ["one"]).await?;
    for name in ["broken", "outside"] {
        let gap = |list: &Value| items(list).any(|watch| watch["reason"] == "credentials");
        server.until(&format!("/coverage?cluster={name}&state=gap"), gap).await?;
    }
    assert_eq!(ids(&server.ask("/clusters").await?), ["broken", "eu-1", "outside"]);
    until_metric(&server, "strandline_hub_up{hub=\"fleet\"} 1").await?;

    // Another Secret is another cluster; the first goes on without a gap.
    hub.apply(secret("us-1", &two.kubeconfig()));
    server.until("/environments/shop.web.later/resources", |list| names(list) == ["two"]).await?;
    server.until_logged("clusters added: us-1").await?;

    // Credentials that are renewed are taken, of that cluster only.
    let three = cluster("three").await?;
    hub.apply(secret("broken", &three.kubeconfig()));
    server.until_logged("clusters changed: broken\"").await?;
    server.until("/coverage?cluster=broken&state=gap", |gaps| items(gaps).count() == 0).await?;
    server.until(resources, |list| names(list) == ["one", "three", "two"]).await?;
    let gaps = server.ask("/coverage?cluster=eu-1&state=gap").await?;
    assert_eq!(items(&gaps).count(), 0, "{gaps:#}");

    // A hub that does not answer changes nothing, and neither does a restart meanwhile but for the credentials.
    hub.stop().await;
    until_metric(&server, "strandline_hub_up{hub=\"fleet\"} 0").await?;
    add_pod(&two, "more");
    server.until("/environments/shop.web.later/resources", |list| names(list) == ["more", "two"]).await?;
    server.stop().await?;
    let server = Server::start(folder.path(), &config).await?;
    assert_eq!(ids(&server.ask("/clusters").await?), ["broken", "eu-1", "outside", "us-1"]);
    let unread = |list: &Value| {
        items(list)
            .any(|watch| watch["message"].as_str().is_some_and(|why| why.contains("was not read since")))
    };
    server.until("/coverage?cluster=eu-1&state=gap", unread).await?;
    hub.start_again().await?;
    server.until("/coverage?cluster=eu-1&state=gap", |gaps| items(gaps).count() == 0).await?;

    // A Secret that is deleted takes its cluster out.
    hub.delete("", "Secret", "fleet", "eu-1-kubeconfig");
    server.until_logged("clusters removed: eu-1").await?;
    server.until("/clusters", |list| ids(list) == ["broken", "outside", "us-1"]).await?;

    // Nothing of the credentials is kept or shown.
    for path in ["coverage", "clusters"] {
        let (_, text) = get(&format!("{}/api/v1/{path}", server.url())).await?;
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(!server.output().contains("canary"), "{}", server.output());
    server.stop().await?;
    crate::server::assert_nowhere(&folder.path().join("data"), &["canary-token", "canary-key"])
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_are_taken_from_profiles_with_the_credentials_of_a_program() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut kinds = builtin_kinds();
    let profiles = ("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles");
    kinds.push(ServedKind {
        custom: true,
        ..ServedKind::builtin(profiles.0, profiles.1, profiles.2, profiles.3, true)
    });
    let (hub, one) = (ApiServer::start("hub", kinds).await?, cluster("one").await?);
    // A program that shows for which cluster it was run.
    let program = folder.path().join("credentials");
    let asked = folder.path().join("asked");
    std::fs::write(
        &program,
        format!(
            "#!/bin/sh\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" > {}\n\
             echo '{{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", \"status\": {{\"token\": \"t\"}}}}'\n",
            asked.display()
        ),
    )?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700))?;
    let profile = |name: &str, provider: &str| {
        json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "namespace": "fleet"}, "spec": {"clusterManager": {"name": "test"}},
            "status": {"accessProviders": [{"name": provider, "cluster": {"server": one.url(), "extensions": [
                {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "one-of-the-fleet"}}]}}]}})
    };
    hub.apply(profile("eu-1", "test"));
    hub.apply(profile("eu-2", "unknown"));
    let config = format!(
        "hubs:\n  - name: fleet\n    source: cluster_profiles\n    url: '{}'\n    providers: [{{name: test, command: {}}}]\n\
         \x20   namespace_environments: {{project: fleet}}\n",
        hub.url(),
        program.display()
    );
    let server = Server::start(folder.path(), &config).await?;
    server.until("/environments/fleet.shop/resources", |list| names(list) == ["one"]).await?;
    // Of all namespaces of a hub, names begin with them.
    server.until("/clusters", |list| ids(list) == ["fleet.eu-1", "fleet.eu-2"]).await?;
    let none = |list: &Value| {
        items(list).any(|watch| watch["message"].as_str().is_some_and(|why| why.contains("`unknown`")))
    };
    server.until("/coverage?cluster=fleet.eu-2&state=gap", none).await?;
    assert!(std::fs::read_to_string(&asked)?.contains("one-of-the-fleet"));
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_hub_says_what_its_role_lacks_and_gives_its_clusters_once_it_may() -> Result<()> {
    let test = "a_real_hub_says_what_its_role_lacks_and_gives_its_clusters_once_it_may";
    if skip_without_control_plane(test) {
        return Ok(());
    }
    let (plane, folder) = (ControlPlane::start().await?, tempfile::tempdir()?);
    // The hub is one of its own clusters, and the account for it is another one.
    let admin = plane.kubectl(&["config", "view", "--minify", "--flatten", "--raw"]).await?;
    for manifest in [
        "{apiVersion: v1, kind: Namespace, metadata: {name: fleet}}".to_owned(),
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: strandline, namespace: fleet}}".to_owned(),
        secret("one", &admin).to_string(),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen", "namespace": "fleet"}})
            .to_string(),
    ] {
        plane.apply(&manifest).await?;
    }
    let kubeconfig = plane.kubeconfig_of(&[("strandline", "fleet")]).await?;
    let config = format!(
        "hubs:\n  - {{name: fleet, source: cluster_api, namespace: fleet, kubeconfig: '{}', \
         namespace_environments: {{project: fleet, names: [fleet]}}}}\n",
        kubeconfig.display()
    );
    let server = Server::start(folder.path(), &config).await?;
    server.until_logged("secrets is forbidden").await?;

    // The Role of the documents.
    let page = crate::checkout::read("docs/operations/rbac.md");
    let role = page.split("```text\n").find(|block| block.contains("kind: Role")).ok_or("a Role")?;
    let role =
        role.split("```").next().unwrap_or_default().replace("namespace: clusters", "namespace: fleet");
    plane.apply(&role).await?;
    plane
        .apply(
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: strandline-hub, namespace: fleet}, \
             roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: strandline-hub}, \
             subjects: [{kind: ServiceAccount, name: strandline, namespace: fleet}]}",
        )
        .await?;
    let resources = "/environments/fleet.fleet/resources?kind=ConfigMap";
    server.until(resources, |list| names(list).contains(&"seen")).await?;

    // A watch of the real server reports what changes.
    plane.kubectl(&["delete", "secret", "one-kubeconfig", "--namespace", "fleet"]).await?;
    server.until("/clusters", |list| items(list).count() == 0).await?;
    server.stop().await?;
    plane.stop().await
}
