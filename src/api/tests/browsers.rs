//! A browser logs in, writes and logs out, over real sockets: what it is sent, and what is asked of it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use serde_json::json;

use super::server::{Server, body, header, server, status};
use super::state;
use crate::app::AppState;
use crate::http::auth::tests::signer::Signer;
use crate::http::auth::{
    AccessConfig, Algorithm, Authenticator, Fetch, IssuerConfig, LoginConfig, Mapping, UserRules,
};
use crate::http::outgoing::OutgoingRequest;
use strandline_clock::SystemClock;

const ISSUER: &str = "https://gitlab.test";
const PAGE: &str = "accept: text/html,*/*;q=0.8\r\nsec-fetch-mode: navigate\r\n";

/// A server with a login, and the nonce that the issuer puts into the next token.
async fn world() -> (Server, Arc<Mutex<String>>) {
    let (key, nonce) = (Signer::es256(), Arc::new(Mutex::new(String::new())));
    let of_issuer = Arc::clone(&nonce);
    let fetch: Fetch = Arc::new(move |request: OutgoingRequest| {
        let at = |path: &str| format!("{ISSUER}{path}");
        let answer = match request.url.strip_prefix(ISSUER).unwrap_or_default() {
            "/keys" => json!({"keys": [key.jwk("1")]}),
            "/token" => {
                let nonce = of_issuer.lock().expect("a nonce").clone();
                let claims = json!({"iss": ISSUER, "aud": "client", "sub": "17", "exp": 4_102_444_800_u64, "nonce": nonce,
                    "preferred_username": "alice <b>", "groups_direct": ["platform"]});
                json!({"id_token": key.token("1", &claims), "refresh_token": "again"})
            }
            "/.well-known/openid-configuration" => {
                json!({"issuer": ISSUER, "jwks_uri": at("/keys"), "authorization_endpoint": at("/auth"), "token_endpoint": at("/token")})
            }
            other => json!({"unknown": other}),
        };
        std::future::ready(Ok::<_, String>((StatusCode::OK, Bytes::from(answer.to_string())))).boxed()
    });
    let rules = UserRules {
        admins: ["platform".to_owned()].into(),
        groups_claim: "groups_direct".into(),
        ..UserRules::default()
    };
    let issuer = IssuerConfig {
        name: "GitLab".into(),
        issuer: ISSUER.into(),
        audience: "client".into(),
        algorithms: vec![Algorithm::Es256],
        jwks_url: None,
        mapping: Mapping::Users(rules),
        login: Some(LoginConfig {
            public_url: "https://us.test".into(),
            client_secret: None,
            scopes: vec![],
        }),
        command_line: None,
    };
    let config = AccessConfig { issuers: vec![issuer], ..AccessConfig::default() };
    let access = Authenticator::new(config, false, Arc::new(SystemClock)).with_fetch(fetch);
    access.refresh_issuers().await;
    let state = AppState { access: Arc::new(access), ..state(true) };
    (server(crate::site::site(&state), |_| {}).await, nonce)
}

fn cookies(answer: &str) -> Vec<&str> {
    answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ")).collect()
}

/// What a browser sends back of these cookies.
fn sent(answer: &str) -> String {
    let pairs: Vec<_> = cookies(answer).iter().filter_map(|cookie| cookie.split(';').next()).collect();
    format!("cookie: {}\r\n", pairs.join("; "))
}

fn query<'a>(address: &'a str, name: &str) -> &'a str {
    let fields = address.split_once('?').map_or("", |(_, query)| query).split('&');
    fields
        .filter_map(|field| field.split_once('='))
        .find(|(key, _)| *key == name)
        .map_or("", |(_, value)| value)
}

