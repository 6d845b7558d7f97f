//! Errors as RFC 9457 problem details: the one place where a failure becomes an answer.

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
use crate::model::{Offset, ResourceKey, Timestamp};
use crate::query::Gone;

/// Seconds after which it is worth asking again while the view is being built, or much is written.
const RETRY_AFTER_SECONDS: u16 = 5;

/// How a token may be presented; Basic stands first, because browsers ask for what it needs.
const CHALLENGE: &str = "Basic realm=\"Strandline\", Bearer";

/// The kinds of problem, each with a stable word that clients may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A parameter is unknown, given twice, or has a value that is not valid.
    InvalidParameter,
    /// The address cannot be read.
    MalformedRequest,
    /// The body breaks off, is no JSON, or is not what is taken here.
    InvalidBody,
    /// The moment lies in the future.
    FutureMoment,
    /// The page token is not valid here.
    BadPageToken,
    /// A token is needed, or the one that was sent is not known.
    Unauthorized,
    /// The token was good until some time ago.
    TokenExpired,
    /// Too many wrong tokens came from there.
    TooManyWrongTokens,
    /// The token does not allow this.
    Forbidden,
    /// A page of another site wants to change something.
    CrossSite,
    /// Writing needs a token where others than this machine can reach the server.
    WritingNeedsToken,
    /// There is no such thing, or the caller may not see it.
    NotFound,
    /// It is not known when that health began.
    OnsetUnknown,
    /// An agent that serves the environment does not let the caller in.
    AgentAccessDenied,
    /// The method is not one of this address.
    MethodNotAllowed,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The agent that a deployment asks for is not known.
    UnknownAgent,
    /// The caller may not name, number or look at what the body says.
    NotGranted,
    /// Another project has the number.
    DuplicateProject,
    /// Another environment has the name or the id.
    DuplicateEnvironment,
    /// The environment is stopped.
    EnvironmentStopped,
    /// The deployment has ended.
    DeploymentEnded,
    /// It is declared by the configuration or a folder.
    DeclaredElsewhere,
    /// It is watched, so that its end is recorded by itself.
    StillWatched,
    /// Several resources share the uid.
    AmbiguousUid,
    /// Several projects have a deployment of the number.
    AmbiguousDeployment,
    /// Retention has let go of the moment.
    Compacted,
    /// The log lost what was recorded.
    Lost,
    /// The body is too large.
    BodyTooLarge,
    /// The address is too long.
    UriTooLong,
    /// The body is of a type that is not taken.
    UnsupportedMediaType,
    /// The Host header names another server.
    MisdirectedRequest,
    /// We failed in a way we did not foresee.
    Internal,
    /// Reading the storage failed.
    Storage,
    /// A question read for as long as one may.
    QuestionTooLong,
    /// The view is being built.
    ViewBuilding,
    /// The log is damaged, so that nothing can be written.
    LogReadOnly,
    /// More is to be written than is taken at once.
    WriteBusy,
    /// As much is declared as may be.
    QuotaExceeded,
    /// The caller writes too often.
    WriteRateExceeded,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 40] = [
        Code::InvalidParameter,
        Code::MalformedRequest,
        Code::InvalidBody,
        Code::FutureMoment,
        Code::BadPageToken,
        Code::Unauthorized,
        Code::TokenExpired,
        Code::TooManyWrongTokens,
        Code::Forbidden,
        Code::CrossSite,
        Code::WritingNeedsToken,
        Code::NotFound,
        Code::OnsetUnknown,
        Code::AgentAccessDenied,
        Code::MethodNotAllowed,
        Code::BodyTimeout,
        Code::UnknownAgent,
        Code::NotGranted,
        Code::DuplicateProject,
        Code::DuplicateEnvironment,
        Code::EnvironmentStopped,
        Code::DeploymentEnded,
        Code::DeclaredElsewhere,
        Code::StillWatched,
        Code::AmbiguousUid,
        Code::AmbiguousDeployment,
        Code::Compacted,
        Code::Lost,
        Code::BodyTooLarge,
        Code::UriTooLong,
        Code::UnsupportedMediaType,
        Code::MisdirectedRequest,
        Code::Internal,
        Code::Storage,
        Code::QuestionTooLong,
        Code::ViewBuilding,
        Code::LogReadOnly,
        Code::WriteBusy,
        Code::QuotaExceeded,
        Code::WriteRateExceeded,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        self.facts().0
    }

    /// The status it is answered with.
    pub const fn status(self) -> StatusCode {
        self.facts().1
    }

    /// What it is, in a few words that never change.
    pub const fn title(self) -> &'static str {
        self.facts().2
    }

    /// Whether the same may be answered a little later.
    const fn passes(self) -> bool {
        matches!(self, Code::ViewBuilding | Code::WriteBusy | Code::WriteRateExceeded)
    }

    const fn facts(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Code::InvalidParameter => {
                ("invalid_parameter", StatusCode::BAD_REQUEST, "A parameter is not valid")
            }
            Code::MalformedRequest => {
                ("malformed_request", StatusCode::BAD_REQUEST, "The address cannot be read")
            }
            Code::InvalidBody => ("invalid_body", StatusCode::BAD_REQUEST, "The body is not valid"),
            Code::FutureMoment => ("future_moment", StatusCode::BAD_REQUEST, "The moment lies in the future"),
            Code::BadPageToken => ("bad_page_token", StatusCode::BAD_REQUEST, "The page token is not valid"),
            Code::Unauthorized => ("unauthorized", StatusCode::UNAUTHORIZED, "A token is needed"),
            Code::TokenExpired => ("token_expired", StatusCode::UNAUTHORIZED, "The token has expired"),
            Code::TooManyWrongTokens => {
                ("too_many_wrong_tokens", StatusCode::TOO_MANY_REQUESTS, "Too many wrong tokens")
            }
            Code::Forbidden => ("forbidden", StatusCode::FORBIDDEN, "Not allowed for this token"),
            Code::CrossSite => ("cross_site", StatusCode::FORBIDDEN, "Asked by a page of another site"),
            Code::WritingNeedsToken => {
                ("writing_needs_token", StatusCode::FORBIDDEN, "Writing needs a token")
            }
            Code::NotFound => ("not_found", StatusCode::NOT_FOUND, "Not found"),
            Code::OnsetUnknown => ("onset_unknown", StatusCode::NOT_FOUND, "It is not known when it began"),
            Code::AgentAccessDenied => {
                ("agent_access_denied", StatusCode::FORBIDDEN, "An agent does not let the caller in")
            }
            Code::MethodNotAllowed => {
                ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED, "Method not allowed")
            }
            Code::BodyTimeout => ("body_timeout", StatusCode::REQUEST_TIMEOUT, "The body did not arrive"),
            Code::UnknownAgent => {
                ("unknown_agent", StatusCode::UNPROCESSABLE_ENTITY, "The agent is not known")
            }
            Code::NotGranted => ("not_granted", StatusCode::FORBIDDEN, "Not granted"),
            Code::DuplicateProject => {
                ("duplicate_project", StatusCode::CONFLICT, "Another project has the number")
            }
            Code::DuplicateEnvironment => {
                ("duplicate_environment", StatusCode::CONFLICT, "The environment is there already")
            }
            Code::EnvironmentStopped => {
                ("environment_stopped", StatusCode::CONFLICT, "The environment is stopped")
            }
            Code::DeploymentEnded => ("deployment_ended", StatusCode::CONFLICT, "The deployment has ended"),
            Code::DeclaredElsewhere => ("declared_elsewhere", StatusCode::CONFLICT, "Declared elsewhere"),
            Code::StillWatched => ("still_watched", StatusCode::CONFLICT, "It is watched"),
            Code::AmbiguousDeployment => {
                ("ambiguous_deployment", StatusCode::CONFLICT, "Several projects have the number")
            }
            Code::AmbiguousUid => ("ambiguous_uid", StatusCode::CONFLICT, "Several resources share the uid"),
            Code::Compacted => ("compacted", StatusCode::GONE, "The moment was let go by retention"),
            Code::Lost => ("lost", StatusCode::GONE, "What was recorded is lost"),
            Code::BodyTooLarge => ("body_too_large", StatusCode::PAYLOAD_TOO_LARGE, "The body is too large"),
            Code::UnsupportedMediaType => {
                ("unsupported_media_type", StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is not JSON")
            }
            Code::UriTooLong => ("uri_too_long", StatusCode::URI_TOO_LONG, "The address is too long"),
            Code::MisdirectedRequest => {
                ("misdirected_request", StatusCode::MISDIRECTED_REQUEST, "Not served under this name")
            }
            Code::Internal => ("internal", StatusCode::INTERNAL_SERVER_ERROR, "Internal error"),
            Code::Storage => ("storage", StatusCode::INTERNAL_SERVER_ERROR, "Reading failed"),
            Code::QuestionTooLong => {
                ("question_too_long", StatusCode::SERVICE_UNAVAILABLE, "The question takes too long")
            }
            Code::ViewBuilding => {
                ("view_building", StatusCode::SERVICE_UNAVAILABLE, "The view is being built")
            }
            Code::LogReadOnly => {
                ("log_read_only", StatusCode::SERVICE_UNAVAILABLE, "The log is damaged and takes nothing")
            }
            Code::WriteBusy => {
                ("write_busy", StatusCode::SERVICE_UNAVAILABLE, "Too much is to be written at once")
            }
            Code::QuotaExceeded => {
                ("quota_exceeded", StatusCode::CONFLICT, "There is as much as there may be")
            }
            Code::WriteRateExceeded => {
                ("write_rate_exceeded", StatusCode::TOO_MANY_REQUESTS, "Written too often")
            }
        }
    }
}

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
            several => format!("{} parameters are not valid", several.len()),
        };
        Problem { errors, ..Problem::new(Code::InvalidParameter, detail) }
    }

    /// Nothing is served at this address.
    pub fn no_such_address(path: &str) -> Self {
        Problem::new(Code::NotFound, format!("nothing is served at `{path}`"))
    }

    /// The address exists, the method does not.
    pub fn method_not_allowed(method: &Method, allow: &str) -> Self {
        let detail = format!("`{method}` is not allowed here; allowed are {allow}");
        Problem { allow: Some(allow.into()), ..Problem::new(Code::MethodNotAllowed, detail) }
    }

    /// Something broke that we did not foresee; `cause` goes to the log only.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed inside");
        Problem::new(
            Code::Internal,
            "something went wrong; the server's log has the cause under the trace id",
        )
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
