//! An issuer of tokens: its keys, fetched and kept, and whether a token is one of its own.
//!
//! A key that is not known is asked for at most once in [`FLOOR`], however many tokens name one. Keys outlast an issuer that
//! cannot be reached; a key that it no longer lists is not taken any more as soon as that is known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::StatusCode;
use serde::Deserialize;

use super::claims::{Claims, Mapping, Refused};
use super::jws::{Algorithm, Key, Unverified, candidates, read_keys};
use super::login::LoginConfig;
use crate::http::caller::Caller;
use crate::http::outgoing::OutgoingRequest;
use strandline_model::Timestamp;

/// How often keys are fetched at most because a token names one that is not known.
const FLOOR: Duration = Duration::from_secs(30);

/// How often they are fetched anyway.
pub const REFRESH: Duration = Duration::from_secs(300);

/// What the address of an issuer's description adds to it (OpenID Connect Discovery).
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// An issuer whose tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerConfig {
    /// Its name in logs.
    pub name: String,
    /// What its tokens say in `iss`, exactly.
    pub issuer: String,
    /// What they have to say in `aud`.
    pub audience: String,
    /// How they may be signed.
    pub algorithms: Vec<Algorithm>,
    /// Where its keys are; none to ask the issuer.
    pub jwks_url: Option<String>,
    /// What its tokens are taken for.
    pub mapping: Mapping,
    /// How browsers log in there; none where they do not.
    pub login: Option<LoginConfig>,
    /// How the command line logs in there; none where it does not.
    pub command_line: Option<CommandLineLogin>,
}

/// How the command line logs in at an issuer, of which its tokens are taken as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLineLogin {
    /// Its client id, which is what its tokens say in `aud`.
    pub client_id: String,
    /// What is asked for besides `openid`.
    pub scopes: Vec<String>,
    /// The port of its redirect URI; none for any.
    pub redirect_port: Option<u16>,
}

/// Asks another server.
pub type Fetch =
    Arc<dyn Fn(OutgoingRequest) -> BoxFuture<'static, Result<(StatusCode, Bytes), String>> + Send + Sync>;

/// An issuer with its keys.
#[derive(Debug)]
pub(super) struct Issuer {
    pub(super) config: IssuerConfig,
    keys: Mutex<Keys>,
    /// Held by who fetches; others wait for what comes of it.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Keys {
    known: Arc<Vec<Key>>,
    /// What the issuer says of itself, where it was asked.
    described: Option<Description>,
    /// When they were last asked for.
    asked: Option<Timestamp>,
    problem: Option<String>,
}

/// What an issuer says of itself (OpenID Connect Discovery).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Description {
    issuer: String,
    jwks_uri: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
}

impl Description {
    /// That whatever it leads to is asked by https.
    fn is_trustworthy(&self) -> bool {
        let endpoints = [&self.authorization_endpoint, &self.token_endpoint, &self.revocation_endpoint];
        let mut all = endpoints.into_iter().flatten().chain([&self.jwks_uri]);
        all.all(|address| is_trustworthy(address))
    }
}

/// Why a token is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JwtRefusal {
    /// No issuer of ours signed it, as far as we know.
    Unknown,
    /// Its issuer's keys could not be fetched yet.
    NoKeys,
    /// What it says rules it out, and nobody proved that.
    Unproved(&'static str),
    /// The cluster that it is of did not decide about it.
    Undecided,
    /// Its issuer signed it, and it is not taken.
    Refused(Refused),
}

