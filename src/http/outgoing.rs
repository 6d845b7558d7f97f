//! Requests that the server or the command line sends: whom they trust, and small documents of other servers.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
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

type HttpClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// A small document. Redirects are not followed: what the configuration names is what is asked.
///
/// # Errors
/// Why there is none, without anything of the answer.
pub async fn get(address: String) -> Result<Bytes, String> {
    static CLIENT: OnceLock<Result<HttpClient, String>> = OnceLock::new();
    let client = CLIENT.get_or_init(|| {
        let tls = tls(true).map_err(|error| format!("cannot read the trusted authorities: {error}"))?;
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        Ok(Client::builder(TokioExecutor::new()).build(connector))
    });
    let client = client.as_ref().map_err(Clone::clone)?;
    let request = Request::get(&address).header(http::header::ACCEPT, "application/json").body(Empty::new());
    let request = request.map_err(|error| error.to_string())?;
    let answered = async {
        let answer = client.request(request).await.map_err(|error| root(&error))?;
        if answer.status() != StatusCode::OK {
            return Err(format!("it was answered {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), DOCUMENT_BYTES_MAX).collect().await;
        Ok(body.map_err(|error| error.to_string())?.to_bytes())
    };
    let answered = tokio::time::timeout(TIMEOUT, answered).await;
    answered
        .unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
        .map_err(|error| format!("{address}: {error}"))
}

/// The first cause of an error.
fn root(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
