//! Why there is no answer.

use thiserror::Error;

use crate::log::LogError;
use crate::model::{EnvironmentId, Offset, ResourceKey, Timestamp, Uid};
use crate::store::{PoolError, is_corrupt};

/// Where people read what to do when an agent does not let them in.
const ACCESS_HELP: &str =
    "https://gitlab.com/strandline/strandline/-/blob/main/docs/troubleshooting.md#no-access";

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum QueryError {
    /// No such thing at that moment, or the caller may not see it.
    #[error("there is no {what} `{id}` at that moment")]
    NotFound {
        /// `environment` or `resource`.
        what: &'static str,
        /// What was asked for.
        id: String,
    },
    /// An agent that serves the environment does not let the caller in; in the words of GitLab's blueprint (seed 002).
    #[error(
        "You don't have access to an agent that deployed to this environment. Please contact agent administrator if \
         you are allowed in \"user_access\" in agent config file. See {ACCESS_HELP}."
    )]
    AgentDenied {
        /// Which environment.
        environment: EnvironmentId,
    },
    /// Several resources share the uid.
    #[error("the uid `{uid}` belongs to {} resources; say which with `cluster=`", keys.len())]
    Ambiguous {
        /// What was asked for.
        uid: Uid,
        /// The resources.
        keys: Vec<ResourceKey>,
    },
    /// The moment lies after the newest change.
    #[error("offset {asked} lies in the future; the newest is {newest}")]
    FutureOffset {
        /// What was asked for.
        asked: Offset,
        /// The newest there is.
        newest: Offset,
    },
    /// The moment lies after now.
    #[error("{asked} lies in the future; it is {now}")]
    FutureTime {
        /// What was asked for.
        asked: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// The page token is not one of ours, or belongs to another list.
    #[error("the page token is not valid for this list: {0}")]
    BadToken(&'static str),
    /// The view is being built anew.
    #[error("the view is being built: {checkpoint} of {head} changes are done")]
    Building {
        /// Changes done.
        checkpoint: Offset,
        /// Changes to do.
        head: Offset,
    },
    /// The view is damaged; it is built anew by itself.
    #[error("the view is damaged: {0}")]
    Damaged(String),
    /// Storage failed.
    #[error("reading failed: {0}")]
    Storage(String),
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        if is_corrupt(&error) {
            QueryError::Damaged(error.to_string())
        } else {
            QueryError::Storage(error.to_string())
        }
    }
}

impl From<rusqlite::types::FromSqlError> for QueryError {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        QueryError::Damaged(error.to_string())
    }
}

impl From<LogError> for QueryError {
    fn from(error: LogError) -> Self {
        QueryError::Storage(error.to_string())
    }
}

impl From<PoolError> for QueryError {
    fn from(error: PoolError) -> Self {
        QueryError::Storage(error.to_string())
    }
}
