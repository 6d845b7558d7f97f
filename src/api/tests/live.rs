//! The document against a recorded world over a real socket: every path, and every status it promises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::contract::operations;
use super::schema::{resolve, violations};
use super::server::{Server, body, header, server, status};
use super::{Access, ApiState, Check, Readiness, Ready, Uncounted};
use crate::api::document::JSON;
use crate::api::routes;
use crate::clock::SystemClock;
use crate::config::{TokenConfig, TokenHash};
use crate::projection::ViewStatus;
use crate::query::Queries;
use crate::query::testing::{World, queries, small_history};

/// Statuses that nobody can provoke from outside, by path and status.
const OUT_OF_REACH: [(&str, &str, &str); 5] = [
    ("/api/v1/openapi.json", "500", "it reads no storage; only a bug of ours would lead there"),
    ("/metrics", "500", "numbers are always there; only a bug of ours would lead there"),
    ("/openapi.yaml", "500", "it reads no storage; only a bug of ours would lead there"),
    ("/healthz", "500", "it asks nobody; only a bug of ours would lead there"),
    ("/livez", "500", "it asks nobody; only a bug of ours would lead there"),
];

fn document() -> &'static Value {
    JSON.as_ref().unwrap_or_else(|error| panic!("api/openapi.yaml: {error}"))
}

/// A part of the document, be it there or referred to.
fn meant(part: &'static Value) -> &'static Value {
    part["$ref"].as_str().map_or(part, |reference| resolve(document(), reference))
}

/// Breaks when it is asked, as a bug in a check would.
struct Breaking;

impl Readiness for Breaking {
    fn checks(&self) -> Vec<Check> {
        panic!("on purpose")
    }
}

/// Which server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// Has the recorded world.
    Whole,
    /// Is building its view.
    Building,
    /// Finds no files.
    Broken,
    /// Can be reached by others, and wants tokens.
    Guarded,
}

/// One that sees a project.
fn shop_token() -> TokenConfig {
    TokenConfig {
        name: "shop".into(),
        hash: TokenHash::of("sl_shop"),
        user: None,
        projects: BTreeSet::from(["shop/db".to_owned()]),
        groups: BTreeSet::new(),
        write: false,
        everything: false,
    }
}

struct Servers {
    by: BTreeMap<Whom, Server>,
    _world: World,
}

impl Servers {
    async fn new() -> Self {
        let world = World::new(small_history());
        let state = |queries: Queries, readiness: Arc<dyn Readiness>| ApiState {
            queries,
            readiness,
            metrics: Arc::new(Uncounted),
            clock: world.clock.clone(),
            ..super::state(true)
        };
        let nowhere = Path::new("/nonexistent");
        let building = Queries::new(nowhere, 1, ViewStatus::default(), Arc::new(SystemClock));
        let broken = queries(nowhere, Arc::new(SystemClock));
        let guarded = Arc::new(Access::new(&[shop_token()], false));
        let guarded = ApiState { access: guarded, ..state(world.queries.clone(), Arc::new(Ready(true))) };
        let states = [
            (Whom::Guarded, guarded),
            (Whom::Whole, state(world.queries.clone(), Arc::new(Ready(true)))),
            (Whom::Building, state(building, Arc::new(Ready(false)))),
            (Whom::Broken, state(broken, Arc::new(Breaking))),
        ];
        let mut by = BTreeMap::new();
        for (whom, state) in states {
            by.insert(whom, server(routes(&state), |_| {}).await);
        }
        Servers { by, _world: world }
    }

    async fn ask(&self, ask: &Ask) -> String {
        let Ask { whom, method, target, host, headers } = ask;
        let head =
            format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n");
        self.by[whom].raw(head.as_bytes()).await
    }
}

#[derive(Clone, Debug)]
struct Ask {
    whom: Whom,
    method: &'static str,
    target: String,
    host: &'static str,
    headers: String,
}

fn get(target: impl Into<String>) -> Ask {
    Ask { whom: Whom::Whole, method: "GET", target: target.into(), host: "localhost", headers: String::new() }
}

/// The path with something that is there in the place of its parameter.
fn there(path: &str) -> String {
    path.replace("{id}", "shop.db.production").replace("{uid}", "stage-web-0")
}

/// The names of the query's parameters.
fn parameters(path: &str) -> BTreeSet<&'static str> {
    let declared = document()["paths"][path]["get"]["parameters"].as_array();
    let declared = declared.into_iter().flatten().map(meant);
    declared.filter(|one| one["in"] == "query").filter_map(|one| one["name"].as_str()).collect()
}

