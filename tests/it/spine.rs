//! From a change in a real cluster to an answer, now and in the past.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use strandline_log::LogReader;
use strandline_model::Offset;

use crate::control_plane::harness::{ControlPlane, NODE, skip_without_control_plane};
use crate::server::{Result, Server, assert_nowhere, items};

const ENVIRONMENT: &str = "/environments/shop.web.production";

fn config(plane: &ControlPlane) -> String {
    format!(
        "clusters:\n  - name: real\n    kubeconfig: {}\n    region: eu\n\
         projects:\n  - path: shop/web\n    id: 42\n\
         environments:\n  - project: shop/web\n    name: production\n    cluster: real\n    namespace: shop\n",
        plane.kubeconfig_path().display()
    )
}

/// A Deployment whose Pods carry no label of ours, and a Service.
fn manifests(replicas: usize) -> String {
    let labels = "{app.gitlab.com/project_id: \"42\", app.gitlab.com/environment_slug: production}";
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop, labels: {labels}}}\n\
         spec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    \
         metadata: {{labels: {{app: web}}}}\n    spec:\n      nodeName: {NODE}\n      \
         containers: [{{name: web, image: \"example.com/web:1\", env: [{{name: PASSWORD, value: hunter2-canary}}]}}]\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop, labels: {labels}}}\n\
         spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: web, namespace: shop, labels: {labels}}}\n\
         stringData: {{password: stringdata-canary}}\n"
    )
}

/// Kinds of which every object in the namespace belongs to the environment.
const KINDS: &str = "deployments.apps,replicasets.apps,pods,services,secrets,endpointslices.discovery.k8s.io";

/// What kubectl sees: kind and name to uid and resource version.
async fn truth(plane: &ControlPlane) -> Result<BTreeMap<String, (String, String)>> {
    let list: Value =
        serde_json::from_str(&plane.kubectl(&["get", KINDS, "-n", "shop", "-o", "json"]).await?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |object: &Value| {
        let metadata = &object["metadata"];
        let name = format!("{}/{}", text(&object["kind"]), text(&metadata["name"]));
        (name, (text(&metadata["uid"]), text(&metadata["resourceVersion"])))
    };
    Ok(items(&list).map(entry).collect())
}

/// What the server says, in the same shape without the resource versions.
fn told(answer: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |item: &Value| format!("{}/{}", text(&item["kind"]), text(&item["name"]));
    items(answer).map(|item| (name(item), text(&item["id"]))).collect()
}

/// One moment at which kubectl and the server agreed.
struct Agreed {
    offset: u64,
    resources: Value,
    graph: Value,
    objects: BTreeMap<String, Value>,
}

/// Waits until kubectl and the server agree on the environment, object by object.
async fn agree(plane: &ControlPlane, server: &Server) -> Result<Agreed> {
    let path = format!("{ENVIRONMENT}/resources?limit=500");
    for _ in 0..600 {
        let truth = truth(plane).await?;
        let resources = server.ask(&path).await?;
        let uids: BTreeMap<_, _> = truth.iter().map(|(name, (uid, _))| (name.clone(), uid.clone())).collect();
        if told(&resources) == uids {
            let offset = resources["metadata"]["offset"].as_u64().ok_or("no offset")?;
            if let Some(objects) = objects(server, &truth, offset).await? {
                let graph = server.ask(&format!("{ENVIRONMENT}/graph?at={offset}")).await?;
                let resources = server.ask(&format!("{path}&at={offset}")).await?;
                return Ok(Agreed { offset, resources, graph, objects });
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err(format!("kubectl and the server never agreed\n{}", server.output()).into())
}

/// The recorded objects, where each is in the very state that kubectl saw.
async fn objects(
    server: &Server,
    truth: &BTreeMap<String, (String, String)>,
    offset: u64,
) -> Result<Option<BTreeMap<String, Value>>> {
    let mut objects = BTreeMap::new();
    for (uid, version) in truth.values() {
        let Ok(detail) = server.ask(&format!("/resources/{uid}?at={offset}")).await else { return Ok(None) };
        if detail["resource_version"] != version.as_str() {
            return Ok(None);
        }
        objects.insert(uid.clone(), detail["object"].clone());
    }
    Ok(Some(objects))
}

/// The replicas of the Deployment, from its recorded object.
fn pods(agreed: &Agreed) -> usize {
    items(&agreed.resources).filter(|item| item["kind"] == "Pod").count()
}

/// Every Pod hangs below a ReplicaSet below the Deployment.
fn assert_tree(agreed: &Agreed) {
    let uid = |kind: &str| -> Vec<&str> {
        let nodes = agreed.graph["nodes"].as_array().into_iter().flatten();
        nodes.filter(|node| node["kind"] == kind).filter_map(|node| node["id"].as_str()).collect()
    };
    let owns = |from: &str, to: &str| {
        let mut edges = agreed.graph["edges"].as_array().into_iter().flatten();
        edges.any(|edge| edge["kind"] == "owns" && edge["from"] == from && edge["to"] == to)
    };
    for pod in uid("Pod") {
        assert!(uid("ReplicaSet").iter().any(|set| owns(set, pod)), "{pod} hangs in the air");
    }
    for set in uid("ReplicaSet") {
        assert!(uid("Deployment").iter().any(|deployment| owns(deployment, set)), "{set} hangs in the air");
    }
}

async fn wait_for_rollout(plane: &ControlPlane) -> Result<()> {
    plane.kubectl(&["rollout", "status", "deployment/web", "-n", "shop", "--timeout=120s"]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_agree_with_kubectl_at_each_step_and_afterwards() -> Result<()> {
    if skip_without_control_plane("the_answers_agree_with_kubectl_at_each_step_and_afterwards") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&plane)).await?;
    let mut history = Vec::new();

    plane.apply(&manifests(5)).await?;
    wait_for_rollout(&plane).await?;
    history.push(agree(&plane, &server).await?);
    assert_eq!(pods(&history[0]), 5);
    server.until(ENVIRONMENT, |environment| environment["health"]["state"] == "Healthy").await?;

    plane.kubectl(&["scale", "deployment/web", "-n", "shop", "--replicas=8"]).await?;
    wait_for_rollout(&plane).await?;
    history.push(agree(&plane, &server).await?);
    assert_eq!(pods(&history[1]), 8);

    let pod =
        plane.kubectl(&["get", "pods", "-n", "shop", "-o", "jsonpath={.items[0].metadata.name}"]).await?;
    plane.kubectl(&["delete", "pod", pod.trim(), "-n", "shop"]).await?;
    wait_for_rollout(&plane).await?;
    history.push(agree(&plane, &server).await?);
    assert_eq!(pods(&history[2]), 8);

    plane.kubectl(&["delete", "deployment", "web", "-n", "shop", "--cascade=foreground"]).await?;
    history.push(agree(&plane, &server).await?);
    assert_eq!(pods(&history[3]), 0);

    for agreed in &history {
        assert_tree(agreed);
        assert_moment(&server, agreed).await?;
    }
    assert_object_is_the_clusters(&plane, &server).await?;
    let tree = server.cli(&["tree", "shop.web.production", "--at", &history[1].offset.to_string()]).await?;
    assert!(tree.contains("Deployment/web"), "{tree}");
    server.stop().await?;
    // The last is base64 of stringdata-canary.
    assert_nowhere(folder.path(), &["hunter2-canary", "stringdata-canary", "c3RyaW5nZGF0YS1jYW5hcnk"])?;
    plane.stop().await
}

/// An earlier moment is answered now as it was answered then.
async fn assert_moment(server: &Server, agreed: &Agreed) -> Result<()> {
    let at = agreed.offset;
    let resources = server.ask(&format!("{ENVIRONMENT}/resources?limit=500&at={at}")).await?;
    assert_eq!(resources["items"], agreed.resources["items"]);
    assert_eq!(resources["metadata"]["offset"], at);
    let graph = server.ask(&format!("{ENVIRONMENT}/graph?at={at}")).await?;
    assert_eq!((&graph["nodes"], &graph["edges"]), (&agreed.graph["nodes"], &agreed.graph["edges"]));
    for (uid, object) in &agreed.objects {
        let detail = server.ask(&format!("/resources/{uid}?at={at}")).await?;
        assert_eq!(&detail["object"], object);
        let history = server.ask(&format!("/resources/{uid}/history?at={at}&bodies=true")).await?;
        assert_eq!(&history["items"][0]["object"], object);
    }
    Ok(())
}

/// What is recorded is the cluster's own object, save for what is never recorded.
async fn assert_object_is_the_clusters(plane: &ControlPlane, server: &Server) -> Result<()> {
    let mut real: Value =
        serde_json::from_str(&plane.kubectl(&["get", "service", "web", "-n", "shop", "-o", "json"]).await?)?;
    if let Some(annotations) = real["metadata"]["annotations"].as_object_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    let uid = real["metadata"]["uid"].as_str().ok_or("no uid")?.to_owned();
    let mut recorded = server.ask(&format!("/resources/{uid}")).await?["object"].clone();
    for object in [&mut real, &mut recorded] {
        // Whether an emptied map stands there or not is all the same.
        let metadata = object["metadata"].as_object_mut().ok_or("no metadata")?;
        if metadata
            .get("annotations")
            .is_some_and(|annotations| annotations.as_object().is_some_and(|a| a.is_empty()))
        {
            metadata.remove("annotations");
        }
    }
    assert_eq!(recorded, real);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_in_a_rollout_loses_nothing() -> Result<()> {
    if skip_without_control_plane("kill_nine_in_a_rollout_loses_nothing") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(folder.path(), &config(&plane)).await?;
    plane.apply(&manifests(6)).await?;
    let mut random: u64 = 7;
    let mut acknowledged = 0;
    for round in 0..10 {
        let image = format!("web=example.com/web:{}", round + 2);
        plane.kubectl(&["set", "image", "deployment/web", "-n", "shop", &image]).await?;
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis(random >> 33 & 0x1ff)).await;
        // Whatever an answer has named was acknowledged before.
        acknowledged =
            server.ask("/clusters").await?["metadata"]["offset"].as_u64().unwrap_or(0).max(acknowledged);
        server.kill_and_restart().await?;
        let head = server.ask("/clusters").await?["metadata"]["offset"].as_u64().unwrap_or(0);
        assert!(head >= acknowledged, "offset {acknowledged} was acknowledged, {head} is there");
    }
    wait_for_rollout(&plane).await?;
    let agreed = agree(&plane, &server).await?;
    assert_tree(&agreed);
    server.stop().await?;
    assert_whole(&folder.path().join("data"))?;
    plane.stop().await
}

/// Offsets have no gap and every hash follows from the one before (the reader verifies both), and the view
/// equals one built anew.
fn assert_whole(data: &std::path::Path) -> Result<()> {
    let mut log = LogReader::open(data)?;
    let head = log.head()?;
    let mut at = Offset::ZERO;
    while at < head {
        at = log.after(at, 1000)?.last().ok_or("the log ends early")?.offset;
    }
    let before = dump(data)?;
    let rules = strandline_view::ruleset::RuleSet::default();
    strandline_view::build(data, rules, &strandline_sqlite::Watermark::default())?;
    let after = dump(data)?;
    for (table, rows) in &before {
        assert_eq!(after.get(table).map(Vec::len), Some(rows.len()), "{table}");
        assert!(after.get(table) == Some(rows), "{table} differs after a rebuild");
    }
    assert_eq!(before.len(), after.len());
    Ok(())
}

fn dump(data: &std::path::Path) -> Result<BTreeMap<String, Vec<String>>> {
    let view = rusqlite::Connection::open(data.join("view.db"))?;
    let mut tables = view.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    let names = tables.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let mut dump = BTreeMap::new();
    for name in names {
        let mut statement = view.prepare(&format!("SELECT * FROM {name}"))?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let values = (0..columns).map(|n| row.get::<_, rusqlite::types::Value>(n));
            Ok(format!("{:?}", values.collect::<Result<Vec<_>, _>>()?))
        })?;
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        rows.sort();
        dump.insert(name, rows);
    }
    Ok(dump)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_api_server_is_told_and_caught_up_with() -> Result<()> {
    if skip_without_control_plane("a_stopped_api_server_is_told_and_caught_up_with") {
        return Ok(());
    }
    let mut plane = ControlPlane::start().await?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&plane)).await?;
    plane.apply(&manifests(3)).await?;
    wait_for_rollout(&plane).await?;
    agree(&plane, &server).await?;
    server.until("/clusters", |clusters| clusters["items"][0]["watched"] == true).await?;

    plane.stop_api_server().await?;
    let gone = server.until("/clusters", |clusters| clusters["items"][0]["watched"] == false).await?;
    assert!(gone["items"][0]["unwatched_since"].is_string(), "{gone}");
    let unknown =
        server.until(ENVIRONMENT, |environment| environment["health"]["state"] == "Unknown").await?;
    assert_eq!(unknown["health"]["last_known"], "Healthy");
    assert_eq!(unknown["metadata"]["coverage"]["complete"], false);

    plane.start_api_server().await?;
    plane.kubectl(&["scale", "deployment/web", "-n", "shop", "--replicas=4"]).await?;
    server.until("/clusters", |clusters| clusters["items"][0]["watched"] == true).await?;
    wait_for_rollout(&plane).await?;
    let agreed = agree(&plane, &server).await?;
    assert_eq!(pods(&agreed), 4);
    server.until(ENVIRONMENT, |environment| environment["health"]["state"] == "Healthy").await?;
    server.stop().await?;
    plane.stop().await
}
