//! The login of browsers at an issuer: OpenID Connect's authorization code with PKCE (RFC 7636), from the button to the session.
//!
//! Between the two the server remembers nothing, so that nobody can fill its memory by beginning logins. The browser holds one
//! random value in a cookie; `state`, `nonce` and the verifier of PKCE follow from it by a hash each. So whoever comes back has to be
//! the browser that went, and what comes back is for that login alone.

use data_encoding::BASE64URL_NOPAD;
use http::header::COOKIE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::issuer::{Fetch, Issuer};
use super::jws::Unverified;
use super::session::Secret;
use crate::http::caller::Caller;
use crate::http::outgoing::OutgoingRequest;
use strandline_model::Timestamp;
use strandline_protocol::AuthenticationMethod;
use strandline_syntax::percent_encode;

/// The cookie of a session. A browser takes a cookie of such a name only with `Secure`, for this host alone.
pub const SESSION_COOKIE: &str = "__Host-strandline-session";

/// The cookie of a login that has begun.
pub const LOGIN_COOKIE: &str = "__Host-strandline-login";

/// The cookie with where somebody wanted to go.
pub const TO_COOKIE: &str = "__Host-strandline-to";

/// A longer value is none of ours.
const COOKIE_BYTES_MAX: usize = 3000;

/// Where the issuer sends a browser back to.
pub const CALLBACK: &str = "/login/callback";

/// How the server takes part in logins at an issuer.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginConfig {
    /// The URL of this server as browsers have it, without a slash at its end.
    pub public_url: String,
    /// The file of the client's secret; none for a public client.
    pub client_secret: Option<ClientSecret>,
    /// What is asked for besides `openid`.
    pub scopes: Vec<String>,
}

/// A secret that the server and the issuer share.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(pub String);

impl std::fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientSecret")
    }
}

impl std::fmt::Debug for LoginConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginConfig").field("public_url", &self.public_url).finish_non_exhaustive()
    }
}

/// Why a login failed, for the person and for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginFailure {
    /// The browser that came back is not the one that went, or it took too long.
    Stale,
    /// The issuer refused it, by this standard word.
    Denied(String),
    /// The issuer could not be asked.
    Unavailable,
    /// What the issuer answered is not to be believed, or gives no access.
    Refused(&'static str),
}

/// A login that a browser has begun: one random value.
pub(super) struct Attempt<'a>(pub(super) &'a str);

impl Attempt<'_> {
    fn derived(&self, what: &str) -> String {
        let digest = Sha256::new().chain_update(what).chain_update(":").chain_update(self.0).finalize();
        BASE64URL_NOPAD.encode(&digest)
    }

    pub(super) fn state(&self) -> String {
        self.derived("state")
    }

    fn nonce(&self) -> String {
        self.derived("nonce")
    }

    fn verifier(&self) -> String {
        self.derived("verifier")
    }
}

/// What a token endpoint answers.
#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// The holder of the tokens of an answer, and with what they are renewed.
pub(super) type Holder = (Caller, Option<Secret>);

/// The value of a cookie; none where there are several of its name.
pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut found = all.flat_map(|text| text.split(';')).filter_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    });
    let first = found.next()?;
    let plain = first.len() <= COOKIE_BYTES_MAX
        && first.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    (plain && found.next().is_none()).then_some(first)
}

/// A path of ours that somebody may be sent to; anything else becomes the start page. `//host` and `/\host` are other hosts to a
/// browser.
pub fn local_path(path: &str) -> &str {
    let second = path.as_bytes().get(1);
    let local = path.starts_with('/') && !matches!(second, Some(b'/' | b'\\'));
    let plain = path.len() <= 2048 && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let login = ["/login", "/logout"].iter().any(|start| path.starts_with(start));
    if local && plain && !login { path } else { "/" }
}