#[tokio::test]
async fn a_browser_logs_in_writes_from_pages_of_ours_and_logs_out() {
    let (server, nonce) = world().await;
    let asked = server.ask("GET", "/coverage?at=now", PAGE).await;
    assert_eq!(
        (status(&asked), header(&asked, "location")),
        ("303", Some("/login?to=%2Fcoverage%3Fat%3Dnow"))
    );
    let script = server.ask("GET", "/coverage", "accept: text/html\r\nsec-fetch-mode: cors\r\n").await;
    assert_eq!(
        (status(&script), header(&script, "www-authenticate")),
        ("401", Some("Bearer realm=\"Strandline\""))
    );
    assert_eq!(status(&server.ask("GET", "/api/v1/environments", "").await), "401");
    let page = server.ask("GET", "/login?to=%2Fcoverage%3Fat%3Dnow", PAGE).await;
    assert!(body(&page).contains("href=\"/login/start?to=%2Fcoverage%3Fat%3Dnow\""), "{page}");
    let led = server.ask("GET", "/login?to=%2F%2Fevil.test", PAGE).await;
    assert!(body(&led).contains("href=\"/login/start?to=%2F\"") && !body(&led).contains("evil"), "{led}");

    let begun = server.ask("GET", "/login/start?to=%2Fcoverage%3Fat%3Dnow", PAGE).await;
    let there = header(&begun, "location").unwrap_or_default().to_owned();
    assert!(status(&begun) == "303" && there.starts_with("https://gitlab.test/auth?"), "{begun}");
    for cookie in cookies(&begun) {
        assert!(cookie.starts_with("__Host-"), "{cookie}");
        assert!(cookie.contains("; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
    }
    *nonce.lock().expect("a nonce") = query(&there, "nonce").to_owned();
    let back = format!("/login/callback?code=c&state={}", query(&there, "state"));
    for (address, headers) in [
        (back.as_str(), String::new()),
        ("/login/callback?code=c&state=x", sent(&begun)),
        ("/login/callback?code=c", sent(&begun)),
    ] {
        let refused = server.ask("GET", address, &format!("{PAGE}{headers}")).await;
        assert_eq!(header(&refused, "location"), Some("/login?error=stale"), "{address}");
        assert!(!refused.contains("__Host-strandline-session"), "{refused}");
    }
    let denied =
        server.ask("GET", "/login/callback?error=access_denied&error_description=CANARY", PAGE).await;
    assert_eq!(header(&denied, "location"), Some("/login?error=denied"));
    let done = server.ask("GET", &back, &format!("{PAGE}{}", sent(&begun))).await;
    assert_eq!((status(&done), header(&done, "location")), ("303", Some("/coverage?at=now")), "{done}");
    let session = cookies(&done).into_iter().find(|cookie| cookie.starts_with("__Host-strandline-session="));
    assert!(
        session.is_some_and(|cookie| cookie.ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax")),
        "{done}"
    );
    let ours =
        format!("cookie: {}\r\n", session.and_then(|cookie| cookie.split(';').next()).unwrap_or_default());

    assert_eq!(status(&server.ask("GET", "/api/v1/environments", &ours).await), "200");
    let account = server.ask("GET", "/login", &format!("{PAGE}{ours}")).await;
    assert!(
        body(&account).contains("alice &#60;b&#62;") && body(&account).contains("action=\"/logout\""),
        "{account}"
    );
    let post = async |path: &str, more: &str| {
        let form = "content-type: application/x-www-form-urlencoded\r\ncontent-length: 0\r\n";
        server.ask("POST", path, &format!("{ours}{form}{more}")).await
    };
    for foreign in [
        "",
        "sec-fetch-site: none\r\n",
        "sec-fetch-site: same-site\r\n",
        "origin: https://evil.test\r\n",
        "origin: null\r\n",
    ] {
        for path in ["/logout", "/api/v1/rebuild"] {
            let refused = post(path, foreign).await;
            assert_eq!(status(&refused), "403", "{path} {foreign}: {refused}");
        }
    }
    let own = format!("{ours}content-length: 0\r\nsec-fetch-site: same-origin\r\n");
    assert_eq!(status(&server.ask("POST", "/api/v1/rebuild", &own).await), "202");
    let out = post("/logout", "origin: http://localhost\r\n").await;
    assert_eq!((status(&out), header(&out, "location")), ("303", Some("/login")), "{out}");
    assert!(
        cookies(&out).iter().any(|cookie| cookie.contains("session=;") && cookie.contains("Max-Age=0")),
        "{out}"
    );
    assert_eq!(status(&server.ask("GET", "/api/v1/environments", &ours).await), "401");
}
