//! The chart in a real cluster that enforces the restricted profile of Pod Security.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::helm::{Helm, skip_without_helm};
use super::{OF_ALL, TOKEN, VALUES, block};
use crate::control_plane::harness::{ControlPlane, NODE, skip_without_control_plane};
use crate::server::{Result, Server, items, run};

const NAMESPACE: &str = "
apiVersion: v1
kind: Namespace
metadata:
  name: strandline
  labels:
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
";

fn skip(test: &str) -> bool {
    skip_without_helm(test) || skip_without_control_plane(test)
}

/// A cluster with the namespace and the definitions of the custom kinds that the chart can make.
async fn cluster() -> Result<(ControlPlane, Helm)> {
    let plane = ControlPlane::start().await?;
    let helm = Helm::at(plane.kubeconfig_path())?;
    plane.apply(NAMESPACE).await?;
    for (file, resource) in [
        ("httproute.yaml", "httproutes.gateway.networking.k8s.io"),
        ("servicemonitor.yaml", "servicemonitors.monitoring.coreos.com"),
        ("prometheusrule.yaml", "prometheusrules.monitoring.coreos.com"),
    ] {
        // Too large for the annotation of an ordinary apply.
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(file);
        std::fs::write(&path, helm.definition(file)?)?;
        plane.kubectl(&["create", "-f", &path.display().to_string()]).await?;
        plane.until_established(&[resource]).await?;
    }
    Ok((plane, helm))
}

/// Has the API server check manifests without keeping them; a warning, as Pod Security gives for templates, is an error.
async fn dry_run(plane: &ControlPlane, manifests: &str) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("manifests.yaml");
    std::fs::write(&path, manifests)?;
    let path = path.display().to_string();
    plane.kubectl(&["apply", "--warnings-as-errors", "--dry-run=server", "-f", &path]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_accepts_every_manifest_under_the_restricted_profile() -> Result<()> {
    if skip("a_cluster_accepts_every_manifest_under_the_restricted_profile") {
        return Ok(());
    }
    let (plane, helm) = cluster().await?;
    for (name, values) in VALUES {
        let made = dry_run(&plane, &helm.template("here", values).await?).await;
        let made = made.map_err(|error| format!("{name}: {error}"))?;
        assert!(made.contains("statefulset.apps/") && made.contains("job.batch/"), "{name}: {made}");
        if name == "everything" {
            for kind in [
                "httproute.",
                "servicemonitor.",
                "prometheusrule.",
                "ingress.",
                "poddisruptionbudget.",
                "networkpolicy.",
                "configmap/here-strandline-storage",
            ] {
                assert!(made.contains(kind), "{kind}: {made}");
            }
        }
    }
    // The test can fail: a Pod that may become root is refused.
    let open = helm.template("here", &["securityContext.allowPrivilegeEscalation=true"]).await?;
    let refused = dry_run(&plane, &open).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("PodSecurity"), "{refused}");
    let printed = run(&["manifest"], &[]).await?;
    dry_run(&plane, &printed).await?;
    the_roles_for_hubs_open_what_they_say(&plane, &helm).await?;
    plane.stop().await
}

/// Kinds of objects that are clusters of a hub; kubectl asks about none that is not served.
const OF_HUBS: [(&str, &str, &str, &str, &str); 2] = [
    ("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles", "Namespaced"),
    ("cluster.open-cluster-management.io", "v1", "ManagedCluster", "managedclusters", "Cluster"),
];

