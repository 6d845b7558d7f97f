//! What GitOps tools and a cluster itself say of environments, on a real control plane.

use std::collections::BTreeSet;

use serde_json::Value;
use strandline_object::Object;
use strandline_object::gitlab_deployment::Declaration;

use crate::control_plane::harness::{ControlPlane, NODE, skip_without_control_plane};
use crate::server::{Result, Server, items};

const DEFINITIONS: [&str; 2] = [
    include_str!("../../api/crds/gitlabdeployments.yaml"),
    include_str!("../../api/crds/gitlabmonitorings.yaml"),
];

/// The two kinds as they were proposed.
const DECLARED: &str = "
apiVersion: gitlabdeploymentcontroller.gitlab.com/v1
kind: GitLabDeployment
metadata:
  name: my-compute-environment
spec:
  environment: production
  namespace: my-compute-environment # default `metadata.name`
  serviceAccount: {} # default name `metadata.name`
  projects:
    - my-team/project
  groups:
    - other-team
---
apiVersion: gitlabdeploymentcontroller.gitlab.com/v1
kind: GitLabMonitoring
metadata:
  name: my-compute-environment-metrics
spec:
  gitLabDeploymentRef:
    name: my-compute-environment
  prometheus: {url: 'https://prometheus.example.com', scrape: {interval: 30s}}
";

async fn define(plane: &ControlPlane) -> Result<()> {
    for definition in DEFINITIONS {
        plane.apply(definition).await?;
    }
    let names = ["gitlabdeployments", "gitlabmonitorings"]
        .map(|plural| format!("{plural}.gitlabdeploymentcontroller.gitlab.com"));
    plane.until_established(&names).await
}

fn deployment(spec: &str) -> String {
    format!(
        "{{apiVersion: gitlabdeploymentcontroller.gitlab.com/v1, kind: GitLabDeployment, metadata: {{name: wrong}}, \
         spec: {spec}}}"
    )
}

/// Edge and far end of each link, with whether that is there.
fn links(answer: &Value) -> BTreeSet<String> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let link = |item: &Value| {
        let far = format!("{}/{}", text(item, "kind"), text(item, "name"));
        format!("{} {} {far} {}", text(item, "far"), text(item, "edge"), item["exists"])
    };
    items(answer).map(link).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_declares_environments_by_itself() -> Result<()> {
    if skip_without_control_plane("a_cluster_declares_environments_by_itself") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    define(&plane).await?;
    plane.apply(DECLARED).await?;
    for spec in [
        "{}",
        "{environment: ''}",
        "{environment: a, namespace: Not_One}",
        "{environment: a, projects: [a/b, a/b]}",
    ] {
        let refused = plane.apply(&deployment(spec)).await.map_err(|error| error.to_string());
        assert!(refused.as_ref().is_err_and(|error| error.contains("is invalid")), "{spec}: {refused:?}");
    }
    let written = plane.kubectl(&["get", "gitlabdeployment", "my-compute-environment", "-o", "json"]).await?;
    let read = Declaration::read(&Object::parse(&written)?).map_err(|mistakes| format!("{mistakes:?}"))?;
    assert_eq!((&*read.environment, &*read.namespace), ("production", "my-compute-environment"));
    assert_eq!(
        (read.projects.concat(), read.groups.concat()),
        ("my-team/project".into(), "other-team".into())
    );

    let folder = tempfile::tempdir()?;
    let config =
        format!("clusters:\n  - {{name: real, kubeconfig: {}}}\n", plane.kubeconfig_path().display());
    let server = Server::start(folder.path(), &config).await?;
    let written: Value = serde_json::from_str(&written)?;
    let uid = written["metadata"]["uid"].as_str().ok_or("no uid")?;
    let path = format!("/resources/{uid}/edges");
    let link = |exists: bool| format!("dependent references Namespace/my-compute-environment {exists}");
    let monitored = "dependent references GitLabMonitoring/my-compute-environment-metrics true".to_owned();
    let missing = server
        .until(&path, |answer| links(answer).is_superset(&BTreeSet::from([link(false), monitored.clone()])))
        .await?;
    plane.kubectl(&["create", "namespace", "my-compute-environment"]).await?;
    server.until(&path, |answer| links(answer).contains(&link(true))).await?;
    let offset = &missing["metadata"]["offset"];
    assert!(links(&server.ask(&format!("{path}?at={offset}")).await?).contains(&link(false)));
    let resource = server.ask(&format!("/resources/{uid}")).await?;
    assert_eq!(
        resource["health"], "Healthy",
        "it has no status; that it can be read is all there is to judge"
    );
    server.stop().await?;
    plane.stop().await
}

