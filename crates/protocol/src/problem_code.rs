//! The codes of problems: each with its name, HTTP status and title.

/// The kinds of problem, each with a stable word that clients may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemCode {
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
    /// The cluster that is to say whose the token is did not.
    TokenReviewUnavailable,
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
    /// The answer has no media type that the caller accepts.
    NotAcceptable,
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
    /// A stream ends, and what it would have said is to be asked for anew.
    StreamReset,
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

impl ProblemCode {
    /// All of them.
    pub const ALL: [ProblemCode; 46] = [
        ProblemCode::InvalidParameter,
        ProblemCode::MalformedRequest,
        ProblemCode::InvalidBody,
        ProblemCode::FutureMoment,
        ProblemCode::BadPageToken,
        ProblemCode::Unauthorized,
        ProblemCode::TokenExpired,
        ProblemCode::TokenReviewUnavailable,
        ProblemCode::TooManyWrongTokens,
        ProblemCode::Forbidden,
        ProblemCode::CrossSite,
        ProblemCode::WritingNeedsToken,
        ProblemCode::NotFound,
        ProblemCode::OnsetUnknown,
        ProblemCode::AgentAccessDenied,
        ProblemCode::MethodNotAllowed,
        ProblemCode::NotAcceptable,
        ProblemCode::BodyTimeout,
        ProblemCode::UnknownAgent,
        ProblemCode::NotGranted,
        ProblemCode::DuplicateProject,
        ProblemCode::DuplicateEnvironment,
        ProblemCode::EnvironmentStopped,
        ProblemCode::DeploymentEnded,
        ProblemCode::DeclaredElsewhere,
        ProblemCode::StillWatched,
        ProblemCode::AmbiguousUid,
        ProblemCode::AmbiguousDeployment,
        ProblemCode::Compacted,
        ProblemCode::Lost,
        ProblemCode::StreamReset,
        ProblemCode::BodyTooLarge,
        ProblemCode::UriTooLong,
        ProblemCode::UnsupportedMediaType,
        ProblemCode::MisdirectedRequest,
        ProblemCode::Internal,
        ProblemCode::Storage,
        ProblemCode::QuestionTooLong,
        ProblemCode::ViewBuilding,
        ProblemCode::LogReadOnly,
        ProblemCode::WriteBusy,
        ProblemCode::QuotaExceeded,
        ProblemCode::WriteRateExceeded,
        ProblemCode::TooManyRequests,
        ProblemCode::Overloaded,
        ProblemCode::TooManyConnections,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        self.facts().0
    }

    /// Its HTTP status.
    pub const fn status(self) -> u16 {
        self.facts().1
    }

