//! Why a state is left before its end: one variant for each decision that follows.

use crate::request::Failure;
use strandline_log::AppendError;
use strandline_model::Timestamp;

/// Why a step could not be finished.
#[derive(Debug)]
pub(super) enum StepError {
    /// The cluster did not give what was asked for: back off, by the rules of [`decide`](crate::outcome::decide).
    Request(Failure),
    /// The log took nothing: begin another run, or end with the log.
    Append(AppendError),
    /// What is recorded is not what the cluster has: record the gap and list.
    Loss(Loss),
}

impl From<Failure> for StepError {
    fn from(failure: Failure) -> Self {
        StepError::Request(failure)
    }
}

impl From<AppendError> for StepError {
    fn from(error: AppendError) -> Self {
        StepError::Append(error)
    }
}

/// Changes may be missing that no event reported.
#[derive(Debug)]
pub(super) struct Loss {
    pub(super) since: Timestamp,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// Why a streaming list did not come to its end.
#[derive(Debug)]
pub(super) enum StreamError {
    /// The server does not support streaming lists: use pages from now on.
    Unsupported(String),
    /// It brought nothing of use, for which what is between us and the server may be at fault: use pages once.
    Unusable(String),
    /// As in any other step.
    Step(StepError),
}

impl From<StepError> for StreamError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Request(Failure::Rejected(message)) => StreamError::Unsupported(message),
            StepError::Request(Failure::Invalid(message)) => StreamError::Unusable(message),
            error => StreamError::Step(error),
        }
    }
}

impl From<Failure> for StreamError {
    fn from(failure: Failure) -> Self {
        StepError::from(failure).into()
    }
}
