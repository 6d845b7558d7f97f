//! Logins of the command line at an OpenID provider, as a public client: nothing here is a secret but the tokens that come of it.

mod browser;
mod device;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use futures_util::FutureExt;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::args::TokenText;
use super::contexts::OidcTokens;
use crate::http::auth::{Fetch, is_trustworthy};
use crate::http::outgoing::{Documents, OutgoingRequest};
use crate::http::proxy::Connector;
use strandline_model::Timestamp;
use strandline_syntax::percent_encode;

/// Where a provider describes itself (OpenID Connect Discovery).
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Why a login does not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OidcError {
    /// The provider could not be asked.
    Unreachable(String),
    /// It refuses, by this standard word.
    Refused(String),
    /// What it answers is not to be used.
    Wrong(&'static str),
}

/// What a provider says of itself.
#[derive(Clone, Debug, Deserialize)]
struct Description {
    issuer: String,
    token_endpoint: String,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
}

/// A provider, and what the command line is called there.
#[derive(Clone)]
pub(super) struct Provider {
    client_id: String,
    description: Description,
    fetch: Fetch,
}

/// The tokens of an answer.
#[derive(Deserialize)]
struct Answered {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// What is read of an ID token. It came from the provider itself, over a connection that was verified, so its signature says nothing
/// more (OpenID Connect Core, 3.1.3.7); the server verifies it anyway.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: serde_json::Value,
    sub: String,
    exp: f64,
    nonce: Option<String>,
}

impl Provider {
    /// The provider as it describes itself now.
    pub(super) async fn discover(
        issuer: &str,
        client_id: &str,
        ca_file: Option<PathBuf>,
    ) -> Result<Self, OidcError> {
        let documents =
            Documents::new(issuer.starts_with("https:"), ca_file.as_deref(), Connector::by_environment());
        let documents = documents.map_err(OidcError::Unreachable)?;
        let fetch: Fetch = Arc::new(move |request| {
            let documents = documents.clone();
            async move { documents.send(request).await }.boxed()
        });
        Provider::discover_by(issuer, client_id, fetch).await
    }

    /// The same, asked in this way.
    async fn discover_by(issuer: &str, client_id: &str, fetch: Fetch) -> Result<Self, OidcError> {
        if !is_trustworthy(issuer) {
            return Err(OidcError::Wrong("the server names a provider whose address is not https"));
        }
        let url = format!("{}{DISCOVERY}", issuer.trim_end_matches('/'));
        let (status, body) = asked(&fetch, OutgoingRequest { url: url.clone(), form: None }).await?;
        if status != StatusCode::OK {
            return Err(OidcError::Unreachable(format!("{url} was answered {status}")));
        }
        let description: Description =
            serde_json::from_slice(&body).map_err(|_| OidcError::Wrong("its description cannot be read"))?;
        if description.issuer != issuer {
            return Err(OidcError::Wrong("its description is that of another provider"));
        }
        let Description { token_endpoint, authorization_endpoint, .. } = &description;
        let others = [
            authorization_endpoint,
            &description.device_authorization_endpoint,
            &description.revocation_endpoint,
        ];
        if !others.into_iter().flatten().chain([token_endpoint]).all(|address| is_trustworthy(address)) {
            return Err(OidcError::Wrong("its description names an address that is not https"));
        }
        Ok(Provider { client_id: client_id.to_owned(), description, fetch })
    }

    /// New tokens of the same person.
    pub(super) async fn refresh(
        &self,
        before: &OidcTokens,
        refresh: &TokenText,
    ) -> Result<OidcTokens, OidcError> {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
        let mut tokens = self.tokens(&fields, None).await?;
        let subject = |tokens: &OidcTokens| claims(tokens.id_token.as_str()).map(|claims| claims.sub);
        if subject(before) != subject(&tokens) {
            return Err(OidcError::Wrong("the provider renewed it for somebody else"));
        }
        // The one from before goes on where no other is given.
        tokens.refresh_token.get_or_insert_with(|| refresh.clone());
        Ok(tokens)
    }

    /// Makes a login worthless; whether the provider can do that (RFC 7009).
    pub(super) async fn revoke(&self, tokens: &OidcTokens) -> Result<bool, OidcError> {
        let (Some(endpoint), Some(refresh)) = (&self.description.revocation_endpoint, &tokens.refresh_token)
        else {
            return Ok(false);
        };
        let fields = [("token", refresh.as_str()), ("token_type_hint", "refresh_token")];
        match self.form(endpoint, &fields).await? {
            (status, _) if status.is_success() => Ok(true),
            (status, body) => Err(refusal(status, &body)),
        }
    }

    /// The tokens that a grant gives; `nonce` is what the ID token has to have.
    async fn tokens(&self, fields: &[(&str, &str)], nonce: Option<&str>) -> Result<OidcTokens, OidcError> {
        let answered: Answered = self.document(&self.description.token_endpoint, fields).await?;
        let Some(id_token) = answered.id_token else {
            return Err(OidcError::Wrong("there is no ID token in its answer"));
        };
        let claims = claims(&id_token).ok_or(OidcError::Wrong("its ID token cannot be read"))?;
        let is_ours = match &claims.aud {
            serde_json::Value::String(one) => *one == self.client_id,
            serde_json::Value::Array(all) => all.iter().any(|one| one == self.client_id.as_str()),
            _ => false,
        };
        if claims.iss != self.description.issuer || !is_ours {
            return Err(OidcError::Wrong("its ID token is for another client"));
        }
        if nonce.is_some() && nonce != claims.nonce.as_deref() {
            return Err(OidcError::Wrong("its ID token is that of another login"));
        }
        let is_time = claims.exp.is_finite() && (0.0..1e11).contains(&claims.exp);
        let token = |text: String| text.parse().map_err(|_| OidcError::Wrong("its tokens cannot be sent"));
        Ok(OidcTokens {
            issuer: self.description.issuer.clone(),
            client_id: self.client_id.clone(),
            id_token: token(id_token)?,
            expires: Timestamp::from_micros(if is_time { (claims.exp * 1e6) as i64 } else { 0 }),
            refresh_token: answered.refresh_token.map(token).transpose()?,
        })
    }

    async fn document<T: DeserializeOwned>(
        &self,
        endpoint: &str,
        fields: &[(&str, &str)],
    ) -> Result<T, OidcError> {
        let (status, body) = self.form(endpoint, fields).await?;
        if status != StatusCode::OK {
            return Err(refusal(status, &body));
        }
        serde_json::from_slice(&body).map_err(|_| OidcError::Wrong("its answer cannot be read"))
    }

    async fn form(&self, endpoint: &str, fields: &[(&str, &str)]) -> Result<(StatusCode, Bytes), OidcError> {
        let fields = [fields, &[("client_id", &self.client_id)]].concat();
        let request = OutgoingRequest { url: endpoint.to_owned(), form: Some(encoded(&fields)) };
        asked(&self.fetch, request).await
    }
}

async fn asked(fetch: &Fetch, request: OutgoingRequest) -> Result<(StatusCode, Bytes), OidcError> {
    fetch(request).await.map_err(OidcError::Unreachable)
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{name}={}", percent_encode(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

/// What a refusal says.
fn refusal(status: StatusCode, body: &[u8]) -> OidcError {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
    }
    let refusal = serde_json::from_slice::<Refusal>(body).ok().filter(|_| status.is_client_error());
    match refusal.map(|refusal| refusal.error).filter(|word| is_word(word)) {
        Some(word) => OidcError::Refused(word),
        None => OidcError::Unreachable(format!("the provider answered {status}")),
    }
}

/// Whether a text is an error code of OAuth, which may be shown.
fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// The claims of an ID token, unverified.
fn claims(token: &str) -> Option<Claims> {
    let payload = token.split('.').nth(1)?;
    serde_json::from_slice(&BASE64URL_NOPAD.decode(payload.as_bytes()).ok()?).ok()
}