    /// What it is, in a few words that never change.
    pub const fn title(self) -> &'static str {
        self.facts().2
    }

    /// Whether the same request may succeed a little later.
    pub const fn is_transient(self) -> bool {
        matches!(self, ProblemCode::ViewBuilding | ProblemCode::WriteBusy | ProblemCode::WriteRateExceeded)
            || matches!(
                self,
                ProblemCode::TooManyRequests | ProblemCode::Overloaded | ProblemCode::TooManyConnections
            )
            || matches!(self, ProblemCode::TokenReviewUnavailable)
    }

    const fn facts(self) -> (&'static str, u16, &'static str) {
        match self {
            ProblemCode::InvalidParameter => ("invalid_parameter", 400, "Invalid parameter"),
            ProblemCode::MalformedRequest => ("malformed_request", 400, "Invalid URL"),
            ProblemCode::InvalidBody => ("invalid_body", 400, "Invalid body"),
            ProblemCode::FutureMoment => ("future_moment", 400, "The time is in the future"),
            ProblemCode::BadPageToken => ("bad_page_token", 400, "Invalid page token"),
            ProblemCode::Unauthorized => ("unauthorized", 401, "Token required"),
            ProblemCode::TokenExpired => ("token_expired", 401, "Token expired"),
            ProblemCode::TokenReviewUnavailable => {
                ("token_review_unavailable", 503, "The token cannot be reviewed at present")
            }
            ProblemCode::TooManyWrongTokens => ("too_many_wrong_tokens", 429, "Too many unknown tokens"),
            ProblemCode::Forbidden => ("forbidden", 403, "Forbidden for this token"),
            ProblemCode::CrossSite => ("cross_site", 403, "Cross-site request refused"),
            ProblemCode::WritingNeedsToken => ("writing_needs_token", 403, "Writing requires a token"),
            ProblemCode::NotFound => ("not_found", 404, "Not found"),
            ProblemCode::OnsetUnknown => ("onset_unknown", 404, "Start unknown"),
            ProblemCode::AgentAccessDenied => ("agent_access_denied", 403, "No access to the agent"),
            ProblemCode::MethodNotAllowed => ("method_not_allowed", 405, "Method not allowed"),
            ProblemCode::NotAcceptable => ("not_acceptable", 406, "No media type that is accepted"),
            ProblemCode::BodyTimeout => ("body_timeout", 408, "Request body timeout"),
            ProblemCode::UnknownAgent => ("unknown_agent", 422, "Unknown agent"),
            ProblemCode::NotGranted => ("not_granted", 403, "Not granted"),
            ProblemCode::DuplicateProject => ("duplicate_project", 409, "Project id already in use"),
            ProblemCode::DuplicateEnvironment => ("duplicate_environment", 409, "Environment already exists"),
            ProblemCode::EnvironmentStopped => ("environment_stopped", 409, "Environment is stopped"),
            ProblemCode::DeploymentEnded => ("deployment_ended", 409, "Deployment has finished"),
            ProblemCode::DeclaredElsewhere => ("declared_elsewhere", 409, "Declared elsewhere"),
            ProblemCode::StillWatched => ("still_watched", 409, "The kind is being watched"),
            ProblemCode::AmbiguousDeployment => ("ambiguous_deployment", 409, "Ambiguous deployment id"),
            ProblemCode::AmbiguousUid => ("ambiguous_uid", 409, "Ambiguous UID"),
            ProblemCode::Compacted => ("compacted", 410, "That time is older than the retention period"),
            ProblemCode::Lost => ("lost", 410, "Recorded data is lost"),
            ProblemCode::StreamReset => ("stream_reset", 410, "The stream ended; list again"),
            ProblemCode::BodyTooLarge => ("body_too_large", 413, "Body too large"),
            ProblemCode::UnsupportedMediaType => ("unsupported_media_type", 415, "Body is not JSON"),
            ProblemCode::UriTooLong => ("uri_too_long", 414, "URL too long"),
            ProblemCode::MisdirectedRequest => ("misdirected_request", 421, "Unknown host name"),
            ProblemCode::Internal => ("internal", 500, "Internal error"),
            ProblemCode::Storage => ("storage", 500, "Read failed"),
            ProblemCode::QuestionTooLong => ("question_too_long", 503, "Query timeout"),
            ProblemCode::ViewBuilding => ("view_building", 503, "View is being rebuilt"),
            ProblemCode::LogReadOnly => ("log_read_only", 503, "Log is damaged and read-only"),
            ProblemCode::WriteBusy => ("write_busy", 503, "Write queue is full"),
            ProblemCode::QuotaExceeded => ("quota_exceeded", 409, "Quota exceeded"),
            ProblemCode::WriteRateExceeded => ("write_rate_exceeded", 429, "Write rate limit exceeded"),
            ProblemCode::TooManyRequests => ("too_many_requests", 429, "Too many concurrent requests"),
            ProblemCode::Overloaded => ("overloaded", 503, "Server overloaded"),
            ProblemCode::TooManyConnections => ("too_many_connections", 503, "Too many connections"),
        }
    }
}
