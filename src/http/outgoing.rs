//! Requests that the server or the command line sends: whom they trust, and small documents of other servers.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Builder;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The largest document that is read.
const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How connections are encrypted: by what this machine trusts, which is read only where an address asks for it.
pub fn tls(encrypted: bool) -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = match encrypted {
        true => config.with_native_roots()?,
        false => config.with_root_certificates(RootCertStore::empty()),
    };
    Ok(config.with_no_client_auth())
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// What another server is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingRequest {
    /// The address.
    pub url: String,
    /// The fields of a form, encoded; none to read.
    pub form: Option<String>,
}

impl std::fmt::Debug for OutgoingRequest {
    /// A form holds secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingRequest").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The answer, a small document. Redirects are not followed: what the configuration names is what is asked.
///
/// # Errors
/// Why there is none.
pub async fn send(asked: OutgoingRequest) -> Result<(StatusCode, Bytes), String> {
    let OutgoingRequest { url, form } = asked;
    let request = match &form {
        Some(_) => Request::post(&url).header(CONTENT_TYPE, "application/x-www-form-urlencoded"),
        None => Request::get(&url),
    };
    answer(&url, request, form.map_or_else(Bytes::new, Bytes::from)).await
}

/// Posts JSON; the answer counts only by its status.
///
/// # Errors
/// Why there is none.
pub async fn post_json(url: &str, body: Vec<u8>) -> Result<StatusCode, String> {
    let request = Request::post(url).header(CONTENT_TYPE, "application/json");
    answer(url, request, body.into()).await.map(|(status, _)| status)
}

async fn answer(url: &str, request: Builder, body: Bytes) -> Result<(StatusCode, Bytes), String> {
    static CLIENT: OnceLock<Result<HttpClient, String>> = OnceLock::new();
    let client = CLIENT.get_or_init(|| {
        let tls = tls(true).map_err(|error| format!("cannot read the trusted authorities: {error}"))?;
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        Ok(Client::builder(TokioExecutor::new()).build(connector))
    });
    let client = client.as_ref().map_err(Clone::clone)?;
    let request = request
        .header(ACCEPT, "application/json")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let answered = async {
        let answer = client.request(request).await.map_err(|error| root(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), DOCUMENT_BYTES_MAX).collect().await;
        Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
    };
    let answered = tokio::time::timeout(TIMEOUT, answered).await;
    let answered = answered.unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())));
    answered.map_err(|error| format!("{url}: {error}"))
}

/// The first cause of an error.
fn root(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
