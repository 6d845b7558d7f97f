//! Changes of the catalog: those that are taken, and those that are refused.

use super::reads::{malformed, nowhere};
use super::servers::{Ask, Whom, get};

const JSON: &str = "content-type: application/json\r\n";

/// A request to write, where nothing is wrong with how it is sent.
fn write(method: &'static str, target: impl Into<String>, content: &str) -> Ask {
    Ask { method, headers: JSON.into(), content: content.into(), ..get(target) }
}

const REBUILD: &str = "/api/v1/rebuild";
const RELIST: &str = "/api/v1/relist";
const FORGET: &str = "/api/v1/clusters/{cluster}/forget";
const PROJECT: &str = "/api/v1/projects/{path}";
const ENVIRONMENTS: &str = "/api/v1/projects/{path}/environments";
const AGENT: &str = "/api/v1/agents/{id}";
const ENVIRONMENT: &str = "/api/v1/environments/{id}";
const STOP: &str = "/api/v1/environments/{id}/stop";
const DEPLOYMENTS: &str = "/api/v1/deployments";
const DEPLOYMENT: &str = "/api/v1/deployments/{id}";

/// What is taken, of the token's own project where it is about one.
fn taken(path: &str, method: &str) -> Vec<Ask> {
    match (path, method) {
        (PROJECT, "PUT") => {
            vec![write("PUT", "/api/v1/projects/shop%2Fdb", r#"{"id": 42, "labels": {"team": "a"}}"#)]
        }
        (PROJECT, "DELETE") => vec![write("DELETE", "/api/v1/projects/shop%2Fgone", "")],
        (ENVIRONMENTS, _) => vec![
            write("POST", "/api/v1/projects/shop%2Fdb/environments", r#"{"name": "held", "id": 48}"#),
            write(
                "POST",
                "/api/v1/projects/shop%2Fdb/environments",
                r#" [{"name": "held"}, {"name": "listed"}]"#,
            ),
            write("POST", "/api/v1/projects/shop%2Fdb/environments", "[]"),
        ],
        (AGENT, "PUT") => vec![
            write("PUT", "/api/v1/agents/ops%2Fagents:production", r#"{"id": 7}"#),
            write("PUT", "/api/v1/agents/ops%2Fagents:production", r#"{"cluster": "west"}"#),
        ],
        (AGENT, "DELETE") => vec![write("DELETE", "/api/v1/agents/ops%2Fagents:gone", "")],
        (ENVIRONMENT, "PUT") => vec![
            write(
                "PUT",
                "/api/v1/environments/shop.db.held",
                r#"{"external_url": "https://db.test", "nme": 1}"#,
            ),
            write(
                "PUT",
                "/api/v1/environments/shop.db.held",
                r#"{"labels": {"a": "b"}, "auto_stop_at": null}"#,
            ),
        ],
        (ENVIRONMENT, "DELETE") => vec![write("DELETE", "/api/v1/environments/shop.db.gone", "")],
        (STOP, _) => vec![
            write("POST", "/api/v1/environments/shop.db.going/stop", ""),
            write("POST", "/api/v1/environments/shop.db.going/stop", r#"{"force": true}"#),
        ],
        (DEPLOYMENTS, _) => vec![write(
            "POST",
            DEPLOYMENTS,
            r#"{"id": 512, "project": "shop/db", "environment": "held", "status": "running"}"#,
        )],
        (RELIST, _) => vec![write("POST", RELIST, ""), write("POST", "/api/v1/relist?kind=Pod", "{}")],
        (REBUILD, _) => vec![write("POST", REBUILD, ""), write("POST", REBUILD, "{}")],
        (FORGET, _) => {
            let all = r#"{"kind": "pods", "dry_run": true, "force": true}"#;
            vec![write("POST", "/api/v1/clusters/east/forget", all)]
        }
        (DEPLOYMENT, _) => vec![write("PUT", "/api/v1/deployments/512", r#"{"status": "success"}"#)],
        other => panic!("say how to write with {other:?}"),
    }
}

/// What makes something that was not there before.
fn made(path: &str) -> Vec<Ask> {
    match path {
        PROJECT => vec![write("PUT", "/api/v1/projects/new%2Fone", "{}")],
        ENVIRONMENTS => {
            vec![write("POST", "/api/v1/projects/shop%2Fdb/environments", r#"{"name": "new/one"}"#)]
        }
        AGENT => {
            vec![write("PUT", "/api/v1/agents/ops%2Fagents:new", r#"{"configuration": "user_access: {}"}"#)]
        }
        ENVIRONMENT => {
            vec![write("PUT", "/api/v1/environments/new", r#"{"project": "shop/db", "name": "another"}"#)]
        }
        DEPLOYMENTS => vec![
            write("POST", DEPLOYMENTS, r#"{"project": "shop/db", "environment": "came"}"#),
            write(
                "POST",
                DEPLOYMENTS,
                r#"{"project": "shop/db", "environment": "came", "status": "success", "kubernetes":
                    {"agent": "ops/agents:production", "namespace": "came"}, "job": "deploy", "user": "me", "sha": "8f3c",
                    "tag": true, "ref": "v1", "created_at": "2026-09-21T14:50:00Z", "finished_at": "2026-09-21T14:50:00Z"}"#,
            ),
            write(
                "POST",
                DEPLOYMENTS,
                r#"{"project": "shop/db", "environment": "came", "kubernetes": {"agent": "ops/agents:fixed"}}"#,
            ),
        ],
        other => panic!("say how something new comes to be with {other}"),
    }
}

/// Bodies that are refused as wrong, whatever is there.
fn wrong(path: &str) -> &'static [&'static str] {
    match path {
        PROJECT => &["", "[]", "{", r#"{"id": "x"}"#, r#"{"id": -1}"#, r#"{"labels": {"a": 1}}"#],
        ENVIRONMENTS => {
            &["", "{}", "7", "[{}]", r#"{"name": ""}"#, r#"[{"name": "a", "project": "shop/web"}]"#]
        }
        AGENT => &["", "[]", r#"{"cluster": 7}"#, r#"{"configuration": "ci_access: 7"}"#],
        ENVIRONMENT => {
            &["", "{", r#"{"tier": "prod"}"#, r#"{"targets": [{"cluster": "a"}]}"#, r#"{"slug": "No slug"}"#]
        }
        STOP | REBUILD | RELIST => &["{", "[]", "7"],
        FORGET => &["", "{}", "[]", r#"{"kind": 7}"#, r#"{"kind": "-."}"#, r#"{"kind": "pod", "all": true}"#],
        DEPLOYMENTS => &["", "{}", r#"{"project": "shop/db"}"#, r#"{"project": 7, "environment": "a"}"#],
        DEPLOYMENT => &["", "{}", r#"{"status": "done"}"#, r#"{"status": "success", "finished_at": "noon"}"#],
        other => panic!("say what is wrong for {other}"),
    }
}

/// What stands against something that is there.
fn conflicts(path: &str, method: &str) -> Vec<(Ask, &'static str)> {
    let elsewhere = |ask: Ask| vec![(ask, "declared_elsewhere")];
    match (path, method) {
        (PROJECT, "PUT") => elsewhere(write("PUT", "/api/v1/projects/shop%2Ffixed", "{}")),
        (PROJECT, _) => elsewhere(write("DELETE", "/api/v1/projects/shop%2Ffixed", "")),
        (AGENT, "PUT") => elsewhere(write("PUT", "/api/v1/agents/ops%2Fagents:fixed", "{}")),
        (AGENT, _) => elsewhere(write("DELETE", "/api/v1/agents/ops%2Fagents:fixed", "")),
        (ENVIRONMENT, "DELETE") => elsewhere(write("DELETE", "/api/v1/environments/shop.db.production", "")),
        (STOP, _) => elsewhere(write("POST", "/api/v1/environments/shop.db.production/stop", "")),
        (ENVIRONMENTS, _) => {
            elsewhere(write("POST", "/api/v1/projects/shop%2Fdb/environments", r#"{"name": "production"}"#))
        }
        (ENVIRONMENT, _) => vec![
            (write("PUT", "/api/v1/environments/shop.db.production", "{}"), "declared_elsewhere"),
            (
                write("PUT", "/api/v1/environments/other", r#"{"project": "shop/db", "name": "held"}"#),
                "duplicate_environment",
            ),
        ],
        (DEPLOYMENTS, _) => vec![
            (
                write("POST", DEPLOYMENTS, r#"{"project": "shop/db", "environment": "stopped"}"#),
                "environment_stopped",
            ),
            (
                write("POST", DEPLOYMENTS, r#"{"id": 513, "project": "shop/db", "environment": "held"}"#),
                "deployment_ended",
            ),
        ],
        (FORGET, _) => {
            vec![(write("POST", "/api/v1/clusters/east/forget", r#"{"kind": "Pod"}"#), "still_watched")]
        }
        (DEPLOYMENT, _) => {
            vec![(write("PUT", "/api/v1/deployments/513", r#"{"status": "success"}"#), "deployment_ended")]
        }
        other => panic!("say what stands against {other:?}"),
    }
}

/// How to provoke a status, with the code of the problem; the empty one where there is none.
pub(super) fn provoke(path: &str, method: &str, expected: &str) -> Vec<(Ask, &'static str)> {
    let plain = taken(path, method).into_iter().next().unwrap_or_else(|| get(path));
    let with = |headers: &str| vec![Ask { headers: format!("{JSON}{headers}"), ..plain.clone() }];
    let (asks, code) = match expected {
        "200" | "202" => (taken(path, method), ""),
        "201" => (made(path), ""),
        "400" => return refused(path, &plain),
        "401" => {
            let unknown = with("authorization: Bearer sl_other\r\n");
            let nobody = with("");
            (
                nobody.into_iter().chain(unknown).map(|ask| Ask { whom: Whom::Guarded, ..ask }).collect(),
                "unauthorized",
            )
        }
        "403" => return forbidden(path, method, &plain),
        "404" => {
            let content =
                if path == DEPLOYMENT { r#"{"status": "success"}"# } else { plain.content.as_str() };
            let asked = nowhere(path).into_iter().map(|target| write(plain.method, target, content));
            // A new agent is no mistake; what is no name of an agent is.
            let skipped = usize::from(path == AGENT && method == "PUT");
            (asked.skip(skipped).collect(), "not_found")
        }
        "408" => (with("content-length: 1000\r\n"), "body_timeout"),
        "409" => return conflicts(path, method),
        "413" => {
            let announced = with("content-length: 2000000\r\n");
            (
                announced.into_iter().map(|ask| Ask { content: String::new(), ..ask }).collect(),
                "body_too_large",
            )
        }
        "414" => {
            let target = format!("{}?x={}", plain.target, "a".repeat(9000));
            (vec![Ask { target, ..plain }], "uri_too_long")
        }
        "415" => {
            (vec![Ask { headers: "content-type: text/plain\r\n".into(), ..plain }], "unsupported_media_type")
        }
        "421" => (vec![Ask { host: "evil.test", ..plain }], "misdirected_request"),
        "422" => {
            let content = r#"{"project": "shop/db", "environment": "held", "kubernetes": {"agent": "ops/agents:prod"}}"#;
            (vec![Ask { content: content.into(), ..plain }], "unknown_agent")
        }
        "429" => {
            let full = (Ask { whom: Whom::Full, ..plain.clone() }, "too_many_requests");
            let hurried = (Ask { whom: Whom::Hurried, ..plain }, "write_rate_exceeded");
            return vec![full, hurried];
        }
        "500" => (vec![Ask { whom: Whom::Broken, ..plain }], "storage"),
        "503" if matches!(path, REBUILD | RELIST) => {
            (vec![Ask { whom: Whom::Crowded, ..plain }], "too_many_connections")
        }
        "503" => (vec![Ask { whom: Whom::ReadOnly, ..plain }], "log_read_only"),
        other => panic!("say how to provoke {other}"),
    };
    asks.into_iter().map(|ask| (ask, code)).collect()
}

fn refused(path: &str, plain: &Ask) -> Vec<(Ask, &'static str)> {
    let unknown = Ask { target: format!("{}?nonsense=1", plain.target), ..plain.clone() };
    let mut asks = vec![(unknown, "invalid_parameter")];
    asks.extend(malformed(path).map(|target| (Ask { target, ..plain.clone() }, "malformed_request")));
    if plain.method != "DELETE" {
        let content = |content: &&str| Ask { content: (*content).to_owned(), ..plain.clone() };
        asks.extend(wrong(path).iter().map(content).map(|ask| (ask, "invalid_body")));
    }
    asks
}

/// Those who may only read, those who may not write of this, pages of other sites, and anybody where no tokens are.
fn forbidden(path: &str, method: &str, plain: &Ask) -> Vec<(Ask, &'static str)> {
    let by = |token: &str, ask: &Ask| {
        let headers = format!("{JSON}authorization: Bearer sl_{token}\r\n");
        Ask { whom: Whom::Guarded, headers, ..ask.clone() }
    };
    let other = match (path, method) {
        (PROJECT | ENVIRONMENTS, _) => {
            Ask { target: plain.target.replace("shop%2Fdb", "shop%2Fcart"), ..plain.clone() }
        }
        (ENVIRONMENT, "PUT") => Ask { content: r#"{"project": "shop/web"}"#.into(), ..plain.clone() },
        (DEPLOYMENTS, _) => {
            let content =
                r#"{"project": "shop/db", "environment": {"name": "production", "project": "shop/web"}}"#;
            Ask { content: content.into(), ..plain.clone() }
        }
        _ => plain.clone(),
    };
    let mut asks = vec![
        (by("shop", plain), "forbidden"),
        (Ask { headers: format!("{JSON}origin: http://evil.test\r\n"), ..plain.clone() }, "cross_site"),
        (Ask { whom: Whom::Open, ..plain.clone() }, "writing_needs_token"),
    ];
    // What is another's is not there for the token.
    if !matches!((path, method), (DEPLOYMENT | STOP, _) | (ENVIRONMENT, "DELETE")) {
        asks.push((by("writer", &other), "forbidden"));
    }
    asks
}
