//! Tokens of ServiceAccounts, which their cluster reviews: a simulated one, and a real control plane.

use std::time::{Duration, Instant};

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use strandline_model::Kind;

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::server::{PROGRAM, Result, Server, assert_nowhere, get, ids};
use crate::simulated::cluster;

const AUDIENCE: &str = "https://strandline.test";
const ISSUER: &str = "https://kubernetes.default.svc";

/// A token that looks like one; the simulated cluster looks at no signature.
fn token(account: &str, audience: &str, number: u64) -> String {
    let part = |value: Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let claims =
        json!({"iss": ISSUER, "aud": [audience], "sub": account, "exp": 4_102_444_800_u64, "jti": number});
    format!("{}.{}.c2ln", part(json!({"alg": "RS256", "kid": "1"})), part(claims))
}

fn config(way: &str, issuer: &str) -> String {
    format!(
        "clusters:\n  - {{name: one, {way}}}\n\
         environments:\n  - {{project: shop/web, name: production, cluster: one, namespace: shop}}\n\
         \x20 - {{project: ops/tools, name: production, cluster: one, namespace: ops}}\n\
         access:\n  kubernetes:\n    - cluster: one\n      issuer: {issuer}\n      audience: {AUDIENCE}\n\
         \x20     service_accounts: [{{namespace: ci, name: deployer, projects: [shop/web], write: true}}]\n"
    )
}

/// Asks with a token until this is the status, and returns the answer.
async fn until(server: &Server, token: &str, status: u16) -> Result<Value> {
    let begun = Instant::now();
    loop {
        let (found, answer) = server.send("GET", "/environments", token, &Value::Null).await?;
        if found == status {
            return Ok(answer);
        }
        if begun.elapsed() > Duration::from_secs(180) {
            return Err(format!("never {status}: {answer} {}", server.output()).into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_simulated_cluster_are_reviewed_and_its_outage_lets_nobody_in() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let one = cluster("one").await?;
    let account = "system:serviceaccount:ci:deployer";
    let (good, other) = (token(account, AUDIENCE, 1), token(account, AUDIENCE, 2));
    one.add_token(&good, account, &["system:serviceaccounts"], AUDIENCE);
    let config = config(&format!("url: '{}'", one.url()), ISSUER);
    let server = Server::start_public(folder.path(), &config).await?;
    let doctor = async || -> Result<String> {
        let file = folder.path().join("config.yaml");
        let output =
            tokio::process::Command::new(PROGRAM).arg("doctor").arg("--config").arg(file).output().await?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let said = doctor().await?;
    assert!(said.contains("it reviews tokens"), "{said}");
    assert_eq!(
        get(&format!("{}/api/v1/environments", server.url())).await?.0,
        401,
        "everybody needs a token"
    );
    let seen = until(&server, &good, 200).await?;
    assert_eq!(ids(&seen), ["shop.web.production"]);
    let (_, who) = server.send("GET", "/whoami", &good, &Value::Null).await?;
    assert_eq!((&who["method"], &who["user"]), (&json!("service_account"), &json!(account)));
    let write = |token: String| {
        let server = &server;
        async move {
            let deployment = json!({"project": "shop/web", "environment": "production", "sha": "8f3c", "status": "success"});
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(
                server.send("POST", "/deployments", &token, &deployment).await?.0,
            )
        }
    };
    assert_eq!(write(good.clone()).await?, 201);
    assert_eq!(write(other.clone()).await?, 401);
    assert_eq!(server.send("GET", "/environments", &token("alice", AUDIENCE, 3), &Value::Null).await?.0, 401);
    let asked = one.token_reviews();
    for number in 0..5 {
        let wrong = token(account, "api", number);
        assert_eq!(server.send("GET", "/environments", &wrong, &Value::Null).await?.0, 401);
    }
    assert_eq!(one.token_reviews(), asked, "of another audience nobody is asked");
    // An outage lets nobody in whom nobody knows.
    one.faults().refuse(Some(Kind::new("authentication.k8s.io", "TokenReview")), 503);
    let new = token(account, AUDIENCE, 4);
    one.add_token(&new, account, &[], AUDIENCE);
    let said = doctor().await?;
    assert!(said.contains("it does not review tokens") && said.contains("system:auth-delegator"), "{said}");
    let answer = until(&server, &new, 503).await?;
    assert_eq!(answer["code"], "token_review_unavailable");
    assert_eq!(server.send("GET", "/environments", &good, &Value::Null).await?.0, 200);
    one.faults().clear();
    until(&server, &new, 200).await?;
    one.stop().await;
    let newer = token(account, AUDIENCE, 5);
    until(&server, &newer, 503).await?;
    let output = server.output();
    assert!(output.contains("reviewing a token failed"), "{output}");
    server.stop().await?;
    for token in [&good, &other, &new, &newer] {
        assert!(!output.contains(token.as_str()), "{output}");
    }
    assert_nowhere(folder.path(), &[&good, &other, &new, &newer])
}

const ACCOUNTS: &str = r#"
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
  {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": "ci"}},
  {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other", "namespace": "ci"}}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_real_control_plane_reviews_tokens_until_their_account_is_deleted() -> Result<()> {
    if skip_without_control_plane("a_real_control_plane_reviews_tokens_until_their_account_is_deleted") {
        return Ok(());
    }
    let plane = ControlPlane::start().await?;
    plane.apply(ACCOUNTS).await?;
    let folder = tempfile::tempdir()?;
    let way = format!("kubeconfig: {}", plane.kubeconfig_path().display());
    let server = Server::start_public(folder.path(), &config(&way, ISSUER)).await?;
    let made = async |name: &str, audience: &str| -> Result<String> {
        let token = plane.kubectl(&["create", "token", name, "-n", "ci", "--audience", audience]).await?;
        Ok(token.trim().to_owned())
    };
    let good = made("deployer", AUDIENCE).await?;
    assert_eq!(ids(&until(&server, &good, 200).await?), ["shop.web.production"]);
    let asked = |token: String| {
        let server = &server;
        async move { server.send("GET", "/environments", &token, &Value::Null).await }
    };
    // For others, of others, and made up.
    let (status, answer) = asked(made("deployer", "https://other.test").await?).await?;
    assert!(
        status == 401 && answer["detail"].as_str().is_some_and(|why| why.contains("audience")),
        "{answer}"
    );
    assert_eq!(asked(made("other", AUDIENCE).await?).await?.0, 401);
    // Another letter in the midst of the signature.
    let (start, end) = good.split_at(good.len() - 20);
    let other = if end.starts_with('x') { "y" } else { "x" };
    let forged = format!("{start}{other}{}", &end[1..]);
    assert_eq!(asked(forged.clone()).await?.0, 401);
    // A stream ends with the account, and so does the token.
    let mut stream = tokio::process::Command::new(PROGRAM)
        .args(["get", "environments", "-w"])
        .env("STRANDLINE_TOKEN", &good)
        .env("STRANDLINE_SERVER", server.url())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    plane.kubectl(&["delete", "serviceaccount", "deployer", "-n", "ci"]).await?;
    until(&server, &good, 401).await?;
    let ended = tokio::time::timeout(Duration::from_secs(120), stream.wait()).await?;
    assert!(!ended?.success(), "the stream ends, and beginning it again is refused");
    let output = server.output();
    server.stop().await?;
    plane.stop().await?;
    for token in [&good, &forged] {
        assert!(!output.contains(token.as_str()), "{output}");
    }
    assert_nowhere(folder.path(), &[&good, &forged])
}
