//! GraphQL over real sockets: what is a request, who may send one, and that what means harm costs nobody else anything.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::schema::{resolve, violations};
use super::server::{Server, body, header, server, status};
use super::{Ready, Uncounted};
use crate::api::document::JSON;
use crate::api::routes;
use crate::app::AppState;
use crate::http::auth::{TokenConfig, TokenHash};
use strandline_clock::SystemClock;
use strandline_query::testing::{World, small_history};
use strandline_query::{GetEnvironment, Queries};
use strandline_view::ViewStatus;

pub(super) const PATH: &str = "/api/v1/graphql";

const AS_JSON: &str = "content-type: application/json\r\n";
const READER: &str = "authorization: Bearer sl_reader\r\n";

/// The recorded world, of which others than this machine may see one project, and only read.
async fn guarded(world: &World, queries: Queries) -> Server {
    let reader = TokenConfig {
        name: "reader".into(),
        hash: TokenHash::of("sl_reader"),
        user: None,
        expires: None,
        projects: BTreeSet::from(["shop/db".to_owned()]),
        groups: BTreeSet::new(),
        write: false,
        everything: false,
    };
    let access = super::access(&[reader], false);
    let (readiness, metrics) = (Arc::new(Ready(true)), Arc::new(Uncounted));
    let state =
        AppState { queries, readiness, metrics, access, clock: world.clock.clone(), ..super::state(true) };
    server(routes(&state), |_| {}).await
}

async fn send(server: &Server, headers: &str, content: &str) -> String {
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        content.len()
    );
    server.raw((head + content).as_bytes()).await
}

/// The body, held against what the document says of the status.
fn told(answer: &str) -> Value {
    let document = JSON.as_ref().unwrap_or_else(|error| panic!("api/openapi.yaml: {error}"));
    let response = &document["paths"][PATH]["post"]["responses"][status(answer)];
    let response = response["$ref"].as_str().map_or(response, |reference| resolve(document, reference));
    let media = header(answer, "content-type").unwrap_or_default();
    let schema = &response["content"][media]["schema"];
    assert!(schema.is_object(), "not documented: {answer}");
    let value: Value = serde_json::from_str(body(answer)).unwrap_or_default();
    let found = violations(document, schema, &value);
    assert!(found.is_empty(), "{}\n{answer}", found.join("\n"));
    assert_eq!(header(answer, "cache-control"), Some("no-store"));
    assert_eq!(header(answer, "etag"), None, "what is asked for stands in the body");
    value
}

fn is(answer: &str, expected: &str, code: &str) {
    let value = told(answer);
    assert_eq!((status(answer), value["code"].as_str()), (expected, Some(code)), "{answer}");
}

fn query(text: &str) -> String {
    json!({ "query": text }).to_string()
}

#[tokio::test]
async fn who_may_only_read_may_ask_and_sees_what_they_see_elsewhere() {
    let world = World::new(small_history());
    let server = guarded(&world, world.queries.clone()).await;
    let (reader, ask) = (
        format!("{AS_JSON}{READER}"),
        r#"{ a: project(fullPath: "shop/db") { fullPath
        environments { nodes { name health { state } } } } b: project(fullPath: "shop/web") { id } }"#,
    );
    let value = told(&send(&server, &reader, &query(ask)).await);
    let health = block(&world, "shop/db", "production").await;
    let nodes = json!([{ "name": "production", "health": { "state": health } }]);
    let expected = json!({ "a": { "fullPath": "shop/db", "environments": { "nodes": nodes } }, "b": null });
    assert_eq!(value, json!({ "data": expected }));
    is(&send(&server, AS_JSON, &query(ask)).await, "401", "unauthorized");
    for origin in ["origin: http://evil.test\r\n", "sec-fetch-site: cross-site\r\n"] {
        is(&send(&server, &format!("{reader}{origin}"), &query(ask)).await, "403", "cross_site");
    }
    let ours = format!("{reader}origin: http://localhost\r\nsec-fetch-site: same-origin\r\n");
    assert_eq!(status(&send(&server, &ours, &query(ask)).await), "200");
}

