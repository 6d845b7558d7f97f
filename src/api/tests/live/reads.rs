//! Questions: those that have an answer, and those that are refused.

use std::collections::BTreeSet;

use super::super::server::header;
use super::servers::{Ask, Servers, Whom, get};
use super::{document, meant};

/// The path with something that is there in the place of its parameter.
pub(super) fn there(path: &str) -> String {
    let id = match path {
        _ if path.contains("/agents/") => "ops%2Fagents:production",
        _ if path.contains("deployments/{id}") => "512",
        _ => "shop.db.production",
    };
    let target = path.replace("{id}", id).replace("{uid}", "stage-web-0").replace("{path}", "shop%2Fdb");
    // A job has a project.
    if path.ends_with("/allowed") { target + "?project=shop/db" } else { target }
}

/// The path with something that is not there in the place of its parameter.
pub(super) fn nowhere(path: &str) -> Vec<String> {
    let names: &[&str] = match path {
        _ if path.contains("/agents/") => &["ops%2Fagents:nobody", "nobody"],
        _ if path.contains("deployments/{id}") => &["99999", "nobody"],
        _ => &["nobody"],
    };
    let mandatory = if path.ends_with("/allowed") { "?project=shop/db" } else { "" };
    let filled =
        |name: &&str| path.replace("{id}", name).replace("{uid}", name).replace("{path}", name) + mandatory;
    match path {
        "/api/v1/deployments" => vec![format!("{path}?environment=nobody")],
        _ => names.iter().map(filled).collect(),
    }
}

/// An address with more in its query.
fn with(target: &str, query: &str) -> String {
    format!("{target}{}{query}", if target.contains('?') { '&' } else { '?' })
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
    let valued = |name: &str| match name {
        "tier" => vec!["tier=production,staging"],
        "region" => vec!["region=eu&region=us"],
        "project" if path.ends_with("/allowed") => vec![],
        "project" => vec!["project=shop/db"],
        "environment" => vec!["environment=shop.db.production"],
        "status" => vec!["status=running", "status=Success,failed"],
        "group" => vec!["group=shop,OPS"],
        "ref" => vec!["ref=main"],
        "tag" => vec!["tag=true&ref=v1"],
        "protected" => vec!["protected=true", "protected=false"],
        "namespace" => vec!["namespace=shop"],
        "var" => vec!["var=A=1,2&var=B="],
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
        "state" if path.ends_with("/coverage") => vec!["state=gap", "state=Watched,excluded"],
        "state" => vec!["state=stopped", "state=available,stopping"],
        "agent" => vec!["agent=shop/agents:one"],
        "name" => vec!["name=prod*&name=**/x", "name=%25"],
        "labels" => vec!["labels=team%3Dpayments,criticality+in+(high,critical)"],
        "group_by" => vec!["group_by=region&group_by=tier", "group_by=cluster,label:team"],
        "view" => vec!["view=all", "view=all&tier=staging"],
        "bodies" => vec!["bodies=true", "bodies=false"],
        "verbose" => vec!["verbose"],
        // The catalog's things came last.
        "at" if ["/projects/", "/agents/", "/deployments/"].iter().any(|place| path.contains(place)) => {
            vec!["at=now", "at=0s"]
        }
        "at" => vec!["at=now", "at=40", "at=0s", "at=2026-09-21T14:50:00Z"],
        "continue" => vec!["continue="],
        other => panic!("say how to ask with {other}"),
    };
    let mut asks = vec![get(plain.clone())];
    let parameters = parameters(path).into_iter().filter(|name| *name != "limit");
    asks.extend(parameters.flat_map(valued).map(|query| get(with(&plain, query))));
    asks.extend(limits(path).map(|limit| get(with(&plain, &format!("limit={limit}")))));
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
        ("agent", "agent=one", "invalid_parameter"),
        ("name", "name=a%5Bb", "invalid_parameter"),
        ("name", "name=a*,b*,c*,d*,e*,f*,g*,h*,i*,j*,k*,l*,m*,n*,o*,p*,q*,r*,s*,t*,u*", "invalid_parameter"),
        ("labels", "labels=a%3Db%3Dc", "invalid_parameter"),
        ("group_by", "group_by=moon", "invalid_parameter"),
        ("group_by", "group_by=tier,tier", "invalid_parameter"),
        ("group_by", "group_by=tier,region,state", "invalid_parameter"),
        ("bodies", "bodies=1", "invalid_parameter"),
        ("type", "type=Warnings", "invalid_parameter"),
        ("order", "order=age", "invalid_parameter"),
        ("depth", "depth=1001", "invalid_parameter"),
        ("collapse", "collapse=all", "invalid_parameter"),
        ("since", "since=yesterday", "invalid_parameter"),
        ("since", "since=100000", "future_moment"),
        ("status", "status=done", "invalid_parameter"),
        ("tag", "tag=1", "invalid_parameter"),
        ("var", "var=A", "invalid_parameter"),
    ];
    queries
        .extend(known.iter().filter(|(name, ..)| parameters.contains(name)).map(|(_, q, code)| (*q, *code)));
    let plain = there(path);
    let mut asks: Vec<_> =
        queries.into_iter().map(|(query, code)| (get(with(&plain, query)), code)).collect();
    let beyond = limits(path).last().map(|most| most + 1);
    asks.extend(beyond.map(|limit| (get(with(&plain, &format!("limit={limit}"))), "invalid_parameter")));
    if path.ends_with("/allowed") {
        asks.push((get(plain.replace("?project=shop/db", "")), "invalid_parameter"));
    }
    asks.extend(malformed(path).map(|target| (get(target), "malformed_request")));
    asks
}

/// The path with something in the place of its parameter that cannot be read.
pub(super) fn malformed(path: &str) -> Option<String> {
    let target = path.replace("{id}", "%c0%af").replace("{uid}", "%00").replace("{path}", "%zz");
    (target != path).then_some(target)
}

/// How to provoke a status, with the code of the problem; the empty one where there is none.
pub(super) async fn provoke(servers: &Servers, path: &str, expected: &str) -> Vec<(Ask, &'static str)> {
    let plain = get(there(path));
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
                _ if path == "/metrics" => vec![(with(&shop), "forbidden")],
                // An environment of the token's project, served by an agent that does not let it in.
                _ => vec![(
                    Ask { target: path.replace("{id}", "shop.db.held"), ..with(&shop) },
                    "agent_access_denied",
                )],
            }
        }
        "404" if parameters(path).contains("view") => {
            vec![(get(format!("{path}?view=nobody")), "not_found")]
        }
        "404" => {
            let mut asks = nowhere(path)
                .into_iter()
                .flat_map(|target| [get(with(&target, "at=0")), get(target)])
                .collect::<Vec<_>>();
            // What is there, but not in this environment.
            let elsewhere = parameters(path).contains("under").then(|| plain.target + "?under=stage-web-0");
            asks.extend(elsewhere.map(get));
            asks.into_iter().map(|ask| (ask, "not_found")).collect()
        }
        "409" => vec![(get(path.replace("{uid}", "twin")), "ambiguous_uid")],
        "414" => vec![(get(with(&plain.target, &format!("x={}", "a".repeat(9000)))), "uri_too_long")],
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
