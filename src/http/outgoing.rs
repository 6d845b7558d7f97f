//! Requests that the server or the command line sends: whom they trust, and small documents of other servers.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Builder;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::proxy::Connector;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The largest document that is read.
const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How connections are encrypted: by the authorities that this machine trusts, and those of a file besides. They are read only
/// where an address asks for it.
///
/// # Errors
/// When the file cannot be used, or nobody is trusted.
pub fn tls(encrypted: bool, ca_file: Option<&Path>) -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let roots = if encrypted { authorities(ca_file)? } else { RootCertStore::empty() };
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn authorities(ca_file: Option<&Path>) -> Result<RootCertStore, Box<dyn Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(path) = ca_file {
        let wrong = |why: &dyn std::fmt::Display| format!("cannot read {}: {why}", path.display());
        let pem = std::fs::read(path).map_err(|error| wrong(&error))?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let found = found.map_err(|_| wrong(&"it is no PEM"))?;
        let (added, ignored) = roots.add_parsable_certificates(found);
        if added == 0 || ignored > 0 {
            return Err(wrong(&"it has no certificate, or one that cannot be read").into());
        }
    }
    if roots.is_empty() {
        let why = native.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(format!("cannot read the authorities that this machine trusts: {why}").into());
    }
    Ok(roots)
}

type HttpClient = Client<HttpsConnector<Connector>, Full<Bytes>>;

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

/// Fetches small documents of other servers.
#[derive(Clone)]
pub struct Documents(HttpClient);

/// The answer, a small document, by what this machine trusts.
///
/// # Errors
/// Why there is none.
pub async fn send(asked: OutgoingRequest) -> Result<(StatusCode, Bytes), String> {
    default_client()?.send(asked).await
}

/// Posts JSON; the answer counts only by its status.
///
/// # Errors
/// Why there is none.
pub async fn post_json(
    url: &str,
    headers: &[(HeaderName, HeaderValue)],
    body: Vec<u8>,
) -> Result<StatusCode, String> {
    let request = Request::post(url).header(CONTENT_TYPE, "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    answer(&default_client()?.0, url, request, body.into()).await.map(|(status, _)| status)
}

/// Who trusts what this machine trusts.
fn default_client() -> Result<&'static Documents, String> {
    static CLIENT: OnceLock<Result<Documents, String>> = OnceLock::new();
    CLIENT.get_or_init(|| Documents::new(true, None, Connector::direct())).as_ref().map_err(Clone::clone)
}

impl Documents {
    /// From servers that this machine trusts, or whose authority is in this file; `encrypted` where one is asked by https.
    ///
    /// # Errors
    /// When whom to trust cannot be read.
    pub fn new(encrypted: bool, ca_file: Option<&Path>, connector: Connector) -> Result<Self, String> {
        let tls = tls(encrypted, ca_file).map_err(|error| error.to_string())?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Documents(Client::builder(TokioExecutor::new()).build(connector)))
    }

    /// The answer, a small document. Redirects are not followed: what the configuration names is what is asked.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn send(&self, asked: OutgoingRequest) -> Result<(StatusCode, Bytes), String> {
        let OutgoingRequest { url, form } = asked;
        let request = match &form {
            Some(_) => Request::post(&url).header(CONTENT_TYPE, "application/x-www-form-urlencoded"),
            None => Request::get(&url),
        };
        answer(&self.0, &url, request, form.map_or_else(Bytes::new, Bytes::from)).await
    }
}

async fn answer(
    client: &HttpClient,
    url: &str,
    request: Builder,
    body: Bytes,
) -> Result<(StatusCode, Bytes), String> {
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
pub(super) fn root(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
