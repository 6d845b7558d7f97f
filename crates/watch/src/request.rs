//! Requests to a cluster: bounded in size and in silence, and failures by what to do about them.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;

use super::connect_error::{NoCredentials, chain};
use super::limits::Limits;

/// Why a request or a stream failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The cluster no longer has the changes we ask for (410).
    Gone,
    /// We may not see this (403).
    Forbidden(String),
    /// The cluster does not know us (401).
    Unauthorized(String),
    /// Our credentials for the cluster cannot be read, so that nothing is asked.
    Credentials(String),
    /// There is no such thing (404, 405).
    NotServed(String),
    /// The server is overloaded or fails; it may say after how long to retry.
    Busy {
        /// Its message.
        message: String,
        /// How long it asked us to wait.
        after: Option<Duration>,
    },
    /// There is no answer.
    Unreachable(String),
    /// The cluster does not take the question as it was put (400, 422).
    Rejected(String),
    /// There is an answer, and it makes no sense.
    Invalid(String),
    /// An answer, or a line of it, is larger than we take.
    TooLarge(String),
}

impl Failure {
    /// What an HTTP status or a Status object of a cluster means.
    pub(super) fn of_status(code: u16, message: String, after: Option<Duration>) -> Failure {
        match code {
            // The cluster is younger than our cursor: it was restored, or another one took its place.
            504 if message.contains("Too large resource version") => Failure::Gone,
            410 => Failure::Gone,
            401 => Failure::Unauthorized(message),
            403 => Failure::Forbidden(message),
            404 | 405 => Failure::NotServed(message),
            408 | 429 | 500.. => Failure::Busy { message, after },
            400 | 422 => Failure::Rejected(message),
            _ => Failure::Invalid(message),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Gone => f.write_str("the cluster no longer has the changes since our last one"),
            Failure::Forbidden(message)
            | Failure::Unauthorized(message)
            | Failure::Credentials(message)
            | Failure::NotServed(message)
            | Failure::Busy { message, .. }
            | Failure::Unreachable(message)
            | Failure::Rejected(message)
            | Failure::Invalid(message)
            | Failure::TooLarge(message) => f.write_str(message),
        }
    }
}

/// Answers are read in pieces.
pub(super) type Pieces = BoxStream<'static, Result<Bytes, String>>;

/// Sends a GET and returns the answer's body once its status is known to be good.
pub(super) async fn get(
    client: &kube::Client,
    path: &str,
    accept: &'static str,
    limits: &Limits,
) -> Result<Pieces, Failure> {
    get_with_head(client, path, accept, limits).await.map(|(_, body)| body)
}

/// As [`get`], with the headers of the answer.
pub(super) async fn get_with_head(
    client: &kube::Client,
    path: &str,
    accept: &'static str,
    limits: &Limits,
) -> Result<(HeaderMap, Pieces), Failure> {
    let request = Request::get(path)
        .header(header::ACCEPT, accept)
        // Newer servers compress watches line by line, which costs both sides more than it saves.
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(|error| Failure::Invalid(chain(&error)))?;
    exchange(client, request, limits).await
}

/// Sends JSON, and returns the answer's whole text, which has so many bytes at most.
pub(super) async fn post(
    client: &kube::Client,
    path: &str,
    json: Vec<u8>,
    most: usize,
    limits: &Limits,
) -> Result<String, Failure> {
    let request = Request::post(path)
        .header(header::ACCEPT, JSON)
        .header(header::ACCEPT_ENCODING, "identity")
        .header(header::CONTENT_TYPE, JSON)
        .body(Body::from(json))
        .map_err(|error| Failure::Invalid(chain(&error)))?;
    let (_, body) = exchange(client, request, limits).await?;
    collect(body, most, limits.idle).await
}

const JSON: &str = "application/json";

