//! The authorization code with PKCE, brought back to this machine by a browser on it (RFC 8252).
//!
//! Any process of this machine, and any page in the browser, can reach the address that waits here. Only who knows `state`, which went
//! to the provider alone, brings a code; and a code is worthless without the verifier, which stays here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use http::header::{CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

use super::{OidcError, Provider, encoded, is_word};
use crate::cli::contexts::OidcTokens;

/// How long somebody may take.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// How long a connection lasts.
const CONNECTION_LASTS: Duration = Duration::from_secs(10);

/// Connections at a time; browsers open some on speculation.
const CONNECTIONS: usize = 16;

const PATH: &str = "/callback";

/// A login that waits for the browser.
pub(in crate::cli) struct Callback {
    /// Where the browser goes.
    pub(in crate::cli) url: String,
    listener: TcpListener,
    redirect_uri: String,
    state: String,
    nonce: String,
    verifier: String,
}

type Brought = Result<String, OidcError>;

/// What is waited for: whoever brings it first.
struct Waiting {
    state: String,
    issuer: String,
    sender: Mutex<Option<oneshot::Sender<Brought>>>,
}

fn random() -> Result<String, OidcError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| OidcError::Wrong("this machine has no random numbers"))?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

impl Provider {
    /// Begins a login; `port` is that of the redirect URI, where it has to be a certain one.
    pub(in crate::cli) async fn callback(
        &self,
        scopes: &[String],
        port: Option<u16>,
    ) -> Result<Callback, OidcError> {
        let Some(endpoint) = &self.description.authorization_endpoint else {
            return Err(OidcError::Wrong("it has no login by browser"));
        };
        let unavailable = |error: std::io::Error| {
            let port = port.unwrap_or_default();
            OidcError::Unreachable(format!("cannot listen on 127.0.0.1:{port} for the browser: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(unavailable)?;
        let address = listener.local_addr().map_err(unavailable)?;
        let redirect_uri = format!("http://127.0.0.1:{}{PATH}", address.port());
        let (state, nonce, verifier) = (random()?, random()?, random()?);
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(verifier.as_bytes()));
        let query = encoded(&[
            ("response_type", "code"),
            ("client_id", self.client_id.as_str()),
            ("redirect_uri", redirect_uri.as_str()),
            ("scope", scopes.join(" ").as_str()),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ]);
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        let url = format!("{endpoint}{separator}{query}");
        Ok(Callback { url, listener, redirect_uri, state, nonce, verifier })
    }

    /// Waits until the browser comes back.
    pub(in crate::cli) async fn await_browser(&self, callback: Callback) -> Result<OidcTokens, OidcError> {
        let Callback { listener, redirect_uri, state, nonce, verifier, .. } = callback;
        let (sender, receiver) = oneshot::channel();
        let issuer = self.description.issuer.clone();
        let waiting = Arc::new(Waiting { state, issuer, sender: Mutex::new(Some(sender)) });
        let brought = tokio::select! {
            brought = receiver => brought.unwrap_or(Err(OidcError::Wrong("the browser was not waited for"))),
            () = serve(listener, waiting) => Err(OidcError::Wrong("the browser could not be waited for")),
            () = tokio::time::sleep(LONGEST) => Err(OidcError::Refused("expired".to_owned())),
        };
        let code = brought?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", verifier.as_str()),
        ];
        self.tokens(&fields, Some(&nonce)).await
    }
}

async fn serve(listener: TcpListener, waiting: Arc<Waiting>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let waiting = Arc::clone(&waiting);
        tokio::spawn(async move {
            let _permit = permit;
            let answer = service_fn(move |request: Request<Incoming>| {
                let answer = waiting.answer(request.method(), request.uri());
                std::future::ready(Ok::<_, std::convert::Infallible>(answer))
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            _ = tokio::time::timeout(CONNECTION_LASTS, connection).await;
        });
    }
}

impl Waiting {
    fn answer(&self, method: &Method, uri: &http::Uri) -> Response<Full<Bytes>> {
        if uri.path() != PATH || *method != Method::GET {
            return page(StatusCode::NOT_FOUND, "Nothing here.");
        }
        let field = |name: &str| {
            let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            let mut found = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
            let text = found.next()?.replace('+', " ");
            percent_decode_str(&text).decode_utf8().ok().map(|text| text.into_owned())
        };
        // How long this takes tells who guesses nothing that they could use in ten minutes.
        if field("state").is_none_or(|state| state != self.state)
            || field("iss").is_some_and(|issuer| issuer != self.issuer)
        {
            return page(StatusCode::BAD_REQUEST, "This is not the login that the command line waits for.");
        }
        let brought = match (field("code"), field("error")) {
            (Some(code), None) => Ok(code),
            (_, Some(word)) if is_word(&word) => Err(OidcError::Refused(word)),
            _ => Err(OidcError::Wrong("the browser brought no code")),
        };
        let text = match &brought {
            Ok(_) => "The login reached the command line. You can close this page.",
            Err(_) => "The login was refused. The command line says why.",
        };
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        _ = sender.map(|sender| sender.send(brought));
        page(StatusCode::OK, text)
    }
}

fn page(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Strandline</title><p>{text}</p></html>\n"
    );
    let mut response = Response::new(Full::from(html));
    *response.status_mut() = status;
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (REFERRER_POLICY, "no-referrer"),
        (CONNECTION, "close"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
