//! The objects of real controllers as a graph.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::control_plane::harness::{ControlPlane, NODE, skip_without_control_plane};
use crate::server::{Result, Server};

const GRAPH: &str = "/environments/shop.web.production/graph?collapse=none";

fn config(plane: &ControlPlane) -> String {
    format!(
        "clusters:\n  - name: real\n    kubeconfig: {}\n\
         projects:\n  - path: shop/web\n    id: 42\n\
         environments:\n  - {{project: shop/web, name: production, cluster: real, namespace: shop, labels: {{}}}}\n",
        plane.kubeconfig_path().display()
    )
}

/// A Pod's spec with what it reads.
fn pod_spec(mounts: &str) -> String {
    format!(
        "{{nodeName: {NODE}, restartPolicy: RESTART, serviceAccountName: runner, {mounts} \
         containers: [{{name: main, image: \"example.com/main:1\", \
         envFrom: [{{configMapRef: {{name: settings}}}}, {{secretRef: {{name: keys}}}}]}}]}}"
    )
}

fn manifests() -> String {
    let always = pod_spec("").replace("RESTART", "Always");
    let mounting =
        pod_spec("volumes: [{name: conf, configMap: {name: settings}}],").replace("RESTART", "Always");
    let once = pod_spec("").replace("RESTART", "Never");
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}\n---\n\
         {{apiVersion: v1, kind: ServiceAccount, metadata: {{name: runner, namespace: shop}}}}\n---\n\
         {{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings, namespace: shop}}, data: {{a: b}}}}\n---\n\
         {{apiVersion: v1, kind: Secret, metadata: {{name: keys, namespace: shop}}, stringData: {{a: b}}}}\n---\n\
         {{apiVersion: v1, kind: Secret, metadata: {{name: tls, namespace: shop}}, stringData: {{a: b}}}}\n---\n\
         {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: {{replicas: 2, \
           selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {mounting}}}}}}}\n---\n\
         {{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: shop}}, \
           spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}}}\n---\n\
         {{apiVersion: v1, kind: Service, metadata: {{name: db, namespace: shop}}, \
           spec: {{clusterIP: None, selector: {{app: db}}, ports: [{{port: 5432}}]}}}}\n---\n\
         {{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db, namespace: shop}}, spec: {{replicas: 1, \
           serviceName: db, selector: {{matchLabels: {{app: db}}}}, template: {{metadata: {{labels: {{app: db}}}}, spec: {always}}}, \
           volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{accessModes: [ReadWriteOnce], \
           resources: {{requests: {{storage: 1Gi}}}}}}}}]}}}}\n---\n\
         {{apiVersion: batch/v1, kind: CronJob, metadata: {{name: nightly, namespace: shop}}, spec: {{schedule: \"0 3 1 1 *\", \
           jobTemplate: {{spec: {{template: {{spec: {once}}}}}}}}}}}\n---\n\
         {{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {{name: web, namespace: shop}}, spec: {{\
           tls: [{{secretName: tls}}], rules: [{{http: {{paths: [{{path: /, pathType: Prefix, \
           backend: {{service: {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}}}\n---\n\
         {{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {{name: web, namespace: shop}}, spec: {{\
           maxReplicas: 2, minReplicas: 2, scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}}}}}\n---\n\
         {{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: web, namespace: shop}}, spec: {{\
           minAvailable: 1, selector: {{matchLabels: {{app: web}}}}}}}}\n---\n\
         {{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: closed, namespace: shop}}, \
           spec: {{podSelector: {{}}, policyTypes: [Ingress]}}}}\n"
    )
}

const EXPECTED: [&str; 24] = [
    "ConfigMap/settings mounts Pod/db-0",
    "ConfigMap/settings mounts Pod/nightly-1-*",
    "ConfigMap/settings mounts Pod/web-*-*",
    "CronJob/nightly owns Job/nightly-1",
    "Deployment/web owns ReplicaSet/web-*",
    "EndpointSlice/db-* routes Pod/db-0",
    "EndpointSlice/web-* routes Pod/web-*-*",
    "HorizontalPodAutoscaler/web scales Deployment/web",
    "Ingress/web routes Service/web",
    "Job/nightly-1 owns Pod/nightly-1-*",
    "NetworkPolicy/closed selects Pod/db-0",
    "NetworkPolicy/closed selects Pod/web-*-*",
    "PersistentVolumeClaim/data-db-0 mounts Pod/db-0",
    "PodDisruptionBudget/web selects Pod/web-*-*",
    "ReplicaSet/web-* owns Pod/web-*-*",
    "Secret/keys mounts Pod/db-0",
    "Secret/keys mounts Pod/web-*-*",
    "Secret/tls references Ingress/web",
    "Service/db owns EndpointSlice/db-*",
    "Service/db selects Pod/db-0",
    "Service/web owns EndpointSlice/web-*",
    "Service/web selects Pod/web-*-*",
    "ServiceAccount/runner references Pod/web-*-*",
    "StatefulSet/db owns Pod/db-0",
];

/// Kind and name of a node, with a star for each part of the name that controllers made up.
fn named(node: &Value) -> String {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let generated = ["Pod", "ReplicaSet", "EndpointSlice"].contains(&kind);
    let part = |(place, part): (usize, &str)| {
        let kept = place == 0 || !generated || part.parse::<u32>().is_ok_and(|number| number < 10);
        if kept { part.to_owned() } else { "*".to_owned() }
    };
    format!("{kind}/{}", name.split('-').enumerate().map(part).collect::<Vec<_>>().join("-"))
}

fn edges(graph: &Value) -> BTreeSet<String> {
    let list = |name: &str| graph[name].as_array().into_iter().flatten();
    let name = |uid: &Value| list("nodes").find(|node| node["id"] == *uid).map(named).unwrap_or_default();
    let edge = |edge: &Value| {
        format!("{} {} {}", name(&edge["from"]), edge["kind"].as_str().unwrap_or_default(), name(&edge["to"]))
    };
    list("edges").map(edge).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_objects_of_real_controllers_give_the_expected_graph() -> Result<()> {
    if skip_without_control_plane("the_objects_of_real_controllers_give_the_expected_graph") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&plane)).await?;
    plane.apply(&manifests()).await?;
    plane.kubectl(&["create", "job", "nightly-1", "--from=cronjob/nightly", "-n", "shop"]).await?;
    let expected: BTreeSet<String> = EXPECTED.map(str::to_owned).into();
    let graph = server.until(GRAPH, |graph| edges(graph).is_superset(&expected)).await;
    let graph = match graph {
        Ok(graph) => graph,
        Err(error) => {
            let found = edges(&server.ask(GRAPH).await?);
            return Err(format!("{error}; missing: {:?}", expected.difference(&found)).into());
        }
    };
    // Arrival order differs from run to run; what is built anew from the log is the same graph.
    let offset = graph["metadata"]["offset"].as_u64().ok_or("no offset")?;
    server.stop().await?;
    std::fs::remove_file(folder.path().join("data/view.db"))?;
    let server = Server::start(folder.path(), &config(&plane)).await?;
    let again = server.ask(&format!("{GRAPH}&at={offset}")).await?;
    assert_eq!((&again["nodes"], &again["edges"]), (&graph["nodes"], &graph["edges"]));
    server.stop().await?;
    plane.stop().await
}