/// The least and the most that the limit of a path may be.
fn limits(path: &str) -> impl Iterator<Item = i64> {
    let declared = document()["paths"][path]["get"]["parameters"].as_array().into_iter().flatten();
    let limit = declared.map(meant).filter(|one| one["name"] == "limit");
    limit.flat_map(|limit| ["minimum", "maximum"].map(|end| limit["schema"][end].as_i64())).flatten()
}

/// Questions that have an answer: without a parameter, and with each of them.
fn good(path: &str) -> Vec<Ask> {
    let plain = there(path);
    let with = |name: &str| match name {
        "tier" => vec!["tier=production,staging"],
        "region" => vec!["region=eu&region=us"],
        "project" => vec!["project=shop/db"],
        "health" => vec!["health=Degraded", "health=degraded,unknown"],
        "kind" => vec!["kind=pod"],
        "type" => vec!["type=Warning", "type=normal,warning"],
        "reason" => vec!["reason=BackOff&reason=unhealthy"],
        "cluster" => vec!["cluster=west"],
        "owner" => vec!["owner=shop-db-set", "owner=nobody"],
        "order" => vec!["order=name", "order=health"],
        "under" => vec!["under=shop-db-set", "under=shop-db-set&cluster=east"],
        "depth" => vec!["depth=0", "depth=1000"],
        "collapse" => vec!["collapse=none", "collapse=siblings", "collapse=owner", "collapse=kind"],
        "since" => vec!["since=24h", "since=1", "since=2026-09-21T14:50:00Z", "since=now"],
        "state" => vec!["state=gap", "state=Watched,excluded"],
        "bodies" => vec!["bodies=true", "bodies=false"],
        "verbose" => vec!["verbose"],
        "at" => vec!["at=now", "at=40", "at=0s", "at=2026-09-21T14:50:00Z"],
        "continue" => vec!["continue="],
        other => panic!("say how to ask with {other}"),
    };
    let mut asks = vec![get(plain.clone())];
    let parameters = parameters(path).into_iter().filter(|name| *name != "limit");
    asks.extend(parameters.flat_map(with).map(|query| get(format!("{plain}?{query}"))));
    asks.extend(limits(path).map(|limit| get(format!("{plain}?limit={limit}"))));
    // One that ended, and one of two clusters.
    if ["/history", "{uid}/events", "{uid}/health"].iter().any(|end| path.ends_with(end)) {
        let query = if path.ends_with("/history") { "?bodies=true" } else { "" };
        asks.push(get(path.replace("{uid}", "shop-mover") + query));
    } else if path.ends_with("/{uid}") {
        asks.push(get(path.replace("{uid}", "twin") + "?cluster=west"));
    }
    let json = "accept: application/json\r\n".to_owned();
    asks.extend(asks.clone().into_iter().map(|ask| Ask { headers: json.clone(), ..ask }));
    asks
}

/// Questions that are refused as wrong, each with its code.
fn wrong(path: &str) -> Vec<(Ask, &'static str)> {
    let mut queries = vec![("nonsense=1", "invalid_parameter"), ("x=%zz", "malformed_request")];
    let parameters = parameters(path);
    let known = [
        ("at", "at=yesterday", "invalid_parameter"),
        ("at", "at=1&at=1", "invalid_parameter"),
        ("at", "at=100000", "future_moment"),
        ("at", "at=9999-01-01T00:00:00Z", "future_moment"),
        ("limit", "limit=0", "invalid_parameter"),
        ("continue", "continue=nonsense", "bad_page_token"),
        ("continue", "continue=1.0123456789abcdef.5b5d", "bad_page_token"),
        ("tier", "tier=prod", "invalid_parameter"),
        ("health", "health=fine", "invalid_parameter"),
        ("state", "state=blind", "invalid_parameter"),
        ("bodies", "bodies=1", "invalid_parameter"),
        ("type", "type=Warnings", "invalid_parameter"),
        ("order", "order=age", "invalid_parameter"),
        ("depth", "depth=1001", "invalid_parameter"),
        ("collapse", "collapse=all", "invalid_parameter"),
        ("since", "since=yesterday", "invalid_parameter"),
        ("since", "since=100000", "future_moment"),
    ];
    queries
        .extend(known.iter().filter(|(name, ..)| parameters.contains(name)).map(|(_, q, code)| (*q, *code)));
    let plain = there(path);
    let mut asks: Vec<_> =
        queries.into_iter().map(|(query, code)| (get(format!("{plain}?{query}")), code)).collect();
    let beyond = limits(path).last().map(|most| most + 1);
    asks.extend(beyond.map(|limit| (get(format!("{plain}?limit={limit}")), "invalid_parameter")));
    if path.contains('{') {
        let malformed = path.replace("{id}", "%c0%af").replace("{uid}", "%00");
        asks.push((get(malformed), "malformed_request"));
    }
    asks
}

