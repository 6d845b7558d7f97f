//! What `docs/operations/rbac.md` says of rights, played with accounts that have these rights and no others.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strandline_model::Kind;
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::doctor::{PATIENCE, run};
use crate::server::{Result, Server, items, names};

/// Two namespaces, and an account with a Role in one of them.
const MANIFESTS: &str = r#"
{kind: List, apiVersion: v1, items: [
  {apiVersion: v1, kind: Namespace, metadata: {name: shop}},
  {apiVersion: v1, kind: Namespace, metadata: {name: bank}},
  {apiVersion: v1, kind: Namespace, metadata: {name: tools}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}},
  {apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: tools}},
  {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader, namespace: shop},
   rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]},
  {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: shop},
   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader},
   subjects: [{kind: ServiceAccount, name: reader, namespace: tools}]}
]}
"#;

/// The gaps of a cluster once no kind is being listed: kind, namespace and reason.
async fn gaps_of(server: &Server, cluster: &str) -> Result<Vec<[String; 3]>> {
    let settled = |answer: &Value| items(answer).all(|watch| watch["reason"] != "listing");
    server
        .until(&format!("/coverage?cluster={cluster}&state=watched"), |list| items(list).count() > 0)
        .await?;
    let gaps = server.until(&format!("/coverage?cluster={cluster}&state=gap&limit=500"), settled).await?;
    let of = |gap: &Value| {
        ["kind", "namespace", "reason"].map(|key| gap[key].as_str().unwrap_or_default().to_owned())
    };
    Ok(items(&gaps).map(of).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_secrets_their_gap_is_the_only_difference() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut config = "clusters:\n".to_owned();
    let mut clusters = Vec::new();
    for name in ["may", "may-not"] {
        let cluster = ApiServer::start(name, builtin_kinds()).await?;
        let labels = json!({"app": "api"});
        for object in [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "login", "namespace": "shop"}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "api", "namespace": "shop", "labels": labels},
                "spec": {"volumes": [{"name": "a", "secret": {"secretName": "login"}}]}, "status": {"phase": "Failed"}}),
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "api", "namespace": "shop"},
                "spec": {"selector": labels}}),
        ] {
            cluster.apply(object);
        }
        config += &format!(
            "- {{name: {name}, url: '{}', namespace_environments: {{project: {name}}}}}\n",
            cluster.url()
        );
        clusters.push(cluster);
    }
    clusters[1].faults().refuse(Some(Kind::new("", "Secret")), 403);
    let server = Server::start(folder.path(), &config).await?;
    let told = async |cluster: &str| -> Result<Vec<String>> {
        let path = format!("/environments/{cluster}.shop/resources");
        let all = |list: &Value| ["api", "login"].iter().all(|name| names(list).contains(name));
        let list = server.until(&path, |list| all(list) && items(list).count() >= 3).await?;
        let one = |item: &Value| format!("{} {} {}", item["kind"], item["name"], item["health"]["status"]);
        Ok(items(&list).map(one).collect())
    };
    assert_eq!(gaps_of(&server, "may").await?, Vec::<[String; 3]>::new());
    assert_eq!(gaps_of(&server, "may-not").await?, [["Secret", "", "forbidden"]]);
    let (mut with, without) = (told("may").await?, told("may-not").await?);
    let secrets = with.extract_if(.., |resource| resource.contains("Secret")).count();
    assert_eq!((secrets, with), (1, without));
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_by_namespace_record_these_namespaces_and_nothing_of_the_cluster() -> Result<()> {
    let test = "roles_by_namespace_record_these_namespaces_and_nothing_of_the_cluster";
    if skip_without_control_plane(test) {
        return Ok(());
    }
    let (plane, folder) = (ControlPlane::start().await?, tempfile::tempdir()?);
    plane.apply(MANIFESTS).await?;
    let kubeconfig = plane.kubeconfig_of(&[("reader", "tools")]).await?;
    let config = format!(
        "clusters:\n- name: real\n  kubeconfig: {}\n  namespaces: [shop, bank]\n  \
         namespace_environments: {{project: local}}\n",
        kubeconfig.display()
    );
    let server = Server::start(folder.path(), &config).await?;
    let resources = "/environments/local.shop/resources?kind=ConfigMap";
    server.until(resources, |list| names(list).contains(&"settings")).await?;
    // A namespace without a Role is a gap of each of its kinds, and the other one has none.
    let gaps = gaps_of(&server, "real").await?;
    assert!(gaps.iter().any(|[kind, namespace, _]| kind == "Pod" && namespace == "bank"), "{gaps:#?}");
    assert!(
        gaps.iter().all(|[_, namespace, reason]| namespace == "bank" && reason == "forbidden"),
        "{gaps:#?}"
    );
    // What belongs to no namespace is not recorded, though there are Nodes and Namespaces.
    for kind in ["Node", "Namespace", "ClusterRole"] {
        let watches = server.ask(&format!("/coverage?cluster=real&kind={kind}&limit=100")).await?;
        assert!(
            items(&watches).all(|watch| watch["state"] != "watched" && watch["state"] != "gap"),
            "{watches:#}"
        );
    }
    server.stop().await?;
    plane.stop().await
}

/// Asks doctor until these kinds are the ones that are missing, for a right is not in force everywhere at once.
async fn until_missing(folder: &Path, config: &str, expected: &[&str]) -> Result<()> {
    let begun = Instant::now();
    loop {
        let (_, out, err) = run(folder, "doctor", config, &[]).await?;
        let problems = out.lines().filter(|line| line.starts_with("problem"));
        let kinds = |line| -> Option<&str> {
            str::split_once(line, "lacks permission for these kinds: ")?.1.split(';').next()
        };
        let missing: Vec<&str> = problems.map(|line| kinds(line).unwrap_or(line)).collect();
        if missing == expected {
            return Ok(());
        }
        assert!(begun.elapsed() < PATIENCE, "not {expected:?}: {missing:?} {out}{err}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wider_roles_grant_all_but_secrets_or_everything() -> Result<()> {
    if skip_without_control_plane("wider_roles_grant_all_but_secrets_or_everything") {
        return Ok(());
    }
    let (plane, folder) = (ControlPlane::start().await?, tempfile::tempdir()?);
    plane.apply(MANIFESTS).await?;
    let kubeconfig = plane.kubeconfig_of(&[("reader", "tools")]).await?;
    let config = format!("clusters: [{{name: real, kubeconfig: {}}}]\n", kubeconfig.display());
    let account = "--as=system:serviceaccount:tools:reader";
    let may = async |resource: &str| {
        plane.kubectl(&["auth", "can-i", "list", resource, account, "-A"]).await.is_ok()
    };
    let cases: [(&str, &[&str], bool); 2] =
        [("--rbac=groups", &["Secret"], false), ("--rbac=wildcard", &[], true)];
    for (wanted, left, secrets) in cases {
        let (_, yaml, told) = run(folder.path(), "doctor", &config, &[wanted]).await?;
        assert!(yaml.contains("kind: ClusterRole"), "{wanted}: {yaml}{told}");
        plane.apply(&yaml).await?;
        until_missing(folder.path(), &config, left).await?;
        assert_eq!((may("pods").await, may("secrets").await), (true, secrets), "{wanted}: {yaml}");
    }
    plane.stop().await
}
