//! The login of browsers, against an issuer of our own.

use std::collections::HashMap;
use std::sync::Mutex;

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use futures_util::FutureExt;
use http::StatusCode;
use http::header::COOKIE;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::issuers::{AUDIENCE, ISSUER, NOW, user, users};
use super::signer::Signer;
use super::*;
use crate::http::auth::session::LONGEST;
use crate::http::outgoing::OutgoingRequest;

/// What the issuer does with the next question for tokens.
#[derive(Default)]
struct Provider {
    /// Claims beyond those of everybody, by code or refresh token; what is not here is refused.
    holders: HashMap<String, Value>,
    away: bool,
    asked: Vec<HashMap<String, String>>,
    revoked: Vec<String>,
}

struct World {
    access: Authenticator,
    provider: Arc<Mutex<Provider>>,
    clock: Arc<ManualClock>,
}

fn fields(form: &str) -> HashMap<String, String> {
    let decoded = |text: &str| text.replace("%2F", "/").replace("%3A", ":");
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), decoded(value)));
    form.split('&').filter_map(pair).collect()
}

fn answer(
    provider: &Mutex<Provider>,
    key: &Signer,
    request: &OutgoingRequest,
) -> Result<(StatusCode, Value), String> {
    let mut provider = provider.lock().expect("a provider");
    if provider.away {
        return Err("it is away".to_owned());
    }
    let asked = fields(request.form.as_deref().unwrap_or_default());
    match request.url.strip_prefix(ISSUER).unwrap_or_default() {
        "/.well-known/openid-configuration" => Ok((
            StatusCode::OK,
            json!({"issuer": ISSUER, "jwks_uri": format!("{ISSUER}/keys"), "authorization_endpoint": format!("{ISSUER}/auth"),
                   "token_endpoint": format!("{ISSUER}/token"), "revocation_endpoint": format!("{ISSUER}/revoke")}),
        )),
        "/keys" => Ok((StatusCode::OK, json!({"keys": [key.jwk("1")]}))),
        "/token" => {
            let by = asked.get("code").or(asked.get("refresh_token")).cloned().unwrap_or_default();
            let claims = provider.holders.get(&by).cloned();
            provider.asked.push(asked);
            Ok(match claims {
                Some(claims) => {
                    let token = key.token("1", &user(&claims));
                    (
                        StatusCode::OK,
                        json!({"id_token": token, "access_token": "x", "refresh_token": "again"}),
                    )
                }
                None => (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"})),
            })
        }
        "/revoke" => {
            provider.revoked.push(asked.get("token").cloned().unwrap_or_default());
            Ok((StatusCode::OK, json!({})))
        }
        other => Err(format!("nothing at {other}")),
    }
}

impl World {
    async fn new() -> Self {
        let (provider, key) = (Arc::new(Mutex::new(Provider::default())), Signer::es256());
        let clock = Arc::new(ManualClock::default());
        clock.set(Timestamp::from_micros(NOW * 1_000_000));
        let asked = Arc::clone(&provider);
        let fetch: Fetch = Arc::new(move |request: OutgoingRequest| {
            let answered = answer(&asked, &key, &request);
            let answered = answered.map(|(status, body)| (status, Bytes::from(body.to_string())));
            std::future::ready(answered).boxed()
        });
        let login = LoginConfig {
            public_url: "https://strandline.test".to_owned(),
            client_secret: Some(ClientSecret("CANARY".to_owned())),
            scopes: vec!["profile".to_owned()],
        };
        let issuers = vec![IssuerConfig { login: Some(login), ..users() }];
        let config = AccessConfig { tokens: tokens(), issuers, ..AccessConfig::default() };
        let access =
            Authenticator::new(config, false, Arc::clone(&clock) as Arc<dyn Clock>).with_fetch(fetch);
        access.refresh_issuers().await;
        World { access, provider, clock }
    }

    fn provider(&self) -> std::sync::MutexGuard<'_, Provider> {
        self.provider.lock().expect("a provider")
    }

    /// Begins a login; the cookie, and what the issuer is told.
    fn begin(&self) -> (String, HashMap<String, String>) {
        let begun = self.access.begin_login().expect("a login");
        let query = begun.url.strip_prefix("https://gitlab.test/auth?").expect("the issuer").to_owned();
        (begun.cookie, fields(&query))
    }

    /// Lets somebody log in with these claims; the id of the session.
    async fn log_in(&self, more: &Value) -> String {
        let (cookie, told) = self.begin();
        let mut claims = more.clone();
        claims["nonce"] = json!(told["nonce"]);
        self.provider().holders.insert("code".to_owned(), claims);
        let context = with_cookies(&format!("{LOGIN_COOKIE}={cookie}"));
        self.access.complete_login(&context, &told["state"], "code").await.expect("a session")
    }

    async fn caller(&self, id: &str) -> Result<Arc<Caller>, Problem> {
        let context = with_cookies(&format!("theme=dark; {SESSION_COOKIE}={id}"));
        self.access.caller(&context).await
    }

    async fn is_in(&self, id: &str) -> bool {
        self.caller(id).await.is_ok()
    }

    fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }
}

