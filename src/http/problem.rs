//! Errors as RFC 9457 problem details: the one place where a failure becomes an answer.

mod code;
mod query;

use std::num::NonZeroU16;
use std::time::Duration;

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{Method, StatusCode};
use serde::Serialize;

use super::request::Context;
use super::respond::Response;
use strandline_model::{Offset, ResourceKey, Timestamp};
use strandline_protocol::Gone;

pub use code::Code;

/// Seconds after which it is worth asking again while the view is being built, or much is under way.
const RETRY_AFTER_SECONDS: u16 = 5;

/// How a token may be presented; Basic stands first, because browsers ask for what it needs.
const CHALLENGE: &str = "Basic realm=\"Strandline\", Bearer";

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterError {
    /// Its name as given.
    pub parameter: String,
    /// What was given, and what would be valid.
    pub detail: String,
}

/// Where a body is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The path of the field, such as `targets[0].namespace`; empty for the whole body.
    pub field: String,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

/// A failure on its way to the caller.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What kind of failure.
    pub code: Code,
    /// This failure in a sentence, for people; never a cause that only the log should hold.
    pub detail: String,
    /// The parameters that are wrong.
    pub errors: Vec<ParameterError>,
    /// For an ambiguous uid, the resources to choose from.
    pub candidates: Vec<ResourceKey>,
    /// For a moment that was let go, the earliest that can still be asked for.
    pub earliest: Option<Box<Earliest>>,
    /// Where the body is wrong.
    pub place: Option<Box<Place>>,
    /// For what is gone, when it went.
    pub gone: Option<Box<Gone>>,
    /// Methods that would be allowed.
    allow: Option<Box<str>>,
    /// Seconds after which it is worth asking again.
    retry_after: Option<NonZeroU16>,
}

/// The earliest moment that can be asked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Earliest {
    /// Its offset.
    pub offset: Offset,
    /// When the change there was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
}

/// The body of a problem.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    instance: &'a str,
    trace_id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [ParameterError],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    candidates: &'a [ResourceKey],
    #[serde(skip_serializing_if = "Option::is_none")]
    earliest: Option<&'a Earliest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'a Gone>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let (errors, candidates) = (Vec::new(), Vec::new());
        Problem {
            code,
            detail: detail.into(),
            errors,
            candidates,
            earliest: None,
            place: None,
            gone: None,
            allow: None,
            retry_after: NonZeroU16::new(RETRY_AFTER_SECONDS).filter(|_| code.passes()),
        }
    }

    /// With after which time it is worth asking again.
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = u16::try_from(wait.as_secs()).unwrap_or(u16::MAX);
        Problem { retry_after: NonZeroU16::new(seconds).or(Some(NonZeroU16::MIN)), ..self }
    }

    /// With the place at which the body is wrong.
    pub fn at(self, place: Place) -> Self {
        Problem { place: Some(Box::new(place)), ..self }
    }

    /// A field of the body, such as `targets[0].namespace`, has a value that cannot be meant.
    pub fn field(field: &str, detail: impl std::fmt::Display) -> Self {
        let place = Place { field: field.to_owned(), line: None, column: None };
        Problem::new(Code::InvalidBody, format!("{field}: {detail}")).at(place)
    }

    /// Parameters are wrong.
    pub fn parameters(errors: Vec<ParameterError>) -> Self {
        let detail = match errors.as_slice() {
            [only] => format!("{}: {}", only.parameter, only.detail),
            several => format!("{} parameters are invalid", several.len()),
        };
        Problem { errors, ..Problem::new(Code::InvalidParameter, detail) }
    }

    /// Nothing is served at this address.
    pub fn no_such_address(path: &str) -> Self {
        Problem::new(Code::NotFound, format!("no route `{path}`"))
    }

    /// The address exists, the method does not.
    pub fn method_not_allowed(method: &Method, allow: &str) -> Self {
        let detail = format!("`{method}` is not allowed; use {allow}");
        Problem { allow: Some(allow.into()), ..Problem::new(Code::MethodNotAllowed, detail) }
    }

    /// Something broke that we did not foresee; `cause` goes to the log only.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "request failed");
        Problem::new(Code::Internal, "internal error; the server's log has the cause under the trace id")
    }

    /// Headers that belong to it in whatever form it is shown.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let retry = self.retry_after.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds.get())));
        let challenge = (self.code.status() == StatusCode::UNAUTHORIZED)
            .then(|| (WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE)));
        let allow = self.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok());
        retry.into_iter().chain(challenge).chain(allow.map(|allow| (ALLOW, allow)))
    }

    /// The answer, as `application/problem+json`.
    pub fn into_response(self, context: &Context) -> Response {
        let document = Document {
            kind: format!("urn:strandline:problem:{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: &self.detail,
            code: self.code.as_str(),
            instance: &context.path,
            trace_id: context.trace.as_str(),
            errors: &self.errors,
            candidates: &self.candidates,
            earliest: self.earliest.as_deref(),
            place: self.place.as_deref(),
            gone: self.gone.as_deref(),
        };
        // Serialising strings cannot fail; should it ever, an empty object still is valid JSON.
        let body = serde_json::to_vec(&document).unwrap_or_else(|_| b"{}".to_vec());
        let mut response = Response::new(body.into());
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(self.headers());
        response
    }
}

#[cfg(test)]
mod tests;
