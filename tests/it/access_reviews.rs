//! What somebody may read in a cluster, by its own word: a simulated one, and a real control plane.

use std::time::{Duration, Instant};

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use strandline_model::Kind;

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::server::{PROGRAM, Result, Server, ids};
use crate::simulated::cluster;

const AUDIENCE: &str = "https://strandline.test";
const ISSUER: &str = "https://kubernetes.default.svc";
const ACCOUNT: &str = "system:serviceaccount:ci:reader";

fn token() -> String {
    let part = |value: Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let claims = json!({"iss": ISSUER, "aud": [AUDIENCE], "sub": ACCOUNT, "exp": 4_102_444_800_u64});
    format!("{}.{}.c2ln", part(json!({"alg": "RS256", "kid": "1"})), part(claims))
}

/// Three environments in a cluster: one in each namespace, and one in both.
fn config(way: &str) -> String {
    format!(
        "clusters:\n  - {{name: one, {way}}}\n\
         environments:\n  - {{project: shop/web, name: production, cluster: one, namespace: shop}}\n\
         \x20 - {{project: ops/tools, name: production, cluster: one, namespace: ops}}\n\
         \x20 - project: both/both\n    name: production\n    targets:\n\
         \x20     - {{cluster: one, namespace: shop}}\n\
         \x20     - {{cluster: one, namespace: ops}}\n\
         access:\n  kubernetes:\n    - cluster: one\n      issuer: {ISSUER}\n      audience: {AUDIENCE}\n\
         \x20     service_accounts: [{{namespace: ci, name: reader}}]\n      access_review: {{}}\n"
    )
}

const SHOP: &[&str] = &["shop.web.production"];
const OPS: &[&str] = &["ops.tools.production"];
const ALL: &[&str] = &["both.both.production", "ops.tools.production", "shop.web.production"];

async fn ask(server: &Server, token: &str, path: &str) -> Result<(u16, Value)> {
    server.send("GET", path, token, &Value::Null).await
}

