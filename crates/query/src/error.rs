//! Why there is no answer.

use thiserror::Error;

use strandline_log::{LogError, LogReader};
use strandline_model::{DeploymentId, EnvironmentId, Health, Offset, ResourceKey, Timestamp, Uid};
use strandline_protocol::Gone;
use strandline_sqlite::{PoolError, column, is_corrupt, is_interrupted};

/// Where people read what to do when an agent does not let them in: a page of this server.
const ACCESS_HELP: &str = "/help/troubleshooting#no-access";

/// Of a view that holds something in another form than it was written in.
const UNREADABLE: &str = "a value has an unexpected format";

/// Gone after an offset; when that was is for the log to tell.
pub(super) fn gone_after(last_offset: Offset) -> Gone {
    Gone { at: None, last_offset }
}

/// With the time of the change with which it went.
pub(super) fn dated(gone: Gone, log: &LogReader) -> std::result::Result<Gone, LogError> {
    Ok(Gone { at: log.observed_at(gone.last_offset.next())?, ..gone })
}

/// How to ask for what is gone.
fn told(gone: Option<&Gone>) -> String {
    let Some(Gone { at, last_offset }) = gone else { return String::new() };
    let until = at.map(|at| format!(" until {at}")).unwrap_or_default();
    format!("; it existed{until}: use at={last_offset} for its last state")
}

/// How to write Unix seconds, where an offset is as large as those are.
fn unix(offset: Offset) -> String {
    if offset.get() < 1_000_000_000 { String::new() } else { format!("; write Unix seconds as @{offset}") }
}

/// An answer, or why there is none.
pub type Result<T> = std::result::Result<T, QueryError>;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum QueryError {
    /// No such thing at that moment, or the caller may not see it.
    #[error(
        "no {what} `{id}`{}{}{}",
        moment.as_ref().map(|moment| format!(" at {moment}")).unwrap_or_default(),
        told(gone.as_ref()),
        near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    )]
    NotFound {
        /// `environment` or `resource`.
        what: &'static str,
        /// What was asked for.
        id: String,
        /// Where it was there before, as far as the caller saw it: when it went.
        gone: Option<Gone>,
        /// The moment that was asked for, where one was.
        moment: Option<String>,
        /// What may have been meant.
        near: Option<String>,
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
    /// A path looks at too much of an object.
    #[error("`{field}` matches too much of an object; use a parent field")]
    CostlyField {
        /// As it was asked for.
        field: String,
    },
    /// A question names too many kinds.
    #[error("`kind` names {count} kinds; name at most {most}, or leave it out")]
    TooManyKinds {
        /// How many it names.
        count: usize,
        /// How many it may.
        most: usize,
    },
    /// Several resources share the uid.
    #[error("the UID `{uid}` belongs to {} resources; choose one with `cluster=`", keys.len())]
    Ambiguous {
        /// What was asked for.
        uid: Uid,
        /// The resources.
        keys: Vec<ResourceKey>,
    },
    /// Several projects have a deployment of the number.
    #[error("the projects {} have a deployment {id}; choose one with `project=`", projects.join(", "))]
    AmbiguousDeployment {
        /// The number.
        id: DeploymentId,
        /// The projects, as far as the caller sees them.
        projects: Vec<String>,
    },
    /// The moment lies after the newest change.
    #[error("offset {asked} is in the future; the newest is {newest}{}", unix(*asked))]
    FutureOffset {
        /// What was asked for.
        asked: Offset,
        /// The newest there is.
        newest: Offset,
    },
    /// The moment lies after now.
    #[error("{asked} is in the future; the current time is {now}")]
    FutureTime {
        /// What was asked for.
        asked: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// Retention has let go of the moment.
    #[error(
        "that time is older than the retention period; the earliest is offset {earliest}{}",
        time.map(|time| format!(" of {time}")).unwrap_or_default()
    )]
    Compacted {
        /// The oldest offset there is.
        earliest: Offset,
        /// When the change there was observed.
        time: Option<Timestamp>,
    },
    /// One of these, of a moment that another parameter than `at` gives.
    #[error("{parameter}: {error}")]
    GivenBy {
        /// Which parameter.
        parameter: &'static str,
        /// What is wrong with the moment.
        error: Box<QueryError>,
    },
    /// The earlier of two moments lies after the later.
    #[error("`from` (offset {from}) is later than offset {to}; swap them")]
    Backwards {
        /// The one that should be earlier.
        from: Offset,
        /// The one that should be later.
        to: Offset,
    },
    /// It is not known when that health began.
    #[error("the start of {health} is unknown: {why}")]
    OnsetUnknown {
        /// Which health.
        health: Health,
        /// Why that is not known.
        why: String,
    },
    /// The page token is not one of ours, or belongs to another list.
    #[error("invalid page token for this list: {0}")]
    BadToken(&'static str),
    /// The view is being built anew.
    #[error("the view is being rebuilt: {checkpoint} of {head} changes")]
    Building {
        /// Changes done.
        checkpoint: Offset,
        /// Changes to do.
        head: Offset,
    },
    /// The view is damaged; it is built anew by itself.
    #[error("the view is damaged: {0}")]
    Damaged(String),
    /// It read for as long as a question may.
    #[error("the query timed out; add a filter, or use a smaller page or a shorter period")]
    TooLong,
    /// What was recorded there is lost, and the view does not hold it.
    #[error("offset {offset} is lost: the log ends at offset {newest}; restore a backup to read it")]
    Lost {
        /// What is not there any more.
        offset: Offset,
        /// The last offset of the log.
        newest: Offset,
    },
    /// A change in the log cannot be read.
    #[error("reading failed: the log is damaged at offset {offset}: {what}")]
    LogDamaged {
        /// The change.
        offset: Offset,
        /// What is wrong with it.
        what: String,
    },
    /// Storage failed.
    #[error("reading failed: {0}")]
    Storage(String),
}