fn form(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{name}={}", percent_encode(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

impl Issuer {
    /// Where a browser goes to log in.
    pub(super) fn authorization_url(
        &self,
        login: &LoginConfig,
        attempt: &Attempt<'_>,
    ) -> Result<String, LoginFailure> {
        let described = self.described().ok_or(LoginFailure::Unavailable)?;
        let endpoint = described.authorization_endpoint.ok_or(LoginFailure::Unavailable)?;
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(attempt.verifier().as_bytes()));
        let scope = ["openid".to_owned()]
            .into_iter()
            .chain(login.scopes.iter().cloned())
            .collect::<Vec<_>>()
            .join(" ");
        let (state, nonce) = (attempt.state(), attempt.nonce());
        let callback = format!("{}{CALLBACK}", login.public_url);
        let query = form(&[
            ("response_type", "code"),
            ("client_id", self.config.audience.as_str()),
            ("redirect_uri", callback.as_str()),
            ("scope", scope.as_str()),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ]);
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{separator}{query}"))
    }

    /// For whom a code was issued.
    pub(super) async fn redeem(
        &self,
        login: &LoginConfig,
        attempt: &Attempt<'_>,
        code: &str,
        fetch: &Fetch,
        now: Timestamp,
    ) -> Result<Holder, LoginFailure> {
        let (callback, verifier) = (format!("{}{CALLBACK}", login.public_url), attempt.verifier());
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback.as_str()),
            ("code_verifier", verifier.as_str()),
        ];
        let tokens = self.tokens(login, &fields, fetch).await?;
        let token = tokens.id_token.ok_or(LoginFailure::Refused("there is no ID token"))?;
        let caller = self.holder(&token, Some(&attempt.nonce()), fetch, now).await?;
        Ok((caller, tokens.refresh_token.map(Secret)))
    }

    /// Who somebody is by now.
    pub(super) async fn renew(
        &self,
        login: &LoginConfig,
        refresh: &Secret,
        fetch: &Fetch,
        now: Timestamp,
    ) -> Result<Holder, LoginFailure> {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.0.as_str())];
        let tokens = self.tokens(login, &fields, fetch).await?;
        let token = tokens.id_token.ok_or(LoginFailure::Refused("there is no ID token"))?;
        let caller = self.holder(&token, None, fetch, now).await?;
        // The one from before goes on where no other is given.
        Ok((caller, Some(tokens.refresh_token.map_or_else(|| refresh.clone(), Secret))))
    }

    /// Makes a refresh token worthless, where the issuer can do that (RFC 7009).
    pub(super) async fn revoke(
        &self,
        login: &LoginConfig,
        refresh: &Secret,
        fetch: &Fetch,
    ) -> Result<(), String> {
        let Some(endpoint) = self.described().and_then(|described| described.revocation_endpoint) else {
            return Ok(());
        };
        let fields = [("token", refresh.0.as_str()), ("token_type_hint", "refresh_token")];
        let (status, _) = fetch(self.request(endpoint, login, &fields)).await?;
        if status.is_success() { Ok(()) } else { Err(format!("revoking a token was answered {status}")) }
    }

    fn request(&self, url: String, login: &LoginConfig, fields: &[(&str, &str)]) -> OutgoingRequest {
        let mut all = fields.to_vec();
        all.push(("client_id", self.config.audience.as_str()));
        if let Some(ClientSecret(secret)) = &login.client_secret {
            all.push(("client_secret", secret.as_str()));
        }
        OutgoingRequest { url, form: Some(form(&all)) }
    }

    async fn tokens(
        &self,
        login: &LoginConfig,
        fields: &[(&str, &str)],
        fetch: &Fetch,
    ) -> Result<Tokens, LoginFailure> {
        #[derive(Deserialize)]
        struct Refusal {
            error: String,
        }
        let described = self.described().ok_or(LoginFailure::Unavailable)?;
        let endpoint = described.token_endpoint.ok_or(LoginFailure::Unavailable)?;
        let answer = fetch(self.request(endpoint, login, fields)).await;
        let (status, body) = answer.map_err(|_| LoginFailure::Unavailable)?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&body)
                .map_err(|_| LoginFailure::Refused("the answer has no tokens"));
        }
        let refusal = serde_json::from_slice::<Refusal>(&body).ok().filter(|_| status.is_client_error());
        let word = refusal.map(|refusal| refusal.error).filter(|word| is_word(word));
        Err(word.map_or(LoginFailure::Unavailable, LoginFailure::Denied))
    }

    /// Who an ID token says somebody is. It came from the issuer itself, and is checked nevertheless like any other.
    async fn holder(
        &self,
        token: &str,
        nonce: Option<&str>,
        fetch: &Fetch,
        now: Timestamp,
    ) -> Result<Caller, LoginFailure> {
        #[derive(Deserialize)]
        struct OfLogin {
            nonce: Option<String>,
            azp: Option<String>,
        }
        let token = Unverified::read(token).ok_or(LoginFailure::Refused("the ID token cannot be read"))?;
        self.prepare(&token, fetch, now).await;
        let caller =
            self.caller(&token, now).map_err(|_| LoginFailure::Refused("the ID token is not taken"))?;
        let claims: OfLogin = token.claims().ok_or(LoginFailure::Refused("the ID token cannot be read"))?;
        if nonce.is_some_and(|nonce| claims.nonce.as_deref() != Some(nonce)) {
            return Err(LoginFailure::Refused("the ID token is of another login"));
        }
        if claims.azp.is_some_and(|azp| azp != self.config.audience) {
            return Err(LoginFailure::Refused("the ID token is for another client"));
        }
        Ok(Caller { method: AuthenticationMethod::Session, expires: None, ..caller })
    }
}

/// Whether a text is an error code of OAuth, which may be shown.
pub(super) fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}
