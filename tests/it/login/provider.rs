//! An OpenID provider on loopback: authorization code with PKCE, device codes, refresh tokens that are taken once, revocation.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::server::Result;

/// What is known of logins.
#[derive(Default)]
pub(crate) struct State {
    /// For how many seconds tokens of a new login are valid; those of a renewed one are for an hour.
    pub(crate) lasts: i64,
    /// How often somebody has not entered the code yet.
    pub(crate) pending: u32,
    /// Refresh tokens that are good, each for once.
    pub(crate) good: BTreeSet<String>,
    /// How often a login was renewed, and how often that was refused.
    pub(crate) renewed: u32,
    pub(crate) refused: u32,
    pub(crate) revoked: Vec<String>,
    /// Challenge and nonce of each code.
    codes: HashMap<String, (String, String)>,
    made: u32,
}

/// A running provider, which ends with this.
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    _end: DropGuard,
}

struct Served {
    url: String,
    key: EcdsaKeyPair,
    state: Arc<Mutex<State>>,
}

fn fields(form: &str) -> HashMap<String, String> {
    let decoded = |text: &str| {
        percent_encoding::percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
    };
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn encoded(value: &Value) -> String {
    BASE64URL_NOPAD.encode(value.to_string().as_bytes())
}

impl Provider {
    pub(crate) async fn start() -> Result<Self> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .and_then(|key| {
                Ok(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random)?)
            })
            .map_err(|_| "no key")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
        let state = Arc::new(Mutex::new(State { lasts: 3600, ..State::default() }));
        let served = Arc::new(Served { url: url.clone(), key, state: Arc::clone(&state) });
        let end = CancellationToken::new();
        let accepting = async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = Arc::clone(&served);
                tokio::spawn(async move {
                    let answer = service_fn(|request| served.answer(request));
                    _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), answer)
                        .await;
                });
            }
        };
        tokio::spawn(end.clone().run_until_cancelled_owned(accepting));
        Ok(Provider { url, state, _end: end.drop_guard() })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Provider {
    /// How often a login was renewed, and how often that was refused.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let state = self.state();
        (state.renewed, state.refused)
    }
}

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let query = fields(request.uri().query().unwrap_or_default());
        let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let form = fields(&String::from_utf8_lossy(&body));
        let at = |path: &str| format!("{}/{path}", self.url);
        let answer = match path.as_str() {
            "/.well-known/openid-configuration" => Ok(json!({
                "issuer": self.url, "jwks_uri": at("keys"), "token_endpoint": at("token"),
                "authorization_endpoint": at("auth"), "device_authorization_endpoint": at("device"),
                "revocation_endpoint": at("revoke"),
            })),
            "/keys" => {
                let (point, part) =
                    (self.key.public_key().as_ref(), |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes));
                let key = json!({"kty": "EC", "crv": "P-256", "kid": "1", "x": part(&point[1..33]), "y": part(&point[33..])});
                Ok(json!({"keys": [key]}))
            }
            "/device" => {
                Ok(json!({"device_code": "D", "user_code": "ABCD-EFGH", "verification_uri": at("enter"),
                                   "expires_in": 300, "interval": 1}))
            }
            "/auth" => return Ok(self.authorize(&query)),
            "/token" => self.grant(&form),
            "/revoke" => {
                let mut state = self.state.lock().unwrap();
                state.good.remove(&form["token"]);
                state.revoked.push(form["token"].clone());
                Ok(json!({}))
            }
            _ => Err("not_found"),
        };
        let (status, body) = match answer {
            Ok(body) => (StatusCode::OK, body),
            Err(word) => (StatusCode::BAD_REQUEST, json!({"error": word})),
        };
        let mut response = Response::new(Full::from(body.to_string()));
        *response.status_mut() = status;
        Ok(response)
    }

    /// Somebody logs in at once, and is sent back.
    fn authorize(&self, query: &HashMap<String, String>) -> Response<Full<Bytes>> {
        let mut state = self.state.lock().unwrap();
        state.made += 1;
        let code = format!("code-{}", state.made);
        state.codes.insert(code.clone(), (query["code_challenge"].clone(), query["nonce"].clone()));
        let to = format!("{}?code={code}&state={}", query["redirect_uri"], query["state"]);
        let response = Response::builder().status(StatusCode::SEE_OTHER).header("location", to);
        response.body(Full::default()).unwrap()
    }

    fn grant(&self, form: &HashMap<String, String>) -> Result<Value, &'static str> {
        let mut state = self.state.lock().unwrap();
        let lasts = state.lasts;
        match form["grant_type"].as_str() {
            _ if form["client_id"] != "cli" => Err("invalid_client"),
            "authorization_code" => {
                let (challenge, nonce) = state.codes.remove(&form["code"]).ok_or("invalid_grant")?;
                let verifier = Sha256::digest(form["code_verifier"].as_bytes());
                let is_its = BASE64URL_NOPAD.encode(&verifier) == challenge;
                if is_its { Ok(self.tokens(&mut state, lasts, Some(&nonce))) } else { Err("invalid_grant") }
            }
            "urn:ietf:params:oauth:grant-type:device_code" if state.pending > 0 => {
                state.pending -= 1;
                Err("authorization_pending")
            }
            "urn:ietf:params:oauth:grant-type:device_code" => Ok(self.tokens(&mut state, lasts, None)),
            "refresh_token" if state.good.remove(&form["refresh_token"]) => {
                state.renewed += 1;
                Ok(self.tokens(&mut state, 3600, None))
            }
            _ => {
                state.refused += 1;
                Err("invalid_grant")
            }
        }
    }

    fn tokens(&self, state: &mut State, lasts: i64, nonce: Option<&str>) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let claims = json!({"iss": self.url, "aud": "cli", "sub": "17", "iat": now, "exp": now + lasts, "nonce": nonce,
                            "preferred_username": "alice", "groups_direct": ["shop"]});
        let signed = format!("{}.{}", encoded(&json!({"alg": "ES256", "kid": "1"})), encoded(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        state.made += 1;
        let refresh = format!("refresh-{}", state.made);
        state.good.insert(refresh.clone());
        json!({"id_token": format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref())), "access_token": "x",
               "refresh_token": refresh})
    }
}