/// How to provoke a status, with the code of the problem; the empty one where there is none.
async fn provoke(servers: &Servers, path: &str, expected: &str) -> Vec<(Ask, &'static str)> {
    let (plain, nobody) = (get(there(path)), path.replace("{id}", "nobody").replace("{uid}", "nobody"));
    match expected {
        "200" => good(path).into_iter().map(|ask| (ask, "")).collect(),
        "304" => {
            let answer = servers.ask(&plain).await;
            let tag = header(&answer, "etag").unwrap_or_else(|| panic!("{path} has a tag: {answer}"));
            vec![(Ask { headers: format!("if-none-match: {tag}\r\n"), ..plain }, "")]
        }
        "400" => wrong(path),
        "401" | "403" => {
            let with = |headers: &str| Ask { whom: Whom::Guarded, headers: headers.into(), ..plain.clone() };
            let [unknown, shop] =
                ["sl_other", "sl_shop"].map(|token| format!("authorization: Bearer {token}\r\n"));
            match expected {
                "401" => vec![(with(""), "unauthorized"), (with(&unknown), "unauthorized")],
                _ => vec![(with(&shop), "forbidden")],
            }
        }
        "404" => {
            let mut asks = vec![get(nobody.clone()), get(nobody + "?at=0")];
            // What is there, but not in this environment.
            let elsewhere = parameters(path).contains("under").then(|| plain.target + "?under=stage-web-0");
            asks.extend(elsewhere.map(get));
            asks.into_iter().map(|ask| (ask, "not_found")).collect()
        }
        "409" => vec![(get(path.replace("{uid}", "twin")), "ambiguous_uid")],
        "414" => vec![(get(format!("{}?x={}", plain.target, "a".repeat(9000))), "uri_too_long")],
        "421" => vec![(Ask { host: "evil.test", ..plain }, "misdirected_request")],
        "500" => {
            let code = if path == "/readyz" { "internal" } else { "storage" };
            vec![(Ask { whom: Whom::Broken, ..plain }, code)]
        }
        "503" if path == "/readyz" => {
            let ask = Ask { whom: Whom::Building, ..plain };
            vec![(Ask { headers: "accept: application/json\r\n".into(), ..ask.clone() }, ""), (ask, "")]
        }
        "503" => vec![(Ask { whom: Whom::Building, ..plain }, "view_building")],
        other => panic!("say how to provoke {other}"),
    }
}

/// Holds an answer against what the document says of a status: the type, the headers, the body.
fn holds(path: &str, expected: &str, ask: &Ask, answer: &str, code: &str) {
    let told = format!("{path} {expected}: {ask:?}\n{answer}");
    assert_eq!(status(answer), expected, "{told}");
    let response = meant(&document()["paths"][path]["get"]["responses"][expected]);
    let media = header(answer, "content-type").map(|media| media.split(';').next().unwrap_or(media));
    let schema = match (response.get("content"), media) {
        (None, None) => {
            assert_eq!(body(answer), "", "{told}");
            None
        }
        (Some(content), Some(media)) => {
            Some(content.get(media).unwrap_or_else(|| panic!("{media} is not documented: {told}")))
        }
        _ => panic!("a body where none is documented, or none where one is: {told}"),
    };
    let value = match media {
        Some("text/plain" | "application/yaml" | "application/openmetrics-text") => {
            Value::String(body(answer).to_owned())
        }
        _ => serde_json::from_str(body(answer)).unwrap_or_default(),
    };
    if let Some(content) = schema {
        let found = violations(document(), &content["schema"], &value);
        assert!(found.is_empty(), "{}\n{told}", found.join("\n"));
    }
    assert_eq!(value["code"].as_str().unwrap_or_default(), code, "{told}");
    for name in ["ETag", "Link", "Retry-After", "WWW-Authenticate"] {
        let documented = response["headers"].get(name).is_some();
        let wanted = documented && (name != "Link" || value["metadata"]["continue"].is_string());
        assert_eq!(header(answer, &name.to_lowercase()).is_some(), wanted, "{name}: {told}");
    }
}