/// Sends a request, and returns the answer's headers and body once its status is known to be good.
async fn exchange(
    client: &kube::Client,
    request: Request<Body>,
    limits: &Limits,
) -> Result<(HeaderMap, Pieces), Failure> {
    let response = tokio::time::timeout(limits.response, client.send(request))
        .await
        .map_err(|_| Failure::Unreachable("no answer in time".to_owned()))?
        .map_err(|error| of_client(&error))?;
    limits.server_time.note(response.headers());
    let status = response.status();
    let content = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let json = content.is_none_or(|content| content.contains("json"));
    let after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let (head, body) = response.into_parts();
    let body: Pieces = body.into_data_stream().map(|piece| piece.map_err(|e| chain(&e))).boxed();
    let good = matches!(status, StatusCode::OK | StatusCode::CREATED);
    if good && json {
        return Ok((head.headers, body));
    }
    if good {
        // Proxies and login pages answer everything with success.
        return Err(Failure::Invalid("the answer is not JSON".to_owned()));
    }
    let text = collect(body, ERROR_BYTES, limits.idle).await.unwrap_or_default();
    Err(Failure::of_status(status.as_u16(), status_message(status, &text), after))
}

/// As much of an error's text as is read.
const ERROR_BYTES: usize = 64 << 10;

fn of_client(error: &kube::Error) -> Failure {
    match error {
        kube::Error::Auth(_) => Failure::Unauthorized(chain(error)),
        kube::Error::Service(cause) if cause.is::<NoCredentials>() => Failure::Credentials(cause.to_string()),
        // What went wrong on the way, without the name of the layer it went wrong in.
        kube::Error::Service(cause) => Failure::Unreachable(chain(cause.as_ref())),
        _ => Failure::Unreachable(chain(error)),
    }
}

/// The message of a Status object, or else the beginning of whatever was answered.
fn status_message(status: StatusCode, text: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Status {
        message: String,
    }
    let message = match serde_json::from_str::<Status>(text) {
        Ok(status) => status.message,
        Err(_) => text.trim().chars().take(200).collect(),
    };
    if message.is_empty() { status.to_string() } else { format!("{status}: {message}") }
}

/// Reads a whole answer.
pub(super) async fn collect(mut body: Pieces, most: usize, idle: Duration) -> Result<String, Failure> {
    let mut text = BytesMut::new();
    loop {
        let piece = tokio::time::timeout(idle, body.next())
            .await
            .map_err(|_| Failure::Unreachable("the answer stopped midway".to_owned()))?;
        let Some(piece) = piece else { break };
        let piece = piece.map_err(Failure::Unreachable)?;
        if text.len() + piece.len() > most {
            return Err(Failure::TooLarge(format!("an answer of more than {most} bytes")));
        }
        text.extend_from_slice(&piece);
    }
    String::from_utf8(text.into()).map_err(|_| Failure::Invalid("the answer is not UTF-8".to_owned()))
}

/// Reads a whole JSON document.
pub(super) async fn get_text(client: &kube::Client, path: &str, limits: &Limits) -> Result<String, Failure> {
    let body = get(client, path, JSON, limits).await?;
    collect(body, limits.page_bytes, limits.idle).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_apart() {
        let of = |code, message: &str| Failure::of_status(code, message.to_owned(), None);
        assert_eq!(of(410, ""), Failure::Gone);
        assert_eq!(of(504, "Timeout: Too large resource version: 9, current: 1"), Failure::Gone);
        assert!(matches!(of(504, ""), Failure::Busy { .. }));
        assert!(matches!(of(429, ""), Failure::Busy { .. }));
        assert!(matches!(of(400, ""), Failure::Rejected(_)));
        assert!(matches!(of(422, ""), Failure::Rejected(_)));
        assert!(matches!(of(409, ""), Failure::Invalid(_)));
        assert!(matches!(of(404, ""), Failure::NotServed(_)));
    }

    #[test]
    fn an_error_is_told_by_its_status_and_the_beginning_of_what_was_said() {
        let message = |text: &str| status_message(StatusCode::FORBIDDEN, text);
        assert_eq!(message(r#"{"kind":"Status","message":"not for you"}"#), "403 Forbidden: not for you");
        assert_eq!(message(" <html> "), "403 Forbidden: <html>");
        assert_eq!(message(""), "403 Forbidden");
        assert_eq!(message(&"ü".repeat(1000)).chars().count(), "403 Forbidden: ".len() + 200);
    }
}