impl Issuer {
    pub(super) fn new(config: IssuerConfig) -> Self {
        Issuer { config, keys: Mutex::default(), fetching: tokio::sync::Mutex::new(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        // Nothing that can panic runs under this lock.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why its keys could not be fetched the last time.
    pub(super) fn problem(&self) -> Option<String> {
        self.lock().problem.clone()
    }

    /// What the issuer says of itself, as far as that is known.
    pub(super) fn described(&self) -> Option<Description> {
        self.lock().described.clone()
    }

    /// Who holds a token, if this issuer signed it and it is for us.
    pub(super) fn caller(&self, token: &Unverified<'_>, now: Timestamp) -> Result<Caller, JwtRefusal> {
        let IssuerConfig { name, issuer, audience, algorithms, mapping, command_line, .. } = &self.config;
        if !token.is_signed_by(algorithms) {
            return Err(JwtRefusal::Unknown);
        }
        let keys = Arc::clone(&self.lock().known);
        if keys.is_empty() {
            return Err(JwtRefusal::NoKeys);
        }
        let mut keys = candidates(&keys, token.key_id.as_deref());
        if !keys.any(|key| token.is_signed_with(key)) {
            return Err(JwtRefusal::Unknown);
        }
        let incomplete = Refused::Because("a claim that is needed is not there, or of another type");
        let claims: Claims = token.claims().ok_or(JwtRefusal::Refused(incomplete))?;
        let of_command_line = command_line.iter().map(|login| login.client_id.as_str());
        let audiences: Vec<_> = of_command_line.chain([audience.as_str()]).collect();
        claims
            .check(issuer, &audiences, now)
            .and_then(|()| claims.caller(name, mapping))
            .map_err(JwtRefusal::Refused)
    }

    /// Fetches the keys where a token may be signed with one that is not known, and they were not asked for of late. Where they are
    /// being fetched, it waits for that.
    pub(super) async fn prepare(&self, token: &Unverified<'_>, fetch: &Fetch, now: Timestamp) {
        let is_unknown = |keys: &Keys| candidates(&keys.known, token.key_id.as_deref()).next().is_none();
        if !token.is_signed_by(&self.config.algorithms) || !is_unknown(&self.lock()) {
            return;
        }
        let _fetching = self.fetching.lock().await;
        let due = |keys: &Keys| is_unknown(keys) && keys.asked.is_none_or(|asked| asked.plus(FLOOR) <= now);
        // Somebody else may have fetched them meanwhile.
        if due(&self.lock()) {
            self.fetch(fetch, now).await;
        }
    }

    /// Fetches the keys anyway.
    pub(super) async fn refresh(&self, fetch: &Fetch, now: Timestamp) {
        let _fetching = self.fetching.lock().await;
        self.fetch(fetch, now).await;
    }

    async fn fetch(&self, fetch: &Fetch, now: Timestamp) {
        self.lock().asked = Some(now);
        let fetched = self.fetched(fetch).await;
        let issuer = self.config.name.as_str();
        let mut keys = self.lock();
        match fetched {
            Ok((known, described)) => {
                if *keys.known != known {
                    tracing::info!(issuer, keys = known.len(), "signing keys of an issuer fetched");
                }
                (keys.known, keys.described, keys.problem) = (Arc::new(known), described, None);
            }
            Err(error) => {
                if keys.problem.as_ref() != Some(&error) {
                    let known = keys.known.len();
                    tracing::warn!(issuer, error, known, "fetching the signing keys of an issuer failed");
                }
                keys.problem = Some(error);
            }
        }
    }

    async fn fetched(&self, fetch: &Fetch) -> Result<(Vec<Key>, Option<Description>), String> {
        let IssuerConfig { issuer, jwks_url, login, .. } = &self.config;
        let described = match jwks_url.is_none() || login.is_some() {
            true => Some(self.description(issuer, fetch).await?),
            false => None,
        };
        let of_description = described.as_ref().map(|described| &described.jwks_uri);
        let Some(address) = jwks_url.as_ref().or(of_description) else {
            return Err("the address of the keys is not known".to_owned());
        };
        Ok((read_keys(&document(address.clone(), fetch).await?)?, described))
    }

    async fn description(&self, issuer: &str, fetch: &Fetch) -> Result<Description, String> {
        let text = document(format!("{}{DISCOVERY}", issuer.trim_end_matches('/')), fetch).await?;
        let described: Description = serde_json::from_slice(&text)
            .map_err(|_| "the answer is no description of an issuer".to_owned())?;
        if described.issuer != issuer {
            return Err("the description is that of another issuer".to_owned());
        }
        match described.is_trustworthy() {
            true => Ok(described),
            false => Err("the description names an address that is not https".to_owned()),
        }
    }
}

/// What an address has.
async fn document(url: String, fetch: &Fetch) -> Result<Bytes, String> {
    match fetch(OutgoingRequest { url: url.clone(), form: None }).await? {
        (StatusCode::OK, body) => Ok(body),
        (status, _) => Err(format!("{url}: it was answered {status}")),
    }
}

/// Whether what an address has comes from where it says: by TLS, or from this machine.
pub fn is_trustworthy(address: &str) -> bool {
    let Ok(address) = address.parse::<http::Uri>() else { return false };
    let local = |host: &str| {
        let host = host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    match address.scheme_str() {
        Some("https") => address.host().is_some_and(|host| !host.is_empty()),
        Some("http") => address.host().is_some_and(local),
        _ => false,
    }
}