#[tokio::test]
async fn every_documented_status_is_seen_and_is_as_documented() {
    let servers = Servers::new().await;
    let mut unseen = Vec::new();
    // What GraphQL promises is provoked in `graphql`, with bodies.
    for (path, method, operation) in operations().filter(|(path, ..)| *path != super::graphql::PATH) {
        assert_eq!(method, "GET", "say how to provoke what {path} promises");
        for (expected, _) in operation["responses"].as_object().into_iter().flatten() {
            if OUT_OF_REACH.iter().any(|(at, status, _)| *at == path && status == expected) {
                continue;
            }
            let asks = provoke(&servers, path, expected).await;
            if asks.is_empty() {
                unseen.push(format!("{path}: {expected}"));
            }
            for (ask, code) in asks {
                holds(path, expected, &ask, &servers.ask(&ask).await, code);
            }
        }
    }
    assert!(unseen.is_empty(), "documented and never seen: {unseen:?}");
    for (path, status, why) in OUT_OF_REACH {
        let documented = &document()["paths"][path]["get"]["responses"][status];
        assert!(documented.is_object() && !why.is_empty(), "{path} {status} is no longer documented");
    }
}

/// The methods that the document names for a path, as `Allow` is to tell them.
fn allowed(path: &str) -> String {
    let documented: BTreeSet<_> =
        operations().filter(|(at, ..)| *at == path).map(|(_, method, _)| method).collect();
    let all = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"].into_iter();
    let named = |method: &str| match method {
        "HEAD" => documented.contains("GET"),
        "OPTIONS" => true,
        method => documented.contains(method),
    };
    all.filter(|method| named(method)).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn every_path_answers_the_methods_that_the_document_names() {
    let servers = Servers::new().await;
    let problem = &document()["components"]["schemas"]["Problem"];
    for (path, item) in document()["paths"].as_object().into_iter().flatten() {
        let (plain, allow) = (get(there(path)), allowed(path));
        if item.get("get").is_some() {
            let whole = servers.ask(&plain).await;
            let head = servers.ask(&Ask { method: "HEAD", ..plain.clone() }).await;
            assert_eq!((status(&head), body(&head)), ("200", ""), "{path}");
            for name in ["content-type", "content-length", "etag"] {
                assert_eq!(header(&head, name), header(&whole, name), "{path}: {name}");
            }
        }
        let options = servers.ask(&Ask { method: "OPTIONS", ..plain.clone() }).await;
        assert_eq!((status(&options), header(&options, "allow")), ("204", Some(allow.as_str())));
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if allow.split(", ").any(|allowed| allowed == method) {
                continue;
            }
            let ask = Ask { method, headers: "content-length: 0\r\n".into(), ..plain.clone() };
            let refused = servers.ask(&ask).await;
            assert_eq!((status(&refused), header(&refused, "allow")), ("405", Some(allow.as_str())));
            let value: Value = serde_json::from_str(body(&refused)).unwrap_or_default();
            let found = violations(document(), problem, &value);
            assert!(found.is_empty() && value["code"] == "method_not_allowed", "{path}: {found:?} {refused}");
        }
    }
}

#[tokio::test]
async fn a_probe_is_answered_anew_whatever_the_caller_holds() {
    let servers = Servers::new().await;
    for (whom, expected) in [(Whom::Whole, "200"), (Whom::Building, "503")] {
        for accept in ["", "accept: application/json\r\n"] {
            let headers = format!("if-none-match: *\r\n{accept}");
            let ask = Ask { whom, headers, ..get("/readyz") };
            holds("/readyz", expected, &ask, &servers.ask(&ask).await, "");
        }
    }
}

#[tokio::test]
async fn following_the_links_reads_the_whole_list() {
    let servers = Servers::new().await;
    for (path, filter) in [
        ("/api/v1/environments", ""),
        ("/api/v1/environments/{id}/resources", ""),
        ("/api/v1/environments/{id}/resources", "&order=health"),
        ("/api/v1/environments/{id}/resources", "&owner=shop-db-set"),
        ("/api/v1/environments/{id}/events", ""),
        ("/api/v1/clusters", ""),
    ] {
        let ids = |answer: &str| -> Vec<Value> {
            let value: Value = serde_json::from_str(body(answer)).unwrap_or_default();
            value["items"].as_array().into_iter().flatten().map(|item| item["id"].clone()).collect()
        };
        let whole = ids(&servers.ask(&get(format!("{}?{filter}", there(path)))).await);
        let first = format!("{}?limit=1&at=0s{filter}", there(path));
        let (mut found, mut next) = (Vec::new(), Some(first));
        while let Some(target) = next {
            let answer = servers.ask(&get(target)).await;
            holds(path, "200", &get(path), &answer, "");
            found.extend(ids(&answer));
            let link = header(&answer, "link").map(|link| link.trim_start_matches('<'));
            next = link.and_then(|link| Some(link.split_once(">; rel=\"next\"")?.0.to_owned()));
        }
        assert!(whole.len() > 1, "{path} is worth walking");
        assert_eq!(found, whole, "{path} {filter}");
    }
}
