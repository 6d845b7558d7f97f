//! Logins at a provider of our own, whose answers the tests choose; time is that of the runtime, which passes at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use http::Uri;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

const ISSUER: &str = "https://gitlab.test";

/// What the provider answers next, and what it was asked.
#[derive(Default)]
struct World {
    description: Value,
    answers: Mutex<VecDeque<Result<Value, String>>>,
    asked: Mutex<Vec<(String, HashMap<String, String>)>>,
}

fn fields(form: &str) -> HashMap<String, String> {
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn description() -> Value {
    let at = |path: &str| format!("{ISSUER}/{path}");
    json!({"issuer": ISSUER, "token_endpoint": at("token"), "authorization_endpoint": at("auth"),
           "device_authorization_endpoint": at("device"), "revocation_endpoint": at("revoke")})
}

fn id_token(more: &Value) -> String {
    let mut claims = json!({"iss": ISSUER, "aud": "cli", "sub": "17", "exp": 1_795_176_000});
    for (name, value) in more.as_object().into_iter().flatten() {
        claims[name] = value.clone();
    }
    format!("e30.{}.e30", BASE64URL_NOPAD.encode(claims.to_string().as_bytes()))
}

fn tokens(more: &Value) -> Value {
    json!({"id_token": id_token(more), "access_token": "x", "refresh_token": "again"})
}

fn error(word: &str) -> Value {
    json!({"error": word})
}

impl World {
    fn new(answers: Vec<Result<Value, String>>) -> Arc<Self> {
        Arc::new(World {
            description: description(),
            answers: Mutex::new(answers.into()),
            ..World::default()
        })
    }

    fn answer(&self, request: &OutgoingRequest) -> Result<(StatusCode, Bytes), String> {
        if request.url.ends_with(DISCOVERY) {
            return Ok((StatusCode::OK, self.description.to_string().into()));
        }
        let form = fields(request.form.as_deref().unwrap_or_default());
        self.asked.lock().expect("a list").push((request.url.clone(), form));
        let answer = self.answers.lock().expect("answers").pop_front();
        let answer = answer.unwrap_or_else(|| Err("nothing more is answered".to_owned()))?;
        let status = if answer["error"].is_string() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        Ok((status, answer.to_string().into()))
    }

    async fn provider(self: &Arc<Self>) -> Result<Provider, OidcError> {
        let world = Arc::clone(self);
        let fetch: Fetch = Arc::new(move |request| std::future::ready(world.answer(&request)).boxed());
        Provider::discover_by(ISSUER, "cli", fetch).await
    }

    fn asked(&self) -> Vec<(String, HashMap<String, String>)> {
        self.asked.lock().expect("a list").clone()
    }
}

fn device_code(more: &Value) -> Value {
    let mut code = json!({"device_code": "D", "user_code": "AB-CD", "verification_uri": "https://gitlab.test/device",
                          "expires_in": 300, "interval": 5});
    for (name, value) in more.as_object().into_iter().flatten() {
        code[name] = value.clone();
    }
    code
}

/// What comes of a login by device with these answers of the token endpoint, and after how many seconds.
async fn by_device(code: Value, answers: Vec<Result<Value, String>>) -> (Result<OidcTokens, OidcError>, u64) {
    let world = World::new([vec![Ok(code)], answers].concat());
    let provider = world.provider().await.expect("a provider");
    assert!(provider.has_device_flow());
    let code = provider.device_code(&["openid".to_owned(), "profile".to_owned()]).await.expect("a code");
    let began = Instant::now();
    let came = provider.await_device(&code).await;
    let asked = world.asked();
    assert_eq!(asked[0].1["scope"], "openid profile");
    for (_, form) in asked.iter().skip(1) {
        assert_eq!((form["device_code"].as_str(), form["client_id"].as_str()), ("D", "cli"));
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:device_code");
    }
    (came, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_device_waits_until_somebody_has_entered_the_code() {
    let pending = || Ok(error("authorization_pending"));
    let (came, seconds) =
        by_device(device_code(&json!({})), vec![pending(), pending(), Ok(tokens(&json!({})))]).await;
    let came = came.expect("tokens");
    assert_eq!((came.issuer.as_str(), came.client_id.as_str(), seconds), (ISSUER, "cli", 15));
    assert_eq!(came.expires, Timestamp::from_micros(1_795_176_000_000_000));
    assert_eq!(came.refresh_token.as_ref().map(TokenText::as_str), Some("again"));
    // A provider that names no interval is asked every five seconds, one that names none to speak of every second.
    let (_, seconds) = by_device(device_code(&json!({"interval": null})), vec![Ok(tokens(&json!({})))]).await;
    assert_eq!(seconds, 5);
    let (_, seconds) = by_device(device_code(&json!({"interval": 0})), vec![Ok(tokens(&json!({})))]).await;
    assert_eq!(seconds, 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_it_or_is_away_is_asked_less_often() {
    let slow = || Ok(error("slow_down"));
    let (came, seconds) =
        by_device(device_code(&json!({})), vec![slow(), slow(), Ok(tokens(&json!({})))]).await;
    assert!(came.is_ok());
    assert_eq!(seconds, 5 + 10 + 15);
    let away = || Err("it is away".to_owned());
    let (came, seconds) =
        by_device(device_code(&json!({})), vec![away(), away(), Ok(tokens(&json!({})))]).await;
    assert!(came.is_ok());
    assert_eq!(seconds, 5 + 10 + 20);
}

#[tokio::test(start_paused = true)]
async fn a_login_by_device_ends_when_it_is_denied_or_too_late() {
    let refused = |word: &str| Err(OidcError::Refused(word.to_owned()));
    let pending = || Ok(error("authorization_pending"));
    let (came, seconds) =
        by_device(device_code(&json!({})), vec![pending(), Ok(error("access_denied"))]).await;
    assert_eq!((came, seconds), (refused("access_denied"), 10));
    let (came, _) = by_device(device_code(&json!({})), vec![Ok(error("expired_token"))]).await;
    assert_eq!(came, refused("expired_token"));
    // Also where the provider would go on answering for ever.
    let (came, seconds) = by_device(device_code(&json!({"expires_in": 60})), vec![pending(); 100]).await;
    assert_eq!((came, seconds), (refused("expired_token"), 60));
    let (came, seconds) =
        by_device(device_code(&json!({"expires_in": 9_999_999})), vec![pending(); 1000]).await;
    assert_eq!((came, seconds), (refused("expired_token"), 1800));
    let (came, _) = by_device(device_code(&json!({})), vec![Ok(json!({"error": "<b>\u{1b}"}))]).await;
    assert!(came.is_err());
}

#[tokio::test]
async fn a_provider_leads_nowhere_but_to_itself_and_by_https() {
    for (more, expected) in [
        (json!({"issuer": "https://other.test"}), "another provider"),
        (json!({"token_endpoint": "http://gitlab.test/token"}), "not https"),
        (json!({"revocation_endpoint": "ftp://x"}), "not https"),
        (json!({"token_endpoint": null}), "cannot be read"),
    ] {
        let mut world = World { description: description(), ..World::default() };
        for (name, value) in more.as_object().into_iter().flatten() {
            world.description[name] = value.clone();
        }
        let refused = Arc::new(world).provider().await.err();
        assert!(matches!(refused, Some(OidcError::Wrong(why)) if why.contains(expected)), "{more}");
    }
    let code = device_code(&json!({"verification_uri": "javascript:alert(1)"}));
    let provider = World::new(vec![Ok(code)]).provider().await.expect("a provider");
    assert!(provider.device_code(&[]).await.is_err());
}

#[tokio::test]
async fn tokens_are_for_this_client_and_renewed_for_the_same_person() {
    let world = World::new(vec![
        Ok(tokens(&json!({}))),
        Ok(json!({"id_token": id_token(&json!({}))})),
        Ok(tokens(&json!({"sub": "18"}))),
        Ok(tokens(&json!({"aud": "other"}))),
        Ok(tokens(&json!({"iss": "https://other.test"}))),
        Ok(json!({"access_token": "x"})),
        Ok(error("invalid_grant")),
    ]);
    let provider = world.provider().await.expect("a provider");
    let before = provider.tokens(&[("grant_type", "x")], None).await.expect("tokens");
    let refresh: TokenText = "r1".parse().expect("a token");
    let renewed = provider.refresh(&before, &refresh).await.expect("new tokens");
    assert_eq!(renewed.refresh_token, Some(refresh.clone()), "the one from before, where no other is given");
    for expected in ["somebody else", "another client", "another client", "no ID token"] {
        let refused = provider.refresh(&before, &refresh).await;
        assert!(matches!(&refused, Err(OidcError::Wrong(why)) if why.contains(expected)), "{refused:?}");
    }
    assert_eq!(
        provider.refresh(&before, &refresh).await,
        Err(OidcError::Refused("invalid_grant".to_owned()))
    );
    assert!(world.asked().iter().skip(1).all(|(_, form)| form["refresh_token"] == "r1"));
}

#[tokio::test]
async fn a_login_is_revoked_by_its_refresh_token_where_the_provider_can() {
    let world = World::new(vec![Ok(tokens(&json!({}))), Ok(json!({})), Ok(error("server_error"))]);
    let provider = world.provider().await.expect("a provider");
    let login = provider.tokens(&[], None).await.expect("tokens");
    assert_eq!(provider.revoke(&login).await, Ok(true));
    let (url, form) = world.asked().pop().expect("a question");
    assert_eq!((url.as_str(), form["token"].as_str()), ("https://gitlab.test/revoke", "again"));
    assert!(provider.revoke(&login).await.is_err());
    assert_eq!(provider.revoke(&OidcTokens { refresh_token: None, ..login }).await, Ok(false));
}

/// What a browser is answered.
async fn browse(url: &str) -> (StatusCode, String) {
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let answer = client.get(url.parse::<Uri>().expect("an address")).await.expect("an answer");
    let status = answer.status();
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_browser_brings_the_code_of_this_login_and_of_no_other() {
    let world = World::new(vec![]);
    let provider = world.provider().await.expect("a provider");
    let callback = provider.callback(&["openid".to_owned()], None).await.expect("a login");
    let sent = fields(callback.url.strip_prefix("https://gitlab.test/auth?").expect("the provider"));
    assert_eq!((sent["client_id"].as_str(), sent["response_type"].as_str()), ("cli", "code"));
    let (back, state) = (sent["redirect_uri"].clone(), sent["state"].clone());
    world.answers.lock().expect("answers").push_back(Ok(tokens(&json!({"nonce": sent["nonce"]}))));
    let waiting = tokio::spawn(async move { provider.await_browser(callback).await });
    let root = back.strip_suffix("/callback").expect("its path").to_owned();
    for (url, status) in [
        (format!("{back}?code=evil&state=guess"), StatusCode::BAD_REQUEST),
        (format!("{back}?code=evil"), StatusCode::BAD_REQUEST),
        (format!("{back}?code=evil&state={state}&iss=https%3A%2F%2Fevil.test"), StatusCode::BAD_REQUEST),
        (format!("{root}/favicon.ico"), StatusCode::NOT_FOUND),
        (format!("{back}?code=a%2Fb&state={state}&iss=https%3A%2F%2Fgitlab.test"), StatusCode::OK),
    ] {
        let (got, text) = browse(&url).await;
        assert_eq!(got, status, "{url}: {text}");
    }
    let came = waiting.await.expect("it ended").expect("tokens");
    assert_eq!(came.client_id, "cli");
    let (_, form) = world.asked().pop().expect("a question");
    let challenge =
        BASE64URL_NOPAD.encode(&<sha2::Sha256 as sha2::Digest>::digest(form["code_verifier"].as_bytes()));
    assert_eq!((form["code"].as_str(), &form["redirect_uri"]), ("a/b", &back));
    assert_eq!(challenge, sent["code_challenge"]);
}

#[tokio::test]
async fn a_login_by_browser_that_is_refused_or_of_another_nonce_fails() {
    let world = World::new(vec![Ok(tokens(&json!({"nonce": "other"})))]);
    let provider = world.provider().await.expect("a provider");
    for (query, expected) in [
        ("error=access_denied", OidcError::Refused("access_denied".to_owned())),
        ("error=%3Cb%3E", OidcError::Wrong("the browser brought no code")),
        ("code=c", OidcError::Wrong("its ID token is that of another login")),
    ] {
        let callback = provider.callback(&[], None).await.expect("a login");
        let sent = fields(callback.url.split_once('?').expect("a query").1);
        let url = format!("{}?{query}&state={}", sent["redirect_uri"], sent["state"]);
        let (answer, came) = tokio::join!(browse(&url), provider.await_browser(callback));
        assert_eq!((answer.0, came), (StatusCode::OK, Err(expected)), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_for_ever() {
    let provider = World::new(vec![]).provider().await.expect("a provider");
    let callback = provider.callback(&[], None).await.expect("a login");
    let began = Instant::now();
    assert_eq!(provider.await_browser(callback).await, Err(OidcError::Refused("expired".to_owned())));
    assert_eq!(began.elapsed(), Duration::from_secs(600));
}
