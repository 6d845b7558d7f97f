//! Tokens and writing over real sockets: what is taken, what is refused and how, and that no token is ever repeated.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use warp::Filter;

use super::server::{Server, body, header, server, status};
use super::state;
use crate::api::routes;
use crate::app::AppState;
use crate::catalog::QuotaConfig;
use crate::http::auth::{AccessConfig, Authenticator, TokenConfig, TokenHash};
use crate::http::router::{Route, Router, mount};
use crate::http::{problem::Problem, respond};
use strandline_clock::SystemClock;

/// What every token here holds, so that it is found wherever it should not be.
const CANARY: &str = "CANARY";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thing {
    name: String,
}

/// Something that is writable, of the project that the path names.
const THINGS: &[Route<AppState>] = &[
    Route::at("/things/{project}")
        .get(&[], |_, request| {
            Box::pin(async move { respond::json(&request, &json!({ "by": request.caller.name })) })
        })
        .put(&[], |_, request| {
            Box::pin(async move {
                request.caller.require_write_of(request.argument(0))?;
                let thing: Thing = request.json()?;
                if thing.name.is_empty() {
                    return Err(Problem::field("name", "it is empty"));
                }
                respond::json(&request, &json!({ "wrote": thing.name, "by": request.caller.name }))
            })
        })
        .delete(&[], |_, request| {
            Box::pin(async move {
                request.caller.require_write_of(request.argument(0))?;
                respond::json(&request, &json!({ "deleted": true }))
            })
        }),
    Route::at("/only/post").post(&[], |_, request| {
        Box::pin(async move { respond::json(&request, &json!({ "bytes": request.body.len() })) })
    }),
];

fn token(name: &str, write: bool, everything: bool) -> TokenConfig {
    TokenConfig {
        name: name.to_owned(),
        hash: TokenHash::of(&format!("sl_{CANARY}_{name}")),
        user: None,
        expires: None,
        projects: BTreeSet::from(["shop".to_owned()]),
        groups: BTreeSet::new(),
        write,
        everything,
    }
}

fn router(tokens: &[TokenConfig], loopback: bool) -> Router {
    let state = AppState { access: super::access(tokens, loopback), ..state(true) };
    mount(THINGS, &state, respond::problem).or(routes(&state)).unify().boxed()
}

/// One that only this machine can reach, without tokens.
async fn open() -> Server {
    server(router(&[], true), |_| {}).await
}

/// One that others can reach, with tokens.
async fn guarded() -> Server {
    let tokens = [token("reader", false, false), token("writer", true, false), token("admin", false, true)];
    server(router(&tokens, false), |_| {}).await
}

fn bearer(name: &str) -> String {
    format!("authorization: Bearer sl_{CANARY}_{name}\r\n")
}

const JSON: &str = "content-type: application/json\r\n";

async fn send(server: &Server, method: &str, path: &str, headers: &str, content: &str) -> String {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        content.len()
    );
    server.raw((head + content).as_bytes()).await
}

fn code(answer: &str) -> (String, String) {
    let problem: Value = serde_json::from_str(body(answer)).unwrap_or_default();
    (status(answer).to_owned(), problem["code"].as_str().unwrap_or_default().to_owned())
}

fn is(answer: &str, status: &str, word: &str) {
    assert_eq!(code(answer), (status.to_owned(), word.to_owned()), "{answer}");
}