/// A Deployment, a Secret and a ClusterRole as Argo CD leaves them, and a ConfigMap of a Helm release.
fn deployed() -> String {
    let tracking = |id: &str| format!("annotations: {{argocd.argoproj.io/tracking-id: 'shop:{id}'}}");
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: web}}\n---\n\
         {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: web, {}}}, spec: {{replicas: 1, \
           selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, \
           spec: {{nodeName: {NODE}, containers: [{{name: main, image: \"example.com/main:1\"}}]}}}}}}}}\n---\n\
         {{apiVersion: v1, kind: Secret, metadata: {{name: keys, namespace: web, {}}}, stringData: {{a: b}}}}\n---\n\
         {{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: shop-reader, {}}}, rules: []}}\n---\n\
         {{apiVersion: v1, kind: ConfigMap, metadata: {{name: release, namespace: web, \
           labels: {{app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: shop}}, \
           annotations: {{meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: web}}}}}}\n",
        tracking("apps/Deployment:web/web"),
        tracking("/Secret:web/keys"),
        tracking("rbac.authorization.k8s.io/ClusterRole:web/shop-reader"),
    )
}

/// Kinds and names of an environment's resources; of what controllers named, the kinds alone.
fn members(answer: &Value) -> BTreeSet<String> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let member = |item: &Value| match text(item, "kind") {
        kind if ["ReplicaSet", "Pod"].contains(&kind.as_str()) => kind,
        kind => format!("{kind}/{}", text(item, "name")),
    };
    items(answer).map(member).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_carries_a_mark_belongs_and_a_cluster_is_where_its_nodes_are() -> Result<()> {
    if skip_without_control_plane("what_carries_a_mark_belongs_and_a_cluster_is_where_its_nodes_are") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters:\n  - {{name: real, kubeconfig: {}}}\nprojects:\n  - {{path: shop/web, id: 42}}\nenvironments:\n\
         - {{project: shop/web, name: argo, cluster: real, inventory: 'argocd:shop'}}\n\
         - {{project: shop/web, name: helm, cluster: real, namespace: web, inventory: 'helm:web/shop'}}\n",
        plane.kubeconfig_path().display()
    );
    let server = Server::start(folder.path(), &config).await?;
    plane.apply(&deployed()).await?;
    let argo = "/environments/shop.web.argo/resources?limit=500";
    let expected = ["ClusterRole/shop-reader", "Deployment/web", "Pod", "ReplicaSet", "Secret/keys"];
    let expected: BTreeSet<String> = expected.map(str::to_owned).into();
    let all = server.until(argo, |answer| members(answer) == expected).await?;
    let helm = "/environments/shop.web.helm/resources?limit=500";
    server.until(helm, |answer| members(answer) == BTreeSet::from(["ConfigMap/release".to_owned()])).await?;

    // The ReplicaSet keeps its copy of the mark, but belongs only as long as the Deployment does.
    plane.kubectl(&["annotate", "deployment", "web", "-n", "web", "argocd.argoproj.io/tracking-id-"]).await?;
    let left: BTreeSet<String> = ["ClusterRole/shop-reader", "Secret/keys"].map(str::to_owned).into();
    server.until(argo, |answer| members(answer) == left).await?;
    let before = server.ask(&format!("{argo}&at={}", all["metadata"]["offset"])).await?;
    assert_eq!(members(&before), expected);

    let region = |answer: &Value| items(answer).next().map(|cluster| cluster["region"].clone());
    let nowhere = server.ask("/clusters").await?;
    assert_eq!(region(&nowhere), Some("".into()));
    plane.kubectl(&["label", "node", NODE, "topology.kubernetes.io/region=eu-west-1"]).await?;
    server.until("/clusters", |answer| region(answer) == Some("eu-west-1".into())).await?;
    let before = server.ask(&format!("/clusters?at={}", nowhere["metadata"]["offset"])).await?;
    assert_eq!(region(&before), Some("".into()));
    server.stop().await?;
    plane.stop().await
}
