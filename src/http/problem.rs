//! A failure on its way to the caller, who gets it as RFC 9457 problem details.

use std::num::NonZeroU16;
use std::time::Duration;

use http::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Method, StatusCode};

use strandline_model::ResourceKey;
use strandline_protocol::{EarliestMoment, Gone};

pub use strandline_protocol::{BodyPosition, ParameterError, ProblemCode};

/// Seconds after which it is worth asking again while the view is being built, or much is under way.
const RETRY_AFTER_SECONDS: u16 = 5;

/// How a token may be presented; Basic stands first, because browsers ask for what it needs.
const CHALLENGE: &str = "Basic realm=\"Strandline\", Bearer";

/// The same where browsers can log in.
const BEARER_CHALLENGE: &str = "Bearer realm=\"Strandline\"";

/// A failure on its way to the caller.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What kind of failure.
    pub code: ProblemCode,
    /// This failure in a sentence, for people; never a cause that only the log should hold.
    pub detail: String,
    /// The parameters that are wrong.
    pub errors: Vec<ParameterError>,
    /// For an ambiguous uid, the resources to choose from.
    pub candidates: Vec<ResourceKey>,
    /// For a moment that was pruned, the earliest that can still be asked for.
    pub earliest: Option<Box<EarliestMoment>>,
    /// Where the body is wrong.
    pub place: Option<Box<BodyPosition>>,
    /// For what is gone, when it went.
    pub gone: Option<Box<Gone>>,
    /// Whether a browser can log in.
    pub can_log_in: bool,
    /// Methods that would be allowed.
    pub(super) allow: Option<Box<str>>,
    /// Seconds after which it is worth asking again.
    pub(super) retry_after: Option<NonZeroU16>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        let (errors, candidates) = (Vec::new(), Vec::new());
        Problem {
            code,
            detail: detail.into(),
            errors,
            candidates,
            earliest: None,
            place: None,
            gone: None,
            can_log_in: false,
            allow: None,
            retry_after: NonZeroU16::new(RETRY_AFTER_SECONDS).filter(|_| code.is_transient()),
        }
    }

    /// With after which time it is worth asking again.
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = u16::try_from(wait.as_secs()).unwrap_or(u16::MAX);
        Problem { retry_after: NonZeroU16::new(seconds).or(Some(NonZeroU16::MIN)), ..self }
    }

    /// With the place at which the body is wrong.
    pub fn at(self, place: BodyPosition) -> Self {
        Problem { place: Some(Box::new(place)), ..self }
    }

    /// A field of the body, such as `targets[0].namespace`, has a value that cannot be meant.
    pub fn field(field: &str, detail: impl std::fmt::Display) -> Self {
        let place = BodyPosition { field: field.to_owned(), line: None, column: None };
        Problem::new(ProblemCode::InvalidBody, format!("{field}: {detail}")).at(place)
    }

    /// Parameters are wrong.
    pub fn parameters(errors: Vec<ParameterError>) -> Self {
        let detail = match errors.as_slice() {
            [only] => format!("{}: {}", only.parameter, only.detail),
            several => format!("{} parameters are invalid", several.len()),
        };
        Problem { errors, ..Problem::new(ProblemCode::InvalidParameter, detail) }
    }

    /// Nothing is served at this address.
    pub fn no_such_address(path: &str) -> Self {
        Problem::new(ProblemCode::NotFound, format!("no route `{path}`"))
    }

    /// The address exists, the method does not.
    pub fn method_not_allowed(method: &Method, allow: &str) -> Self {
        let detail = format!("`{method}` is not allowed; use {allow}");
        Problem { allow: Some(allow.into()), ..Problem::new(ProblemCode::MethodNotAllowed, detail) }
    }

    /// Something broke that we did not foresee; `cause` goes to the log only.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "request failed");
        Problem::new(
            ProblemCode::Internal,
            "internal error; the server's log has the cause under the trace id",
        )
    }

    /// Headers that belong to it in whatever form it is shown.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let retry = self.retry_after.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds.get())));
        // Where people can log in, a browser is not to ask for a password.
        let challenge = if self.can_log_in { BEARER_CHALLENGE } else { CHALLENGE };
        let challenge = (self.status() == StatusCode::UNAUTHORIZED)
            .then(|| (WWW_AUTHENTICATE, HeaderValue::from_static(challenge)));
        let allow = self.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok());
        retry.into_iter().chain(challenge).chain(allow.map(|allow| (ALLOW, allow)))
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