/// The roles for hubs, in the cluster, let the account read the objects of hubs and nothing beside them.
async fn the_roles_for_hubs_open_what_they_say(plane: &ControlPlane, helm: &Helm) -> Result<()> {
    for (group, version, kind, plural, scope) in OF_HUBS {
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": scope, "names": {"kind": kind, "plural": plural},
                "versions": [{"name": version, "served": true, "storage": true, "schema":
                    {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
        plane.apply(&definition.to_string()).await?;
        plane.until_established(&[format!("{plural}.{group}")]).await?;
    }
    let chart = helm.chart();
    let mut arguments = vec!["template", "here", &chart, "--namespace", "strandline"];
    arguments.extend(["--show-only", "templates/rbac.yaml"]);
    let (_, values) = VALUES.iter().find(|(name, _)| *name == "hub").ok_or("no such values")?;
    arguments.extend(values.iter().flat_map(|value| ["--set", value]));
    plane.apply(&helm.run(&arguments).await?).await?;
    let account = "--as=system:serviceaccount:strandline:here-strandline";
    let (profiles, clusters) =
        ("clusterprofiles.multicluster.x-k8s.io", "managedclusters.cluster.open-cluster-management.io");
    for (verb, resource, namespace, wanted) in [
        ("list", "secrets", "default", true),
        ("watch", "secrets", "default", true),
        ("get", "secrets", "default", false),
        ("list", "secrets", "kube-public", false),
        ("list", profiles, "default", true),
        ("watch", profiles, "kube-public", true),
        ("list", profiles, "kube-system", false),
        ("list", clusters, "", true),
        ("update", clusters, "", false),
        ("list", "secrets/strandline", "kube-system", true),
        ("watch", "secrets/strandline", "kube-system", true),
        ("list", "secrets/other", "kube-system", false),
    ] {
        let mut question = vec![verb, resource, account];
        question.extend(["-n", namespace].iter().filter(|_| !namespace.is_empty()));
        plane.check_access(&question, wanted).await?;
    }
    Ok(())
}

/// Assigns Pods to the node, since no scheduler runs.
async fn schedule(plane: &ControlPlane) -> Result<()> {
    loop {
        let waiting = ["get", "pods", "-n", "strandline", "--field-selector=spec.nodeName=", "-o", "name"];
        for pod in plane.kubectl(&waiting).await?.lines() {
            let name = pod.trim_start_matches("pod/");
            let binding = format!(
                "{{\"apiVersion\": \"v1\", \"kind\": \"Binding\", \"metadata\": {{\"name\": \"{name}\"}}, \
                 \"target\": {{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"name\": \"{NODE}\"}}}}"
            );
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("binding.json");
            std::fs::write(&path, binding)?;
            let raw = format!("--raw=/api/v1/namespaces/strandline/pods/{name}/binding");
            // One that is being replaced may be gone by now.
            let _ = plane.kubectl(&["create", &raw, "-f", &path.display().to_string()]).await;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Runs helm while Pods are assigned.
async fn scheduled(plane: &ControlPlane, helm: &Helm, arguments: &[&str]) -> Result<String> {
    tokio::select! {
        done = helm.run(arguments) => done,
        failed = schedule(plane) => failed.map(|()| String::new()),
    }
}

async fn arguments_of_server(plane: &ControlPlane) -> Result<String> {
    let path = "jsonpath={.spec.template.spec.containers[0].args}";
    plane.kubectl(&["get", "statefulset/strandline", "-n", "strandline", "-o", path]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_rolled_back_tested_and_removed() -> Result<()> {
    if skip("a_release_is_installed_upgraded_rolled_back_tested_and_removed") {
        return Ok(());
    }
    let (plane, helm) = cluster().await?;
    let chart = helm.chart();
    let common = ["--namespace", "strandline", "--wait", "--timeout", "3m"];
    let install = [&["install", "strandline", &chart][..], &common].concat();
    let notes = scheduled(&plane, &helm, &install).await?;
    assert!(notes.contains("port-forward statefulset/strandline 7979"), "{notes}");
    assert!(arguments_of_server(&plane).await?.contains("--listen=127.0.0.1:7979"));

    let tokens = ["--set", TOKEN, "--set", OF_ALL[0], "--set", OF_ALL[1]];
    let upgrade = [&["upgrade", "strandline", &chart][..], &common, &tokens].concat();
    scheduled(&plane, &helm, &upgrade).await?;
    assert!(arguments_of_server(&plane).await?.contains("--listen=0.0.0.0:7979"));
    let rollback = [&["rollback", "strandline", "1"][..], &common].concat();
    scheduled(&plane, &helm, &rollback).await?;
    assert!(arguments_of_server(&plane).await?.contains("--listen=127.0.0.1:7979"));
    let tested = scheduled(&plane, &helm, &["test", "strandline", "--namespace", "strandline"]).await?;
    assert!(tested.contains("Phase:") && tested.contains("Succeeded"), "{tested}");

    let account = "--as=system:serviceaccount:strandline:strandline";
    for (verb, resource, wanted) in [
        ("watch", "pods", true),
        ("list", "secrets", false),
        ("create", "pods", false),
        ("get", "nodes", true),
    ] {
        plane.check_access(&[verb, resource, account, "-A"], wanted).await?;
    }
    records_with_the_rights_of_the_release(&plane, &helm).await?;

    helm.run(&["uninstall", "strandline", "--namespace", "strandline", "--wait"]).await?;
    let left = plane
        .kubectl(&["get", "statefulsets,services,configmaps,pvc", "-n", "strandline", "-o", "name"])
        .await?;
    assert_eq!(
        left, "configmap/kube-root-ca.crt\npersistentvolumeclaim/data-strandline-0\n",
        "the record stays"
    );
    let roles = plane.kubectl(&["get", "clusterroles,clusterrolebindings", "-o", "name"]).await?;
    assert!(!roles.contains("strandline"), "{roles}");
    plane.stop().await
}

/// The configuration of the release and its account are all that the server needs. It runs outside of the cluster here, so
/// the account's token is in a kubeconfig.
async fn records_with_the_rights_of_the_release(plane: &ControlPlane, helm: &Helm) -> Result<()> {
    let rendered = helm.template("strandline", &[]).await?;
    let config = block(&rendered, "strandline.yaml: |").ok_or("no configuration")?;
    let kubeconfig = plane.kubeconfig_of(&[("strandline", "strandline")]).await?;
    let config = config.replace("in_cluster: true", &format!("kubeconfig: {}", kubeconfig.display()));
    assert!(config.contains("kubeconfig"), "{config}");
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config).await?;
    let is_there = |answer: &Value, id: &str| items(answer).any(|item| item["id"] == id);
    let all = |answer: &Value| is_there(answer, "local.strandline") && is_there(answer, "local.kube-system");
    server.until("/environments?limit=100", all).await?;
    let own = "/environments/local.strandline/resources?kind=StatefulSet";
    server.until(own, |answer| items(answer).count() == 1).await?;
    // The roles cover every kind of the cluster but those of the Prometheus operator, whose group the values do not name.
    let settled = |answer: &Value| {
        let all: Vec<&Value> = items(answer).collect();
        !all.is_empty() && all.iter().all(|item| item["reason"] != "listing")
    };
    let gaps = server.until("/coverage?state=gap&limit=500", settled).await?;
    let mut gaps: Vec<_> =
        items(&gaps).map(|item| (item["kind"].as_str(), item["reason"].as_str())).collect();
    gaps.sort_unstable();
    assert_eq!(gaps, ["PrometheusRule", "ServiceMonitor"].map(|kind| (Some(kind), Some("forbidden"))));
    server.stop().await
}
