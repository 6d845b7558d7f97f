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
    // What has a beginning has to have become something.
    let uid = if path.ends_with("{uid}/onset") { "shop-mover" } else { "stage-web-0" };
    let target = path.replace("{id}", id).replace("{uid}", uid).replace("{path}", "shop%2Fdb");
    target + mandatory(path)
}

/// What a path has to be asked with: a job has a project, and whoever asks for fields names one.
fn mandatory(path: &str) -> &'static str {
    match path {
        _ if path.ends_with("/allowed") => "?project=shop/db",
        _ if path.ends_with("/fields") => "?field=spec.replicas",
        _ if path.ends_with("/search") => "?q=web",
        // What was missed alone, so that the stream ends.
        _ if path.ends_with("/watch") => "?timeout=0s",
        _ => "",
    }
}

/// The path with something that is not there in the place of its parameter.
pub(super) fn nowhere(path: &str) -> Vec<String> {
    let names: &[&str] = match path {
        _ if path.contains("/agents/") => &["ops%2Fagents:nobody", "nobody"],
        _ if path.contains("deployments/{id}") => &["99999", "nobody"],
        _ => &["nobody"],
    };
    let filled = |name: &&str| {
        let filled = path.replace("{id}", name).replace("{uid}", name).replace("{path}", name);
        filled.replace("{cluster}", name) + mandatory(path)
    };
    match path {
        "/api/v1/deployments" | "/api/v1/events" | "/api/v1/resources" | "/api/v1/images" => {
            vec![format!("{path}?environment=nobody")]
        }
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

/// Whether a path is a list that can also be streamed.
fn can_be_watched(path: &str) -> bool {
    parameters(path).contains("watch")
}

/// Questions that have an answer: without a parameter, and with each of them.
fn good(path: &str) -> Vec<Ask> {
    let plain = there(path);
    let valued = |name: &str| match name {
        // What a stream says stands in `watched`.
        "from" | "timeout" if can_be_watched(path) => vec![],
        "watch" => vec!["watch=false"],
        "tier" => vec!["tier=production,staging"],
        "region" => vec!["region=eu&region=us"],
        "project" if path.ends_with("/allowed") => vec![],
        "project" => vec!["project=shop/db"],
        "environment" => vec!["environment=shop.db.production"],
        "image" => vec!["image=nginx", "image=**/x:1.*&image=@sha256:ab"],
        "from" if path.ends_with("/diff") => vec!["from=24h", "from=1", "from=2026-09-21T14:10:00Z"],
        "to" if path.ends_with("/diff") => vec!["to=now", "to=40"],
        "from" if path.ends_with("/watch") => vec!["from=1m", "from=40", "from=now"],
        "from" => vec!["from=24h", "from=1", "from=now"],
        "to" => vec!["to=0s", "from=2h&to=1h"],
        "field" => vec!["field=$.spec.x[0,1]", "field=spec.containers[name=web].image"],
        "gone" => vec!["gone=true", "gone=any&kind=po&name=*mover", "gone=false"],
        "status" => vec!["status=running", "status=Success,failed"],
        "group" => vec!["group=shop,OPS"],
        "ref" => vec!["ref=main"],
        "tag" => vec!["tag=true&ref=v1"],
        "protected" => vec!["protected=true", "protected=false"],
        "namespace" => vec!["namespace=shop"],
        "var" => vec!["var=A=1,2&var=B="],
        "health" if path.ends_with("/onset") => vec!["health=degraded"],
        "health" => vec!["health=Degraded", "health=degraded,unknown"],
        "kind" => vec!["kind=pod"],
        "type" if path.ends_with("/changes") => {
            vec!["type=health,warning", "type=spec,created&type=deleted,deployment"]
        }
        "q" => vec![],
        "type" if path.ends_with("/search") => {
            vec!["type=resources", "type=images&type=deployments,projects"]
        }
        "type" => vec!["type=Warning", "type=normal,warning"],
        "reason" => vec!["reason=BackOff&reason=unhealthy"],
        "cluster" if path.ends_with("/onset") => vec!["cluster=east"],
        "cluster" => vec!["cluster=west"],
        "owner" => vec!["owner=shop-db-set", "owner=nobody"],
        "order" if path.ends_with("/timeline") => vec!["order=newest", "order=oldest"],
        "window" => vec!["window=1h", "window=30d"],
        "at" if path.ends_with("/onset") => vec!["at=now", "at=0s"],
        "buckets" if path.ends_with("/overview") => vec!["buckets=1", "buckets=500&since=30d"],
        "buckets" => vec!["buckets=1", "buckets=1000&since=365d"],
        "lane" => vec!["lane=changes", "lane=Events,deployments&lane=health,gaps"],
        "below" => vec!["below=true", "below=false"],
        "order" if path.ends_with("/overview") => vec!["order=since", "order=deployed&environments=1"],
        "order" => vec!["order=name", "order=health"],
        "environments" => vec!["environments=1", "environments=100&order=name"],
        "under" => vec!["under=shop-db-set", "under=shop-db-set&cluster=east"],
        "depth" => vec!["depth=0", "depth=1000"],
        "collapse" => vec!["collapse=none", "collapse=siblings", "collapse=owner", "collapse=kind"],
        "since" => vec!["since=24h", "since=1", "since=2026-09-21T14:50:00Z", "since=now"],
        "until" => vec!["until=now", "until=40", "since=1h&until=2h"],
        "by" => vec!["by=kubectl,alice", "by=kube*"],
        "controllers" => vec!["controllers=true", "controllers=false"],
        "state" if path.ends_with("/coverage") => vec!["state=gap", "state=Watched,excluded"],
        "state" => vec!["state=stopped", "state=available,stopping"],
        "agent" => vec!["agent=shop/agents:one"],
        "name" => vec!["name=prod*&name=**/x", "name=%25"],
        "labels" => vec!["labels=team%3Dpayments,criticality+in+(high,critical)"],
        "group_by" => vec!["group_by=region&group_by=tier", "group_by=cluster,label:team"],
        "view" => vec!["view=all", "view=all&tier=staging"],
        "with" => vec!["with=shop.web.production", "with=shop.web.production&at=40"],
        "map" => vec!["map=db:web&with=shop.web.production"],
        "children" => vec!["children=true", "children=false"],
        "include" => vec!["include=status,noise", "include=spec"],
        "ignore" => vec!["ignore=spec.replicas&ignore=Pod:metadata.labels[*]"],
        "format" if path.contains("{uid}") => {
            vec!["format=json", "format=patch", "format=text", "format=patch&include=spec"]
        }
        "format" if ["/changes", "/events", "/deployments"].iter().any(|end| path.ends_with(end)) => {
            vec!["format=json", "format=csv", "format=atom"]
        }
        "format" => vec!["format=json", "format=text"],
        "bodies" => vec!["bodies=true", "bodies=false"],
        "verbose" => vec!["verbose"],
        // The catalog's things came last.
        "at" if ["/projects/", "/agents/", "/deployments/"].iter().any(|place| path.contains(place)) => {
            vec!["at=now", "at=0s"]
        }
        "at" => vec!["at=now", "at=40", "at=0s", "at=2026-09-21T14:50:00Z"],
        "timeout" => vec![],
        "tz" => vec!["tz=Europe/Berlin", "tz=%2B02:00"],
        "continue" => vec!["continue="],
        other => panic!("say how to ask with {other}"),
    };
    let mut asks = vec![get(plain.clone())];
    let parameters = parameters(path).into_iter().filter(|name| *name != "limit");
    asks.extend(parameters.flat_map(valued).map(|query| get(with(&plain, query))));
    asks.extend(limits(path).map(|limit| get(with(&plain, &format!("limit={limit}")))));
    // One that ended, and one of two clusters.
    if ["/history", "{uid}/events", "{uid}/health", "{uid}/timeline"].iter().any(|end| path.ends_with(end)) {
        let query = if path.ends_with("/history") { "?bodies=true" } else { "" };
        asks.push(get(path.replace("{uid}", "shop-mover") + query));
    } else if path.ends_with("/{uid}") {
        asks.push(get(path.replace("{uid}", "twin") + "?cluster=west"));
    }
    if path.ends_with("{uid}/diff") {
        let accepting = |media: &str| Ask { headers: format!("accept: {media}\r\n"), ..get(plain.clone()) };
        asks.extend(["application/json-patch+json", "text/plain"].map(accepting));
    }
    // What never comes as JSON is refused to those who take nothing else.
    if meant(&document()["paths"][path]["get"]["responses"]["200"])["content"]
        .get("application/json")
        .is_some()
    {
        let json = "accept: application/json\r\n".to_owned();
        asks.extend(asks.clone().into_iter().map(|ask| Ask { headers: json.clone(), ..ask }));
    }
    asks
}

/// Questions that are refused as wrong, each with its code.
fn wrong(path: &str) -> Vec<(Ask, &'static str)> {
    let mut queries = vec![("nonsense=1", "invalid_parameter"), ("x=%zz", "malformed_request")];
    let parameters = parameters(path);
    let known = [
        ("at", "at=tomorrow", "invalid_parameter"),
        ("watch", "watch=perhaps", "invalid_parameter"),
        ("watch", "timeout=1s", "invalid_parameter"),
        ("watch", "from=1", "invalid_parameter"),
        ("watch", "watch=true&at=1", "invalid_parameter"),
        ("watch", "watch=true&limit=1", "invalid_parameter"),
        ("watch", "watch=true&continue=x", "invalid_parameter"),
        ("watch", "watch=true&from=100000&timeout=0s", "future_moment"),
        ("at", "at=1&at=1", "invalid_parameter"),
        ("tz", "tz=Mars", "invalid_parameter"),
        ("timeout", "timeout=8d", "invalid_parameter"),
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
        ("gone", "gone=perhaps", "invalid_parameter"),
        ("image", "image=:1", "invalid_parameter"),
        ("from", "from=tomorrow", "invalid_parameter"),
        ("from", "from=100000", "future_moment"),
        ("field", "field=spec%5B", "invalid_parameter"),
        ("type", "type=Warnings", "invalid_parameter"),
        ("order", "order=age", "invalid_parameter"),
        ("environments", "environments=0", "invalid_parameter"),
        ("environments", "environments=101", "invalid_parameter"),
        ("window", "window=soon", "invalid_parameter"),
        ("window", "window=31d", "invalid_parameter"),
        ("buckets", "buckets=0", "invalid_parameter"),
        ("buckets", "buckets=1001", "invalid_parameter"),
        ("lane", "lane=moon", "invalid_parameter"),
        ("below", "below=1", "invalid_parameter"),
        ("depth", "depth=1001", "invalid_parameter"),
        ("collapse", "collapse=all", "invalid_parameter"),
        ("since", "since=tomorrow", "invalid_parameter"),
        ("since", "since=100000", "future_moment"),
        ("include", "to=1&at=1", "invalid_parameter"),
        ("with", "with=shop.web.production&from=1", "invalid_parameter"),
        ("map", "map=a:b", "invalid_parameter"),
        ("map", "map=a&with=shop.web.production", "invalid_parameter"),
        ("children", "children=1", "invalid_parameter"),
        ("include", "include=all", "invalid_parameter"),
        ("ignore", "ignore=**", "invalid_parameter"),
        ("format", "format=xml", "invalid_parameter"),
        ("status", "status=done", "invalid_parameter"),
        ("tag", "tag=1", "invalid_parameter"),
        ("var", "var=A", "invalid_parameter"),
    ];
    // A list refuses where a stream is to begin, whenever that is.
    let other = |(_, query, _): &&(_, _, _)| *query != "from=100000" || !can_be_watched(path);
    let known = known.iter().filter(|(name, ..)| parameters.contains(name)).filter(other);
    queries.extend(known.map(|(_, q, code)| (*q, *code)));
    let plain = there(path);
    let mut asks: Vec<_> =
        queries.into_iter().map(|(query, code)| (get(with(&plain, query)), code)).collect();
    let beyond = limits(path).last().map(|most| most + 1);
    asks.extend(beyond.map(|limit| (get(with(&plain, &format!("limit={limit}"))), "invalid_parameter")));
    if path == "/api/v1/resources" {
        asks.push((get(format!("{path}?kind=po~d")), "invalid_parameter"));
    }
    if !mandatory(path).is_empty() && !path.ends_with("/watch") {
        asks.push((get(plain.replace(mandatory(path), "")), "invalid_parameter"));
    }
    asks.extend(malformed(path).map(|target| (get(target), "malformed_request")));
    asks
}

/// The path with something in the place of its parameter that cannot be read.
pub(super) fn malformed(path: &str) -> Option<String> {
    let target = path.replace("{id}", "%c0%af").replace("{uid}", "%00").replace("{path}", "%zz");
    let target = target.replace("{cluster}", "%zz");
    (target != path).then_some(target)
}

/// What is answered whatever becomes of the view.
const READS_NO_VIEW: [&str; 8] = [
    "/api/v1/views",
    "/api/v1/openapi.json",
    "/openapi.yaml",
    "/api/v1/rebuild",
    "/api/v1/tokens",
    "/api/v1/whoami",
    "/api/v1/login",
    "/api/v1/relist",
];

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
                _ if ["/metrics", "/api/v1/rebuild", "/api/v1/relist", "/api/v1/tokens"].contains(&path) => {
                    vec![(with(&shop), "forbidden")]
                }
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
            // What was there once says so.
            let gone = ["{uid}", "{uid}/edges"].iter().any(|end| path.ends_with(end));
            asks.extend(gone.then(|| get(path.replace("{uid}", "shop-mover"))));
            asks.extend(
                path.contains("environments/{id}")
                    .then(|| get(path.replace("{id}", "ops.tools.development"))),
            );
            let mut asks: Vec<_> = asks.into_iter().map(|ask| (ask, "not_found")).collect();
            // What was never so has no beginning.
            let never = path.ends_with("/onset").then(|| get(format!("{}?health=Missing", there(path))));
            asks.extend(never.map(|ask| (ask, "onset_unknown")));
            asks
        }
        "409" if path == "/api/v1/deployments/{id}" => {
            vec![(get("/api/v1/deployments/600"), "ambiguous_deployment")]
        }
        "409" => vec![(get(path.replace("{uid}", "twin") + mandatory(path)), "ambiguous_uid")],
        "406" => vec![(Ask { headers: "accept: image/png\r\n".into(), ..plain }, "not_acceptable")],
        "410" => {
            let compacted = |query: &str| Ask {
                whom: Whom::Compacted,
                target: with(&plain.target, query),
                ..plain.clone()
            };
            let name = if path.ends_with("/watch") { "from" } else { "at" };
            let ago = ["1", "2000-01-01T00:00:00Z"].map(|time| format!("{name}={time}"));
            let ago = ago.each_ref().map(|query| (compacted(query), "compacted"));
            ago.into()
        }
        "414" => vec![(get(with(&plain.target, &format!("x={}", "a".repeat(9000)))), "uri_too_long")],
        "421" => vec![(Ask { host: "evil.test", ..plain }, "misdirected_request")],
        "500" => {
            let code = if path.starts_with("/readyz") { "internal" } else { "storage" };
            vec![(Ask { whom: Whom::Broken, ..plain }, code)]
        }
        "503" if path.starts_with("/readyz") => {
            let ask = Ask { whom: Whom::Building, ..plain };
            vec![(Ask { headers: "accept: application/json\r\n".into(), ..ask.clone() }, ""), (ask, "")]
        }
        "429" => vec![(Ask { whom: Whom::Full, ..plain }, "too_many_requests")],
        "503" => {
            let crowded = (Ask { whom: Whom::Crowded, ..plain.clone() }, "too_many_connections");
            let building = (Ask { whom: Whom::Building, ..plain }, "view_building");
            if READS_NO_VIEW.contains(&path) { vec![crowded] } else { vec![building, crowded] }
        }
        other => panic!("say how to provoke {other}"),
    }
}