#[tokio::test]
async fn what_is_written_arrives_as_a_type() {
    let server = open().await;
    let put = send(&server, "PUT", "/things/shop", JSON, r#"{"name": "é"}"#).await;
    assert_eq!((status(&put), body(&put)), ("200", "{\"wrote\":\"é\",\"by\":\"(local)\"}\n"));
    let charset = "content-type: application/json; charset=utf-8\r\n";
    assert_eq!(status(&send(&server, "PUT", "/things/shop", charset, r#"{"name": "a"}"#).await), "200");
    let chunked = "PUT /things/shop HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\
                   content-type: application/json\r\n\r\n5\r\n{\"nam\r\n8\r\ne\": \"b\"}\r\n0\r\n\r\n";
    let put = server.raw(chunked.as_bytes()).await;
    assert!(body(&put).contains("\"wrote\":\"b\""), "{put}");
    assert_eq!(status(&server.ask("DELETE", "/things/shop", "").await), "200", "without a body");
    let wrong = send(&server, "PUT", "/things/shop", JSON, "{\n  \"name\": 7\n}").await;
    is(&wrong, "400", "invalid_body");
    let problem: Value = serde_json::from_str(body(&wrong)).unwrap_or_default();
    assert_eq!(problem["place"], json!({ "field": "name", "line": 2, "column": 11 }));
    is(
        &send(&server, "PUT", "/things/shop", JSON, r#"{"name": "a", "more": 1}"#).await,
        "400",
        "invalid_body",
    );
    is(&send(&server, "PUT", "/things/shop", JSON, r#"{"name": "a""#).await, "400", "invalid_body");
    is(&send(&server, "PUT", "/things/shop", JSON, "").await, "400", "invalid_body");
    let empty = send(&server, "PUT", "/things/shop", JSON, r#"{"name": ""}"#).await;
    assert!(body(&empty).contains(r#""place":{"field":"name"}"#), "{empty}");
    is(&send(&server, "PUT", "/things/shop?x=1", JSON, r#"{"name": "a"}"#).await, "400", "invalid_parameter");
}

#[tokio::test]
async fn each_path_tells_its_own_methods() {
    let server = open().await;
    let things = "GET, HEAD, PUT, DELETE, OPTIONS";
    for (path, allow) in
        [("/things/shop", things), ("/only/post", "POST, OPTIONS"), ("/livez", "GET, HEAD, OPTIONS")]
    {
        for method in ["OPTIONS", "PATCH", "GET", "HEAD", "POST", "PUT", "DELETE"] {
            let allowed = allow.split(", ").any(|one| one == method);
            let answer = server.ask(method, path, "").await;
            match method {
                "OPTIONS" => assert_eq!((status(&answer), header(&answer, "allow")), ("204", Some(allow))),
                _ if allowed => assert_ne!(status(&answer), "405", "{method} {path}"),
                _ => assert_eq!(
                    (status(&answer), header(&answer, "allow")),
                    ("405", Some(allow)),
                    "{method} {path}"
                ),
            }
            for cors in ["access-control-allow-origin", "access-control-allow-methods"] {
                assert_eq!(header(&answer, cors), None, "{method} {path}");
            }
        }
    }
    let head = server.ask("HEAD", "/things/shop", "").await;
    let get = server.ask("GET", "/things/shop", "").await;
    assert_eq!((status(&head), body(&head)), ("200", ""));
    assert_eq!(header(&head, "content-length"), header(&get, "content-length"));
}

#[tokio::test]
async fn bodies_that_are_too_large_or_no_json_are_refused() {
    let server = open().await;
    let most = crate::http::body::BODY_BYTES_MAX;
    let fits = send(&server, "POST", "/only/post", JSON, &" ".repeat(most)).await;
    assert_eq!(body(&fits), format!("{{\"bytes\":{most}}}\n"));
    let announced = format!("{JSON}content-length: {}\r\n", most + 1);
    is(&server.ask("POST", "/only/post", &announced).await, "413", "body_too_large");
    // Unannounced, and sent no further than it takes to know: the answer comes before the end of the body.
    let parts = format!("{:x}\r\n{}\r\n1\r\n \r\n", most, " ".repeat(most));
    let head =
        "POST /only/post HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n";
    is(&server.raw(format!("{head}{JSON}\r\n{parts}").as_bytes()).await, "413", "body_too_large");
    for media in ["", "content-type: text/plain\r\n", "content-type: application/x-www-form-urlencoded\r\n"] {
        is(&send(&server, "PUT", "/things/shop", media, "{}").await, "415", "unsupported_media_type");
        let empty = send(&server, "POST", "/only/post", media, "").await;
        match media {
            "" => assert_eq!(body(&empty), "{\"bytes\":0}\n", "what is not there needs no type"),
            _ => is(&empty, "415", "unsupported_media_type"),
        }
    }
}

#[tokio::test]
async fn pages_of_other_sites_may_write_nothing() {
    let (open, guarded) = (open().await, guarded().await);
    let thing = r#"{"name": "a"}"#;
    for (headers, allowed) in [
        ("sec-fetch-site: same-origin\r\norigin: http://localhost\r\n", true),
        ("origin: http://evil.test\r\n", false),
        ("origin: null\r\n", false),
        ("sec-fetch-site: cross-site\r\n", false),
        ("sec-fetch-site: same-site\r\n", false),
    ] {
        for method in ["PUT", "DELETE"] {
            let content = if method == "PUT" { thing } else { "" };
            for (server, more) in [(&open, String::new()), (&guarded, bearer("writer"))] {
                let answer =
                    send(server, method, "/things/shop", &format!("{JSON}{headers}{more}"), content).await;
                match allowed {
                    true => assert_eq!(status(&answer), "200", "{method} {headers}: {answer}"),
                    false => is(&answer, "403", "cross_site"),
                }
            }
        }
        assert_eq!(
            status(&open.ask("GET", "/things/shop", headers).await),
            "200",
            "reading is no harm: {headers}"
        );
    }
}

#[tokio::test]
async fn tokens_are_asked_for_where_others_can_reach_the_server() {
    let server = guarded().await;
    for path in ["/api/v1/environments", "/things/shop", "/metrics"] {
        for headers in [String::new(), bearer("other"), "authorization: Basic eDo=\r\n".into()] {
            let answer = server.ask("GET", path, &headers).await;
            is(&answer, "401", "unauthorized");
            assert_eq!(header(&answer, "www-authenticate"), Some("Basic realm=\"Strandline\", Bearer"));
            assert_eq!(header(&answer, "vary"), Some("Accept, Accept-Encoding, Authorization, Cookie"));
            assert_eq!(header(&answer, "cache-control"), Some("no-store"));
        }
        let head = server.ask("HEAD", path, "").await;
        assert_eq!((status(&head), body(&head)), ("401", ""));
        assert!(header(&head, "www-authenticate").is_some());
    }
    for path in ["/livez", "/healthz", "/readyz", "/readyz/lists", "/openapi.yaml", "/api/v1/openapi.json"] {
        assert_eq!(status(&server.ask("GET", path, "").await), "200", "{path}");
        assert_eq!(status(&server.ask("GET", path, &bearer("other")).await), "200", "{path}");
    }
    // Anyone may probe; who has a token learns how many clusters and kinds there are, who sees everything which.
    for (who, lists, named) in
        [("other", "ok\n", false), ("reader", "ok: 2 of 2", false), ("admin", "ok: 2 of 2", true)]
    {
        let answer = server.ask("GET", "/readyz?verbose", &bearer(who)).await;
        assert!(answer.contains(&format!("[+]lists {lists}")), "{answer}");
        assert_eq!(answer.contains("east"), named, "{who}: {answer}");
    }
    assert_eq!(status(&server.ask("OPTIONS", "/things/shop", "").await), "204");
    // Who asks is settled before what they ask, so that strangers learn nothing of it.
    is(&server.ask("GET", "/api/v1/environments?x=1", "").await, "401", "unauthorized");
    is(&send(&server, "PUT", "/things/shop", "", "").await, "401", "unauthorized");
    let answer = server.ask("GET", "/things/shop", &bearer("reader")).await;
    assert_eq!((status(&answer), body(&answer)), ("200", "{\"by\":\"reader\"}\n"));
    assert_eq!(header(&answer, "vary"), Some("Accept, Accept-Encoding, Authorization, Cookie"));
    assert_eq!(status(&server.ask("GET", "/api/v1/environments", &bearer("reader")).await), "200");
}

#[tokio::test]
async fn browsers_are_asked_and_answered_by_basic() {
    let tokens = [TokenConfig { hash: TokenHash::of("sl_CANARY_é:1"), ..token("browser", true, false) }];
    let state = AppState { access: super::access(&tokens, false), ..state(true) };
    let server = server(crate::site::site(&state), |_| {}).await;
    let page =
        "accept: text/html,application/xhtml+xml\r\nsec-fetch-site: none\r\nsec-fetch-mode: navigate\r\n";
    let asked = server.ask("GET", "/", page).await;
    assert_eq!((status(&asked), header(&asked, "content-type")), ("401", Some("text/html; charset=utf-8")));
    assert!(header(&asked, "www-authenticate").is_some_and(|ways| ways.starts_with("Basic ")), "{asked}");
    let style = server.ask("GET", "/assets/style.css", "accept: text/css,*/*;q=0.1\r\n").await;
    assert_eq!(status(&style), "200", "the error page has its style");
    // "me:sl_CANARY_é:1": a password may hold colons.
    let answered = format!("{page}authorization: Basic bWU6c2xfQ0FOQVJZX8OpOjE=\r\n");
    let shown = server.ask("GET", "/", &answered).await;
    assert_eq!(status(&shown), "200", "{shown}");
}

#[tokio::test]
async fn tokens_that_may_not_write_are_told_so() {
    let server = guarded().await;
    let thing = r#"{"name": "a"}"#;
    let put = async |name: &str, path: &str| {
        send(&server, "PUT", path, &format!("{JSON}{}", bearer(name)), thing).await
    };
    let wrote = put("writer", "/things/shop").await;
    assert_eq!(body(&wrote), "{\"wrote\":\"a\",\"by\":\"writer\"}\n");
    is(&put("writer", "/things/other").await, "403", "forbidden");
    is(&put("reader", "/things/shop").await, "403", "forbidden");
    is(&put("admin", "/things/shop").await, "403", "forbidden");
    is(&put("other", "/things/shop").await, "401", "unauthorized");
    is(&server.ask("GET", "/metrics", &bearer("writer")).await, "403", "forbidden");
    assert_eq!(status(&server.ask("GET", "/metrics", &bearer("admin")).await), "200");
    let anyone = super::server::server(router(&[], false), |_| {}).await;
    assert_eq!(body(&anyone.ask("GET", "/things/shop", "").await), "{\"by\":\"(anyone)\"}\n");
    is(&send(&anyone, "PUT", "/things/shop", JSON, thing).await, "403", "writing_needs_token");
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server whose log tells who reads, too.
async fn audited() -> Server {
    let tokens =
        vec![token("reader", false, false), token("writer", true, false), token("admin", false, true)];
    let config = AccessConfig { tokens, audit_reads: true, ..AccessConfig::default() };
    let access = Arc::new(Authenticator::new(config, false, Arc::new(SystemClock)));
    let state = AppState { access, ..state(true) };
    server(mount(THINGS, &state, respond::problem).or(routes(&state)).unify().boxed(), |_| {}).await
}

#[tokio::test]
async fn who_wrote_is_told_always_and_who_read_by_choice() {
    let kept = Kept::default();
    let writer = kept.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let (silent, told) = (guarded().await, audited().await);
    let put = async |server: &Server, name: &str, content: &str| {
        let trace = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
        send(server, "PUT", "/things/shop", &format!("{JSON}{}{trace}", bearer(name)), content).await
    };
    // As above: what another test logged first is asked for again.
    put(&silent, "writer", "{}").await;
    told.ask("GET", "/things/shop", &bearer("reader")).await;
    tracing::callsite::rebuild_interest_cache();
    let logged = || {
        let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept).into_owned();
        kept.clear();
        text.lines().filter(|line| line.contains(" audit: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    logged();
    put(&silent, "writer", r#"{"name": "CONTENT"}"#).await;
    put(&silent, "reader", r#"{"name": "a"}"#).await;
    put(&silent, "writer", "{").await;
    let lines = logged();
    let expected = [("writer", "200"), ("reader", "403"), ("writer", "400")];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, (name, status)) in lines.iter().zip(expected) {
        let parts = [
            "write request",
            &format!("caller=\"{name}\""),
            "peer=\"127.0.0.1:",
            "method=\"PUT\"",
            "route=\"/things/{project}\"",
            "path=\"/things/shop\"",
            &format!("status={status}"),
            "trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"",
        ];
        for part in parts {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!line.contains("CONTENT"), "{line}");
    }
    assert!(lines[1].contains("code=\"forbidden\""), "{}", lines[1]);
    silent.ask("GET", "/things/shop", &bearer("reader")).await;
    silent.ask("GET", "/things/shop", "").await;
    assert_eq!(logged(), Vec::<String>::new(), "reading is told by choice");
    told.ask("GET", "/api/v1/environments?tier=production", &bearer("reader")).await;
    told.ask("GET", "/livez", "").await;
    let lines = logged();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    for part in ["read request", "caller=\"reader\"", "query=\"tier=production\"", "status=200"] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
}

#[tokio::test]
async fn tokens_are_listed_with_their_last_use_to_who_sees_everything() {
    let server = guarded().await;
    is(&server.ask("GET", "/api/v1/tokens", &bearer("writer")).await, "403", "forbidden");
    server.ask("GET", "/things/shop", &bearer("reader")).await;
    let answer = server.ask("GET", "/api/v1/tokens", &bearer("admin")).await;
    assert_eq!((status(&answer), header(&answer, "cache-control")), ("200", Some("no-store")));
    let told: Value = serde_json::from_str(body(&answer)).unwrap_or_default();
    let document = crate::api::document::JSON.as_ref().unwrap_or_else(|error| panic!("{error}"));
    let schema = json!({ "$ref": "#/components/schemas/Tokens" });
    let found = super::schema::violations(document, &schema, &told);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let items: Vec<_> = told["items"].as_array().into_iter().flatten().collect();
    let names: Vec<_> = items.iter().map(|item| (item["name"].as_str(), item["requests"].as_u64())).collect();
    assert_eq!(names, [(Some("reader"), Some(1)), (Some("writer"), Some(1)), (Some("admin"), Some(1))]);
    assert_eq!(items[0]["last_peer"], "127.0.0.1");
    assert!(items[0]["last_used"].is_string() && !answer.contains("sha256"), "{answer}");
}

#[tokio::test]
async fn no_token_is_logged_or_answered() {
    let kept = Kept::default();
    let writer = kept.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // The test's runtime has one thread, so everything that the server does is logged here.
    let _logging = tracing::subscriber::set_default(subscriber);
    let server = guarded().await;
    let mut answers = String::new();
    // "x:sl_CANARY_other".
    let basic = "authorization: Basic eDpzbF9DQU5BUllfb3RoZXI=\r\n".to_owned();
    let twice = bearer("other") + &bearer("other");
    let odd = format!("authorization: {CANARY} {CANARY}\r\n");
    // What another test logs first, without a subscriber, is taken for unwanted everywhere. So all is logged once, and
    // then everything that was met is asked for again.
    answers += &send(&server, "PUT", "/things/shop", &format!("{JSON}{}", bearer("writer")), "{}").await;
    answers += &server.ask("GET", "/things/shop", &bearer("other")).await;
    tracing::callsite::rebuild_interest_cache();
    for headers in [bearer("writer"), bearer("other"), basic, twice, odd] {
        for path in ["/things/shop", "/api/v1/environments?x=1", "/api/v1/nothing"] {
            answers += &server.ask("GET", path, &headers).await;
            let thing = r#"{"name": 1}"#;
            answers += &send(&server, "PUT", path, &format!("{JSON}{headers}"), thing).await;
        }
    }
    let logged = String::from_utf8_lossy(&kept.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
    for canary in [CANARY, "eDpzbF9DQU5B"] {
        assert!(!logged.contains(canary), "{logged}");
        assert!(!answers.contains(canary), "{answers}");
    }
    assert!(logged.contains("unknown token presented peer=\"127.0.0.1:"), "{logged}");
    assert!(logged.contains("audit: write request caller=\"writer\""), "who wrote is told: {logged}");
}

#[tokio::test]
async fn who_writes_too_often_is_told_to_wait_and_may_read() {
    let quotas = QuotaConfig { writes_per_minute: 2, ..QuotaConfig::default() };
    let state = state(true);
    let state = AppState { catalog: state.catalog.clone().with_quotas(quotas), ..state };
    let routes = mount(THINGS, &state, respond::problem).or(routes(&state)).unify().boxed();
    let server = server(routes, |_| {}).await;
    let put = async || send(&server, "PUT", "/things/shop", JSON, r#"{"name": "a"}"#).await;
    assert_eq!((status(&put().await), status(&put().await)), ("200", "200"));
    let refused = put().await;
    is(&refused, "429", "write_rate_exceeded");
    assert!(header(&refused, "retry-after").is_some(), "{refused}");
    assert_eq!(status(&server.ask("GET", "/api/v1/agents", "").await), "200", "reading is not counted");
}
