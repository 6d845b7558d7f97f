//! The document against a recorded world over a real socket: every path, and every status it promises.

mod moments;
mod reads;
mod servers;
mod writes;

use std::collections::BTreeSet;

use serde_json::Value;

use super::contract::operations;
use super::schema::{resolve, violations};
use super::server::{body, header, status};
use crate::api::document::JSON;
use reads::{provoke, there};
use servers::{Ask, Servers, Whom, get};

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

/// Holds an answer against what the document says of a status: the type, the headers, the body.
fn holds(path: &str, expected: &str, ask: &Ask, answer: &str, code: &str) {
    let told = format!("{path} {expected}: {ask:?}\n{answer}");
    let method = ask.method.to_lowercase();
    assert_eq!(status(answer), expected, "{told}");
    let response = meant(&document()["paths"][path][&method]["responses"][expected]);
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
        Some(
            "text/plain"
            | "text/csv"
            | "text/event-stream"
            | "application/yaml"
            | "application/atom+xml"
            | "application/openmetrics-text",
        ) => Value::String(body(answer).to_owned()),
        _ => serde_json::from_str(body(answer)).unwrap_or_default(),
    };
    if let Some(content) = schema {
        let found = violations(document(), &content["schema"], &value);
        assert!(found.is_empty(), "{}\n{told}", found.join("\n"));
    }
    assert_eq!(value["code"].as_str().unwrap_or_default(), code, "{told}");
    for name in ["ETag", "Link", "Retry-After", "WWW-Authenticate"] {
        let documented = response["headers"].get(name).is_some();
        let pages = [&value["metadata"], &value["environments"]];
        let goes_on = pages.iter().any(|page| page["continue"].is_string());
        let wanted = documented && (name != "Link" || goes_on);
        assert_eq!(header(answer, &name.to_lowercase()).is_some(), wanted, "{name}: {told}");
    }
}

#[tokio::test]
async fn every_documented_status_is_seen_and_is_as_documented() {
    let servers = Servers::new().await;
    let mut unseen = Vec::new();
    // What GraphQL promises is provoked in `graphql`, with bodies.
    for (path, method, operation) in operations().filter(|(path, ..)| *path != super::graphql::PATH) {
        // That a path has no other methods is seen of all of them below.
        let statuses = operation["responses"].as_object().into_iter().flatten();
        for (expected, _) in statuses.filter(|(expected, _)| *expected != "405") {
            if OUT_OF_REACH.iter().any(|(at, status, _)| *at == path && status == expected) {
                continue;
            }
            let asks = match method.as_str() {
                "GET" => provoke(&servers, path, expected).await,
                method => writes::provoke(path, method, expected),
            };
            if asks.is_empty() {
                unseen.push(format!("{method} {path}: {expected}"));
            }
            for (ask, code) in asks {
                // A body that stays away is waited for on a clock that runs when nothing else does.
                let waits = expected == "408";
                let _ = waits.then(tokio::time::pause);
                let answer = servers.ask(&ask).await;
                let _ = waits.then(tokio::time::resume);
                holds(path, expected, &ask, &answer, code);
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
            for (method, operation) in item.as_object().into_iter().flatten() {
                let response = meant(&operation["responses"]["405"]);
                assert!(response["headers"]["Allow"].is_object(), "{method} {path}: {operation}");
            }
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
        ("/api/v1/environments/{id}/timeline", ""),
        ("/api/v1/environments/{id}/timeline", "&order=oldest"),
        ("/api/v1/environments/{id}/timeline", "&lane=health,gaps,changes"),
        ("/api/v1/resources/{uid}/timeline", "&below=true"),
        ("/api/v1/clusters", ""),
        ("/api/v1/resources", ""),
        ("/api/v1/resources", "&gone=any&kind=deploy,po,rs"),
        ("/api/v1/groups", ""),
        ("/api/v1/projects", ""),
        ("/api/v1/agents", ""),
        ("/api/v1/deployments", ""),
    ] {
        let ids = |answer: &str| -> Vec<Value> {
            let value: Value = serde_json::from_str(body(answer)).unwrap_or_default();
            let items = ["items", "entries"].iter().find_map(|name| value[*name].as_array());
            items.into_iter().flatten().map(|item| item["id"].clone()).collect()
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