fn with_cookies(text: &str) -> Context {
    let mut context = context(None);
    context.headers.insert(COOKIE, HeaderValue::from_str(text).expect("a header"));
    context
}

#[tokio::test]
async fn a_browser_logs_in_by_code_with_a_verifier_that_only_the_server_knows() {
    let world = World::new().await;
    let (_, told) = world.begin();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", AUDIENCE),
        ("redirect_uri", "https://strandline.test/login/callback"),
        ("scope", "openid%20profile"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(told[name], value, "{name}");
    }
    let id = world.log_in(&json!({})).await;
    let asked = world.provider().asked.last().cloned().expect("a question");
    let challenge = |verifier: &str| BASE64URL_NOPAD.encode(&Sha256::digest(verifier.as_bytes()));
    assert_eq!(asked["client_secret"], "CANARY");
    assert!(
        asked["code_verifier"].len() == 43 && challenge(&asked["code_verifier"]) != told["code_challenge"]
    );
    let caller = world.caller(&id).await.expect("a caller");
    assert_eq!(
        (caller.name.as_str(), caller.user.as_deref(), caller.method.is_of_browsers()),
        ("people:17", Some("alice"), true)
    );
    assert!(caller.has("shop/web") && !caller.has("other/one"));
    assert!(!format!("{:?}", world.access.config()).contains("CANARY"));
    assert_eq!(world.access.sessions(), 1);
}

#[tokio::test]
async fn what_comes_back_has_to_be_of_the_login_that_this_browser_began() {
    let world = World::new().await;
    let (ours, told) = world.begin();
    let (theirs, of_theirs) = world.begin();
    assert_ne!(told["state"], of_theirs["state"]);
    world.provider().holders.insert("code".to_owned(), json!({"nonce": told["nonce"]}));
    let complete = async |cookies: String, state: &str, code: &str| {
        world.access.complete_login(&with_cookies(&cookies), state, code).await.err()
    };
    let cookie = |value: &str| format!("{LOGIN_COOKIE}={value}");
    // Somebody is led to the callback with a login of somebody else.
    assert_eq!(complete(cookie(&theirs), &told["state"], "code").await, Some(LoginFailure::Stale));
    assert_eq!(complete("a=b".to_owned(), &told["state"], "code").await, Some(LoginFailure::Stale));
    assert_eq!(complete(cookie(&ours), "", "code").await, Some(LoginFailure::Stale));
    assert_eq!(
        complete(format!("{}; {}", cookie(&ours), cookie(&theirs)), &told["state"], "code").await,
        Some(LoginFailure::Stale)
    );
    assert!(world.provider().asked.is_empty(), "the issuer is not asked about any of these");
    // A code of another login, injected: its token has another nonce.
    let other = complete(cookie(&theirs), &of_theirs["state"], "code").await;
    assert_eq!(other, Some(LoginFailure::Refused("the ID token is of another login")));
    let unknown = complete(cookie(&ours), &told["state"], "other").await;
    assert_eq!(unknown, Some(LoginFailure::Denied("invalid_grant".to_owned())));
    for more in
        [json!({"aud": "other"}), json!({"azp": "other"}), json!({"exp": NOW - 60}), json!({"job_id": "1"})]
    {
        let mut claims = more.clone();
        claims["nonce"] = json!(told["nonce"]);
        world.provider().holders.insert("code".to_owned(), claims);
        let refused = complete(cookie(&ours), &told["state"], "code").await;
        assert!(matches!(refused, Some(LoginFailure::Refused(_))), "{more}: {refused:?}");
    }
    assert_eq!(world.access.sessions(), 0);
}

#[tokio::test]
async fn nobody_chooses_the_id_of_a_session_and_a_new_login_ends_the_one_before() {
    let world = World::new().await;
    let first = world.log_in(&json!({})).await;
    let (cookie, told) = world.begin();
    world.provider().holders.insert("code".to_owned(), json!({"nonce": told["nonce"], "sub": "18"}));
    let context = with_cookies(&format!("{SESSION_COOKIE}={first}; {LOGIN_COOKIE}={cookie}"));
    let second = world.access.complete_login(&context, &told["state"], "code").await.expect("a session");
    assert!(first != second && !world.is_in(&first).await && world.is_in(&second).await);
    assert_eq!(world.provider().revoked, ["again"], "that of the session before");
    for id in ["", "fixed", &cookie, &format!("{second}x")] {
        assert!(!world.is_in(id).await, "{id}");
    }
    let twice = with_cookies(&format!("{SESSION_COOKIE}={second}; {SESSION_COOKIE}={first}"));
    assert!(world.access.authenticated(&twice).is_err(), "not guessed between");
    // A token goes before a cookie, whatever it is worth.
    let mut both = with_cookies(&format!("{SESSION_COOKIE}={second}"));
    both.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer sl_other"));
    assert!(world.access.authenticated(&both).is_err());
    both.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer sl_reader"));
    assert_eq!(
        world.access.authenticated(&both).map(|caller| caller.name.clone()).ok().as_deref(),
        Some("reader")
    );
}

