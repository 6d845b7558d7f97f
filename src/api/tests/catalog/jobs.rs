//! A CI job with a token of its own: it records deployments to its environment, and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Town, body, routes, status};
use crate::app::AppState;
use crate::http::auth::tests::signer::Signer;
use crate::http::auth::{AccessConfig, Algorithm, Authenticator, Fetch, IssuerConfig, JobRules, Mapping};
use crate::http::outgoing::OutgoingRequest;

const ISSUER: &str = "https://gitlab.test";

/// A town that takes tokens of jobs, and the key that signs them.
struct Works {
    town: Town,
    key: Signer,
}

impl Works {
    async fn new(unprotected_refs: bool) -> Self {
        let key = Signer::es256();
        let keys = json!({"keys": [key.jwk("1")]}).to_string();
        let fetch: Fetch = Arc::new(move |_: OutgoingRequest| {
            std::future::ready(Ok::<_, String>((StatusCode::OK, Bytes::from(keys.clone())))).boxed()
        });
        let projects = BTreeSet::from(["shop/web".to_owned()]);
        let issuer = IssuerConfig {
            name: "ci".to_owned(),
            issuer: ISSUER.to_owned(),
            audience: "us".to_owned(),
            algorithms: vec![Algorithm::Es256],
            jwks_url: Some(format!("{ISSUER}/keys")),
            mapping: Mapping::Jobs(JobRules { projects, unprotected_refs, ..JobRules::default() }),
            login: None,
            command_line: None,
        };
        let town = Town::serving(|state| {
            let config = AccessConfig { issuers: vec![issuer.clone()], ..state.access.config() };
            let access = Authenticator::new(config, true, state.clock.clone()).with_fetch(Arc::clone(&fetch));
            routes(&AppState { access: Arc::new(access), ..state.clone() })
        });
        Works { town: town.await, key }
    }

    /// What a job is answered whose token says this, besides what it always says.
    async fn ask(&self, more: &Value, method: &str, path: &str, content: &Value) -> (String, Value) {
        let mut claims = json!({"iss": ISSUER, "aud": "us", "sub": "project_path:shop/web:ref_type:branch:ref:main",
            "exp": 4_102_444_800_u64, "project_path": "shop/web", "job_id": "9", "pipeline_id": "7",
            "ref_protected": "true", "environment": "production"});
        for (claim, value) in more.as_object().expect("claims") {
            claims[claim] = value.clone();
        }
        let (token, content) = (self.key.token("1", &claims), content.to_string());
        let request = format!(
            "{method} /api/v1/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{content}",
            content.len()
        );
        let answer = self.town.server.raw(request.as_bytes()).await;
        self.town.pass();
        (status(&answer).to_owned(), serde_json::from_str(body(&answer)).unwrap_or_default())
    }

    async fn is(&self, expected: &str, more: &Value, method: &str, path: &str, content: &Value) -> Value {
        let (status, answer) = self.ask(more, method, path, content).await;
        assert_eq!(status, expected, "{method} {path} {content}: {answer}");
        answer
    }
}

fn deployment(environment: Value) -> Value {
    json!({"project": "shop/web", "environment": environment, "status": "running", "ref": "main", "sha": "8f3c"})
}

#[tokio::test]
async fn a_job_records_deployments_to_its_own_environment_and_nothing_else() {
    let works = Works::new(false).await;
    let (town, plain) = (&works.town, json!({}));
    town.write("PUT", "projects/shop%2Fweb", json!({"id": 42})).await;
    let staging = town.write("POST", "deployments", deployment(json!("staging"))).await;
    let own = works.is("201", &plain, "POST", "deployments", &deployment(json!("production"))).await;
    let status = json!({"status": "success"});
    works.is("200", &plain, "PUT", &format!("deployments/{}", own["id"]), &status).await;
    works.is("200", &plain, "GET", "environments/shop.web.production", &json!(null)).await;
    let of_staging = format!("deployments/{}", staging["id"]);
    for (method, path, content) in [
        ("POST", "deployments", deployment(json!("staging"))),
        ("POST", "deployments", deployment(json!({"name": "production", "project": "dev/frontend"}))),
        ("POST", "deployments", json!({"project": "dev/frontend", "environment": "production"})),
        ("PUT", of_staging.as_str(), status.clone()),
        ("PUT", "projects/shop%2Fweb", json!({"id": 43})),
        ("DELETE", "projects/shop%2Fweb", json!(null)),
        ("POST", "projects/shop%2Fweb/environments", json!({"name": "production"})),
        ("POST", "environments/shop.web.production/stop", json!({})),
        ("DELETE", "environments/shop.web.production", json!(null)),
        ("PUT", "agents/shop%2Fweb:mine", json!({"cluster": "east"})),
        ("POST", "rebuild", json!({})),
    ] {
        works.is("403", &plain, method, path, &content).await;
    }
    for more in
        [json!({"ref_protected": "false"}), json!({"environment": null}), json!({"environment": "staging"})]
    {
        works.is("403", &more, "POST", "deployments", &deployment(json!("production"))).await;
    }
}

#[tokio::test]
async fn a_job_cannot_claim_that_its_ref_is_protected() {
    let works = Works::new(true).await;
    works.town.write("PUT", "projects/shop%2Fweb", json!({"id": 42})).await;
    let unprotected = json!({"ref_protected": "false"});
    let mut content = deployment(json!("production"));
    works.is("201", &unprotected, "POST", "deployments", &content).await;
    content["ref_protected"] = json!(true);
    let refused = works.is("400", &unprotected, "POST", "deployments", &content).await;
    assert_eq!(refused["place"]["field"], "ref_protected");
    works.is("201", &json!({}), "POST", "deployments", &content).await;
}
