//! The codes of problems: what each is called, and the status it is answered with.

use http::StatusCode;

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
    /// The caller has as much under way as one may have.
    TooManyRequests,
    /// What is under way takes as much memory as it may.
    Overloaded,
    /// There is no place for the connection, unless it is for a probe.
    TooManyConnections,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 43] = [
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
        Code::TooManyRequests,
        Code::Overloaded,
        Code::TooManyConnections,
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
    pub(super) const fn passes(self) -> bool {
        matches!(self, Code::ViewBuilding | Code::WriteBusy | Code::WriteRateExceeded)
            || matches!(self, Code::TooManyRequests | Code::Overloaded | Code::TooManyConnections)
    }

    const fn facts(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Code::InvalidParameter => ("invalid_parameter", StatusCode::BAD_REQUEST, "Invalid parameter"),
            Code::MalformedRequest => ("malformed_request", StatusCode::BAD_REQUEST, "Invalid URL"),
            Code::InvalidBody => ("invalid_body", StatusCode::BAD_REQUEST, "Invalid body"),
            Code::FutureMoment => ("future_moment", StatusCode::BAD_REQUEST, "The time is in the future"),
            Code::BadPageToken => ("bad_page_token", StatusCode::BAD_REQUEST, "Invalid page token"),
            Code::Unauthorized => ("unauthorized", StatusCode::UNAUTHORIZED, "Token required"),
            Code::TokenExpired => ("token_expired", StatusCode::UNAUTHORIZED, "Token expired"),
            Code::TooManyWrongTokens => {
                ("too_many_wrong_tokens", StatusCode::TOO_MANY_REQUESTS, "Too many unknown tokens")
            }
            Code::Forbidden => ("forbidden", StatusCode::FORBIDDEN, "Forbidden for this token"),
            Code::CrossSite => ("cross_site", StatusCode::FORBIDDEN, "Cross-site request refused"),
            Code::WritingNeedsToken => {
                ("writing_needs_token", StatusCode::FORBIDDEN, "Writing requires a token")
            }
            Code::NotFound => ("not_found", StatusCode::NOT_FOUND, "Not found"),
            Code::OnsetUnknown => ("onset_unknown", StatusCode::NOT_FOUND, "Start unknown"),
            Code::AgentAccessDenied => {
                ("agent_access_denied", StatusCode::FORBIDDEN, "No access to the agent")
            }
            Code::MethodNotAllowed => {
                ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED, "Method not allowed")
            }
            Code::BodyTimeout => ("body_timeout", StatusCode::REQUEST_TIMEOUT, "Request body timeout"),
            Code::UnknownAgent => ("unknown_agent", StatusCode::UNPROCESSABLE_ENTITY, "Unknown agent"),
            Code::NotGranted => ("not_granted", StatusCode::FORBIDDEN, "Not granted"),
            Code::DuplicateProject => {
                ("duplicate_project", StatusCode::CONFLICT, "Project id already in use")
            }
            Code::DuplicateEnvironment => {
                ("duplicate_environment", StatusCode::CONFLICT, "Environment already exists")
            }
            Code::EnvironmentStopped => {
                ("environment_stopped", StatusCode::CONFLICT, "Environment is stopped")
            }
            Code::DeploymentEnded => ("deployment_ended", StatusCode::CONFLICT, "Deployment has finished"),
            Code::DeclaredElsewhere => ("declared_elsewhere", StatusCode::CONFLICT, "Declared elsewhere"),
            Code::StillWatched => ("still_watched", StatusCode::CONFLICT, "The kind is being watched"),
            Code::AmbiguousDeployment => {
                ("ambiguous_deployment", StatusCode::CONFLICT, "Ambiguous deployment id")
            }
            Code::AmbiguousUid => ("ambiguous_uid", StatusCode::CONFLICT, "Ambiguous UID"),
            Code::Compacted => {
                ("compacted", StatusCode::GONE, "That time is older than the retention period")
            }
            Code::Lost => ("lost", StatusCode::GONE, "Recorded data is lost"),
            Code::BodyTooLarge => ("body_too_large", StatusCode::PAYLOAD_TOO_LARGE, "Body too large"),
            Code::UnsupportedMediaType => {
                ("unsupported_media_type", StatusCode::UNSUPPORTED_MEDIA_TYPE, "Body is not JSON")
            }
            Code::UriTooLong => ("uri_too_long", StatusCode::URI_TOO_LONG, "URL too long"),
            Code::MisdirectedRequest => {
                ("misdirected_request", StatusCode::MISDIRECTED_REQUEST, "Unknown host name")
            }
            Code::Internal => ("internal", StatusCode::INTERNAL_SERVER_ERROR, "Internal error"),
            Code::Storage => ("storage", StatusCode::INTERNAL_SERVER_ERROR, "Read failed"),
            Code::QuestionTooLong => ("question_too_long", StatusCode::SERVICE_UNAVAILABLE, "Query timeout"),
            Code::ViewBuilding => ("view_building", StatusCode::SERVICE_UNAVAILABLE, "View is being rebuilt"),
            Code::LogReadOnly => {
                ("log_read_only", StatusCode::SERVICE_UNAVAILABLE, "Log is damaged and read-only")
            }
            Code::WriteBusy => ("write_busy", StatusCode::SERVICE_UNAVAILABLE, "Write queue is full"),
            Code::QuotaExceeded => ("quota_exceeded", StatusCode::CONFLICT, "Quota exceeded"),
            Code::WriteRateExceeded => {
                ("write_rate_exceeded", StatusCode::TOO_MANY_REQUESTS, "Write rate limit exceeded")
            }
            Code::TooManyRequests => {
                ("too_many_requests", StatusCode::TOO_MANY_REQUESTS, "Too many concurrent requests")
            }
            Code::Overloaded => ("overloaded", StatusCode::SERVICE_UNAVAILABLE, "Server overloaded"),
            Code::TooManyConnections => {
                ("too_many_connections", StatusCode::SERVICE_UNAVAILABLE, "Too many connections")
            }
        }
    }
}