#[tokio::test]
async fn a_session_is_renewed_before_it_ends_and_its_rights_with_it() {
    let world = World::new().await;
    let id = world.log_in(&json!({"groups_direct": ["platform"]})).await;
    assert!(world.caller(&id).await.is_ok_and(|caller| caller.everything));
    world.provider().holders.insert("again".to_owned(), json!({"exp": NOW + 100_000}));
    world.pass(299);
    assert!(world.caller(&id).await.is_ok_and(|caller| caller.everything));
    world.pass(1);
    assert!(world.caller(&id).await.is_ok_and(|caller| !caller.everything), "the group is gone");
    assert_eq!(world.provider().asked.len(), 2);
    // The issuer is away: for a time everybody is who they were.
    world.provider().away = true;
    world.pass(300);
    assert!(world.is_in(&id).await);
    world.pass(899);
    assert!(world.is_in(&id).await);
    world.pass(1);
    assert!(!world.is_in(&id).await, "and not for longer");
}

#[tokio::test]
async fn a_session_ends_when_the_issuer_says_so_when_it_is_not_used_and_after_its_time() {
    let world = World::new().await;
    let refused = world.log_in(&json!({})).await;
    world.provider().holders.remove("again");
    world.pass(300);
    assert!(!world.is_in(&refused).await, "the issuer does not renew it");
    world.provider().holders.insert("again".to_owned(), json!({"sub": "18", "exp": NOW + 100_000}));
    let other = world.log_in(&json!({"exp": NOW + 100_000})).await;
    world.pass(300);
    assert!(!world.is_in(&other).await, "it became somebody else's");
    world.provider().holders.insert("again".to_owned(), json!({"exp": NOW + 100_000}));
    let idle = world.log_in(&json!({"exp": NOW + 100_000})).await;
    world.pass(3600);
    assert!(!world.is_in(&idle).await);
    let busy = world.log_in(&json!({"exp": NOW + 100_000})).await;
    let rounds = LONGEST.as_secs() / 600;
    for round in 1..rounds {
        world.pass(600);
        assert!(world.is_in(&busy).await, "{round}");
    }
    world.pass(600);
    assert!(!world.is_in(&busy).await, "nothing makes it last longer");
}

#[tokio::test]
async fn logging_out_ends_the_session_here_and_revokes_its_token_there() {
    let world = World::new().await;
    let (one, two) = (world.log_in(&json!({})).await, world.log_in(&json!({})).await);
    world.access.log_out(&with_cookies(&format!("{SESSION_COOKIE}={one}"))).await;
    assert!(!world.is_in(&one).await && world.is_in(&two).await);
    assert_eq!(world.provider().revoked, ["again"]);
    world.access.log_out(&with_cookies(&format!("{SESSION_COOKIE}={one}"))).await;
    assert_eq!(world.provider().revoked.len(), 1);
    // Also where the issuer is away.
    world.provider().away = true;
    world.access.log_out(&with_cookies(&format!("{SESSION_COOKIE}={two}"))).await;
    assert!(!world.is_in(&two).await);
}

#[tokio::test]
async fn sessions_end_with_the_entry_of_the_configuration_that_they_come_from() {
    let world = World::new().await;
    let id = world.log_in(&json!({})).await;
    world.access.replace(world.access.config());
    assert!(world.is_in(&id).await, "it is as it was");
    let mut config = world.access.config();
    config.issuers[0].audience = "another".to_owned();
    world.access.replace(config);
    assert!(!world.is_in(&id).await);
}

#[tokio::test]
async fn who_may_log_in_is_told_so_instead_of_being_asked_for_a_password() {
    let world = World::new().await;
    let problem = world.access.authenticated(&context(None)).expect_err("nobody");
    assert!(problem.can_log_in);
    let challenge = problem.headers().find(|(name, _)| name == http::header::WWW_AUTHENTICATE);
    assert!(challenge.is_some_and(|(_, value)| !value.to_str().unwrap_or("Basic").contains("Basic")));
}

#[test]
fn nobody_is_sent_to_another_host() {
    for (path, expected) in [
        ("/", "/"),
        ("/environments/shop.web?at=1", "/environments/shop.web?at=1"),
        ("", "/"),
        ("//evil.test", "/"),
        ("/\\evil.test", "/"),
        ("/a\\b", "/"),
        ("https://evil.test", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.test", "/"),
        ("/a\r\nset-cookie: x", "/"),
        ("/é", "/"),
        ("/login?to=/login", "/"),
        ("/logout", "/"),
    ] {
        assert_eq!(local_path(path), expected, "{path:?}");
    }
}