/// Asks until an answer is as expected.
async fn until_answered(
    server: &Server,
    token: &str,
    path: &str,
    expected: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let begun = Instant::now();
    loop {
        let (status, answer) = ask(server, token, path).await?;
        if status == 200 && expected(&answer) {
            return Ok(answer);
        }
        if begun.elapsed() > Duration::from_secs(180) {
            return Err(format!("{path} stays {status} {answer} {}", server.output()).into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Asks until these are the environments that are seen.
async fn until(server: &Server, token: &str, expected: &[&str]) -> Result<()> {
    let seen = until_answered(server, token, "/environments", |answer| ids(answer) == expected).await;
    seen.map(drop).map_err(|error| format!("never {expected:?}: {error}").into())
}

/// Holds lists, counts, errors and what a caller is told of themselves: of what looks at `shop` alone there is all, of the rest nothing.
async fn only_shop_is_there(server: &Server, token: &str) -> Result<()> {
    let found = |path: &'static str| async move { ask(server, token, path).await };
    assert_eq!(found("/environments/shop.web.production").await?.0, 200);
    let (status, hidden) = found("/environments/ops.tools.production").await?;
    let (_, nowhere) = found("/environments/no.such.one").await?;
    assert_eq!((status, &hidden["code"]), (404, &nowhere["code"]));
    for path in ["/environments/both.both.production", "/environments/both.both.production/graph"] {
        assert_eq!(found(path).await?.0, 404, "{path}");
    }
    let (_, overview) = found("/overview").await?;
    assert_eq!(overview["totals"]["total"], 1, "{overview}");
    let (_, who) = found("/whoami").await?;
    assert_eq!(
        who["reads"],
        json!({"everything": false, "projects": [], "groups": [], "namespaces": ["one/shop"]})
    );
    assert_eq!(who["writes"]["namespaces"], json!([]));
    let (_, searched) = found("/search?q=production").await?;
    let text = searched.to_string();
    assert!(
        text.contains("shop.web") && !text.contains("ops.tools") && !text.contains("both.both"),
        "{text}"
    );
    Ok(())
}

/// The body of a stream of the list of environments, which ends when the stream does.
async fn stream(server: &Server, token: &str) -> Result<Incoming> {
    let request = http::Request::get(format!("{}/api/v1/watch", server.url()))
        .header("authorization", format!("Bearer {token}"))
        .body(Empty::<Bytes>::new())?;
    let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
    assert_eq!(response.status(), 200);
    Ok(response.into_body())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_a_simulated_cluster_lets_read_a_namespace_sees_what_looks_there_alone() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (one, token) = (cluster("one").await?, token());
    one.add_token(&token, ACCOUNT, &[], AUDIENCE);
    one.allow("system:serviceaccounts:ci", "list", "/configmaps", "shop");
    one.allow(ACCOUNT, "list", "/pods", "ops");
    let server = Server::start_public(folder.path(), &config(&format!("url: '{}'", one.url()))).await?;
    until(&server, &token, SHOP).await?;
    only_shop_is_there(&server, &token).await?;
    let asked = one.access_reviews();
    assert!(asked.iter().all(|of| of[0] == ACCOUNT), "{asked:?}");
    let file = folder.path().join("config.yaml");
    let doctor = async || -> Result<String> {
        let output =
            tokio::process::Command::new(PROGRAM).arg("doctor").arg("--config").arg(&file).output().await?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let said = doctor().await?;
    assert!(said.contains("it says who may read in it"), "{said}");
    // Rights come and go within a minute.
    one.allow(ACCOUNT, "list", "/configmaps", "ops");
    until(&server, &token, ALL).await?;
    one.disallow("system:serviceaccounts:ci");
    until(&server, &token, OPS).await?;
    // While it does not say so, nobody reads by its word.
    one.faults().refuse(Some(Kind::new("authorization.k8s.io", "SubjectAccessReview")), 503);
    until(&server, &token, &[]).await?;
    let said = doctor().await?;
    assert!(
        said.contains("it does not say who may read in it") && said.contains("system:auth-delegator"),
        "{said}"
    );
    one.faults().clear();
    until(&server, &token, OPS).await?;
    let output = server.output();
    assert!(output.contains("asking who may read in the cluster failed"), "{output}");
    server.stop().await?;
    one.stop().await;
    Ok(())
}

/// Asks as a proxy does for somebody.
async fn through_proxy(server: &Server, user: &str, path: &str) -> Result<Value> {
    let request = http::Request::get(format!("{}/api/v1{path}", server.url()))
        .header("x-forwarded-user", user)
        .body(Empty::<Bytes>::new())?;
    let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
    Ok(serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?)
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_a_proxy_lets_in_sees_what_a_cluster_lets_them_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let one = cluster("one").await?;
    one.allow("corp:alice", "list", "/configmaps", "shop");
    let proxy =
        "  proxy: {addresses: [127.0.0.1], access_review: {clusters: [one], username_prefix: 'corp:'}}\n";
    let config = config(&format!("url: '{}'", one.url())) + proxy;
    let server = Server::start_public(folder.path(), &config).await?;
    let begun = Instant::now();
    while ids(&through_proxy(&server, "alice", "/environments").await?) != SHOP {
        assert!(begun.elapsed() < Duration::from_secs(180), "{}", server.output());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let who = through_proxy(&server, "alice", "/whoami").await?;
    assert_eq!((&who["user"], &who["reads"]["namespaces"]), (&json!("alice"), &json!(["one/shop"])), "{who}");
    assert!(ids(&through_proxy(&server, "bob", "/environments").await?).is_empty());
    assert_eq!(through_proxy(&server, "system:admin", "/environments").await?["items"], json!([]));
    let asked: Vec<_> = one.access_reviews().into_iter().map(|of| of[0].clone()).collect();
    assert!(asked.iter().all(|user| user.starts_with("corp:")), "{asked:?}");
    server.stop().await?;
    one.stop().await;
    Ok(())
}

const ACCOUNTS: &str = r#"
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}},
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-shop", "namespace": "shop"}},
  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-ops", "namespace": "ops"}},
  {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "ci"}},
  {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader", "namespace": "shop"},
   "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]},
  {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "reader", "namespace": "shop"},
   "subjects": [{"kind": "Group", "name": "system:serviceaccounts:ci", "apiGroup": "rbac.authorization.k8s.io"}],
   "roleRef": {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn whoever_a_real_control_plane_lets_read_a_namespace_sees_what_looks_there_alone() -> Result<()> {
    if skip_without_control_plane(
        "whoever_a_real_control_plane_lets_read_a_namespace_sees_what_looks_there_alone",
    ) {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    plane.apply(ACCOUNTS).await?;
    let folder = tempfile::tempdir()?;
    let way = format!("kubeconfig: {}", plane.kubeconfig_path().display());
    let server = Server::start_public(folder.path(), &config(&way)).await?;
    let token = plane.kubectl(&["create", "token", "reader", "-n", "ci", "--audience", AUDIENCE]).await?;
    let token = token.trim();
    until(&server, token, SHOP).await?;
    only_shop_is_there(&server, token).await?;
    // A cluster whose first lists have not begun has no gaps yet.
    let has_own = |list: &Value| list.to_string().contains("of-shop");
    let resources = "/environments/shop.web.production/resources";
    let text = until_answered(&server, token, resources, has_own).await?.to_string();
    assert!(!text.contains("of-ops"), "{text}");
    // All of the cluster, and then nothing: a stream ends with what it was begun with.
    let all = ["create", "clusterrolebinding", "all", "--clusterrole=view", "--serviceaccount=ci:reader"];
    plane.kubectl(&all).await?;
    until(&server, token, ALL).await?;
    let stream = stream(&server, token).await?;
    plane.kubectl(&["delete", "clusterrolebinding", "all"]).await?;
    plane.kubectl(&["delete", "rolebinding", "reader", "-n", "shop"]).await?;
    until(&server, token, &[]).await?;
    tokio::time::timeout(Duration::from_secs(120), stream.collect()).await??;
    server.stop().await?;
    plane.stop().await?;
    Ok(())
}