async fn block(world: &World, project: &str, name: &str) -> Value {
    let (all, id) =
        (strandline_query::Scope::everything(), strandline_model::EnvironmentId::of(project, name));
    let found = world.queries.ask(&all, strandline_model::At::Now, GetEnvironment::new(&id)).await;
    json!(found.map(|found| found.value.health.state).ok())
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let world = World::new(small_history());
    let server = guarded(&world, world.queries.clone()).await;
    let reader = format!("{AS_JSON}{READER}");
    for content in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"query": 1}"#,
        r#"[{"query": "{ __typename }"}]"#,
        r#"{"query": "{ __typename }", "variables": []}"#,
        r#"{"query": "{ __typename }", "operationName": 1}"#,
        r#"{"query": "{ __typename }", "more": 1}"#,
        r#"{"query": "{ __typename }", "query": "{ __typename }"}"#,
        &format!(r#"{{"query": "{{ __typename }}", "variables": {{"x": {}}}}}"#, "[".repeat(50_000)),
    ] {
        is(&send(&server, &reader, content).await, "400", "invalid_body");
    }
    is(&send(&server, READER, &query("{ __typename }")).await, "415", "unsupported_media_type");
    is(&send(&server, &reader, &query(&"a".repeat(64 * 1024))).await, "413", "body_too_large");
    let plain = [("variables", Value::Null), ("operationName", Value::Null), ("extensions", json!({}))];
    let mut whole = json!({ "query": "{ __typename }" });
    for (name, value) in plain {
        whole[name] = value;
    }
    assert_eq!(
        told(&send(&server, &reader, &whole.to_string()).await),
        json!({ "data": { "__typename": "Query" } })
    );
}

#[tokio::test]
async fn what_means_harm_is_answered_and_the_server_serves_on() {
    let world = World::new(small_history());
    let server = guarded(&world, world.queries.clone()).await;
    let reader = format!("{AS_JSON}{READER}");
    let deep = "[".repeat(20_000) + &"]".repeat(20_000);
    let aliases: String =
        (0..1_200).map(|n| format!(r#"a{n}: project(fullPath: "shop/db") {{ id }} "#)).collect();
    for text in [
        format!("{{ project(fullPath: {deep}) {{ id }} }}"),
        format!("{{ {aliases} }}"),
        "{ a ".repeat(15_000),
        "(".repeat(60_000),
        " ".repeat(60_000),
    ] {
        let answer = send(&server, &reader, &query(&text)).await;
        let value = told(&answer);
        assert!(status(&answer) == "200" && value.get("data").is_none() && value["errors"].is_array());
        assert!(answer.len() < 100_000);
    }
    let variables = json!({ "query": "query ($p: ID!) { project(fullPath: $p) { id } }", "variables": { "p": vec![0; 30_000] } });
    assert!(told(&send(&server, &reader, &variables.to_string()).await)["errors"].is_array());
    let value = told(&send(&server, &reader, &query("{ __typename }")).await);
    assert_eq!(value["data"]["__typename"], "Query");
}

#[tokio::test]
async fn texts_longer_than_any_name_are_refused_wherever_they_stand() {
    let world = World::new(small_history());
    let server = guarded(&world, world.queries.clone()).await;
    let reader = format!("{AS_JSON}{READER}");
    for (length, refused) in [(1024, false), (1025, true)] {
        let path = "a".repeat(length);
        let asked = r#"query ($p: ID!) { project(fullPath: $p) { id } }"#;
        for request in [
            query(&format!(r#"{{ project(fullPath: "{path}") {{ id }} }}"#)),
            query(&format!(
                r#"query ($p: String! = "{path}") {{ project(fullPath: "x") {{ environment(name: $p) {{ id }} }} }}"#
            )),
            query(&format!(r#"{{ ...f }} fragment f on Query {{ project(fullPath: "{path}") {{ id }} }}"#)),
            query(&format!(r#"{{ ... on Query {{ project(fullPath: """{path}""") {{ id }} }} }}"#)),
            json!({ "query": asked, "variables": { "p": path } }).to_string(),
            json!({ "query": "{ __typename }", "variables": { "p": [{ "q": path }] } }).to_string(),
        ] {
            let value = told(&send(&server, &reader, &request).await);
            let message = value["errors"][0]["message"].as_str().unwrap_or_default();
            assert_eq!(message.contains("1025 bytes"), refused, "{length}: {value}");
        }
    }
}

#[tokio::test]
async fn a_view_that_is_being_built_and_storage_that_fails_are_told_as_errors() {
    let world = World::new(small_history());
    let building = Queries::new(Path::new("/nonexistent"), 1, ViewStatus::default(), Arc::new(SystemClock));
    let broken = strandline_query::testing::queries(Path::new("/nonexistent"), Arc::new(SystemClock));
    for (queries, code) in [(building, "view_building"), (broken, "storage")] {
        let server = guarded(&world, queries).await;
        let ask = query(r#"{ project(fullPath: "shop/db") { id } }"#);
        let value = told(&send(&server, &format!("{AS_JSON}{READER}"), &ask).await);
        assert_eq!(value["data"], json!({ "project": null }));
        assert_eq!(value["errors"][0]["extensions"], json!({ "code": code }));
        assert!(!value.to_string().contains("nonexistent"), "the cause stays in the log");
    }
}