impl QueryError {
    /// There is no such thing, and as far as the caller sees there never was.
    pub(super) fn not_found(what: &'static str, id: impl ToString) -> Self {
        QueryError::gone(what, id, None)
    }

    /// There is no such thing any more, or as far as the caller sees there never was.
    pub(super) fn gone(what: &'static str, id: impl ToString, gone: Option<Gone>) -> Self {
        QueryError::NotFound { what, id: id.to_string(), gone, moment: None, near: None }
    }

    /// The same where it is a moment that is wrong, with the parameter that gives it.
    pub(super) fn given_by(self, parameter: &'static str) -> Self {
        match self {
            QueryError::FutureOffset { .. }
            | QueryError::FutureTime { .. }
            | QueryError::Compacted { .. } => QueryError::GivenBy { parameter, error: Box::new(self) },
            other => other,
        }
    }

    /// With the moment that was asked for, as people read it.
    pub(super) fn asked_at(self, asked: Option<String>) -> Self {
        let QueryError::NotFound { what, id, gone, near, moment: _ } = self else { return self };
        QueryError::NotFound { what, id, gone, moment: asked, near }
    }

    /// With the time at which something went, where that is the reason.
    pub(super) fn dated(self, log: &LogReader) -> Self {
        let QueryError::NotFound { what, id, gone: Some(gone), moment, near } = self else { return self };
        match dated(gone, log) {
            Ok(gone) => QueryError::NotFound { what, id, gone: Some(gone), moment, near },
            Err(error) => error.into(),
        }
    }

    /// That what was recorded is lost, where it was recorded behind the end that the log has now.
    pub(super) fn or_lost(self, log: &LogReader) -> Self {
        match (&self, log.head()) {
            (QueryError::LogDamaged { offset, .. }, Ok(newest)) if *offset > newest => {
                QueryError::Lost { offset: *offset, newest }
            }
            _ => self,
        }
    }
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        if is_interrupted(&error) {
            QueryError::TooLong
        } else if let Some(unknown) = column::unknown(&error) {
            QueryError::Damaged(unknown.to_string())
        } else if is_corrupt(&error) {
            tracing::error!(%error, "the view is damaged");
            QueryError::Damaged("a page of it cannot be read".to_owned())
        } else if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) {
            tracing::error!(%error, "the view is damaged");
            QueryError::Damaged(UNREADABLE.to_owned())
        } else {
            QueryError::Storage(error.to_string())
        }
    }
}

impl From<rusqlite::types::FromSqlError> for QueryError {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        tracing::error!(%error, "the view is damaged");
        QueryError::Damaged(UNREADABLE.to_owned())
    }
}

impl From<LogError> for QueryError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Compacted { compacted, .. } => {
                QueryError::Compacted { earliest: compacted, time: None }
            }
            LogError::Damaged { offset, what } => QueryError::LogDamaged { offset, what },
            LogError::Sqlite(error) if is_interrupted(&error) => QueryError::TooLong,
            error => QueryError::Storage(error.to_string()),
        }
    }
}

impl From<PoolError> for QueryError {
    fn from(error: PoolError) -> Self {
        QueryError::Storage(error.to_string())
    }
}
