//! What can be wrong with a log.

use std::path::PathBuf;

use thiserror::Error;

use crate::delta::DeltaError;
use strandline_model::Offset;
use strandline_sqlite::{Displaced, OpenError};

/// Why the log cannot be opened or read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log was written by a newer program.
    #[error("{} has schema {found}; this program supports {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// The log's record of its own schema cannot be trusted.
    #[error("{}: {what}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file as a whole is not as it was written.
    #[error("{} is damaged: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Changes are damaged or missing.
    #[error("the log is damaged at offset {offset}: {what}")]
    Damaged {
        /// The first offset that cannot be trusted.
        offset: Offset,
        /// What is wrong.
        what: String,
    },
    /// Retention has pruned the change.
    #[error("offset {offset} is older than the retention period; the oldest available is {compacted}")]
    Compacted {
        /// What was asked for.
        offset: Offset,
        /// The oldest offset that can be asked for.
        compacted: Offset,
    },
    /// The newest changes, which were acknowledged, are gone.
    #[error("the log ends at offset {found}, but offset {recorded} was acknowledged")]
    Truncated {
        /// The newest offset there is.
        found: Offset,
        /// The newest offset that was acknowledged.
        recorded: Offset,
    },
    /// A file of the log was removed or replaced while it was written, so that nothing is recorded.
    #[error("{0}: later records are missing")]
    Displaced(Displaced),
    /// A copy of the log cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// There is a log where another is to be made.
    #[error("{} already contains a log", directory.display())]
    Taken {
        /// The directory.
        directory: PathBuf,
    },
    /// What is to be imported does not make sense to the log.
    #[error("it cannot be imported: {0}")]
    Import(String),
    /// What is to be recorded cannot be written as JSON, or not be read again.
    #[error("it cannot be recorded: {0}")]
    NoJson(String),
    /// Another process reads the log, so that what is no longer in it cannot be taken off the disk.
    #[error("{} is being read", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Deciding on a change of the catalog took longer than it may.
    #[error("the decision timed out")]
    TooLong,
    /// The writer cannot wait.
    #[error("the log's writer cannot receive requests: {0}")]
    Thread(std::io::Error),
    /// SQLite failed.
    #[error("reading or writing the log failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A body cannot be packed or unpacked.
    #[error(transparent)]
    Body(#[from] DeltaError),
}

const DAMAGED: &str = "nothing was changed; run `strandline doctor --data DIR --full` to find the damage; restore log.db, \
    its -wal and log.head together from a backup, or salvage readable records with `strandline doctor --data DIR --salvage NEW`";

impl LogError {
    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            LogError::Newer { .. } => Some(
                "run the version that wrote it or a newer one; to stay at this version, restore a backup from before the upgrade",
            ),
            LogError::Truncated { .. } => Some(
                "nothing was changed; restore log.db, its -wal and log.head together from a backup, or continue without \
                 the lost records with `strandline doctor --data DIR --accept-loss`",
            ),
            LogError::Open(_)
            | LogError::Schema { .. }
            | LogError::Damaged { .. }
            | LogError::File { .. } => Some(DAMAGED),
            LogError::Displaced(_) => Some(Displaced::ADVICE),
            LogError::Busy { .. } => {
                Some("wait for the export or backup that reads it, and run the command again")
            }
            LogError::Taken { .. } => Some("choose a directory without a log"),
            LogError::Sqlite(_) if self.is_damage() => Some(DAMAGED),
            LogError::Copy { .. }
            | LogError::Thread(_)
            | LogError::TooLong
            | LogError::Import(_)
            | LogError::NoJson(_)
            | LogError::Sqlite(_)
            | LogError::Body(_)
            | LogError::Compacted { .. } => None,
        }
    }

    /// Whether the log itself is not as it was written, so that nothing more may be built on it.
    pub fn is_damage(&self) -> bool {
        match self {
            LogError::Damaged { .. } | LogError::Truncated { .. } | LogError::File { .. } => true,
            LogError::Sqlite(error) | LogError::Open(OpenError::Sqlite { source: error, .. }) => {
                strandline_sqlite::is_corrupt(error)
            }
            LogError::Open(OpenError::Foreign { .. })
            | LogError::Newer { .. }
            | LogError::Schema { .. }
            | LogError::Displaced(_)
            | LogError::Copy { .. }
            | LogError::Compacted { .. }
            | LogError::Taken { .. }
            | LogError::Import(_)
            | LogError::NoJson(_)
            | LogError::Busy { .. }
            | LogError::Thread(_)
            | LogError::TooLong
            | LogError::Body(_) => false,
        }
    }

    /// The same in words of ours alone, for those who read no log of the program: SQLite's say nothing to them.
    pub fn told(&self) -> String {
        match self {
            LogError::Sqlite(_) if self.is_damage() => "a page of the log cannot be read".to_owned(),
            LogError::Sqlite(_) => {
                "reading or writing the log failed; the server's log has the cause".to_owned()
            }
            LogError::Open(OpenError::Sqlite { path, .. }) => format!("{} cannot be opened", path.display()),
            LogError::Body(_) => "a recorded body cannot be packed or read".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether there is no room left, which can pass.
    pub fn is_disk_full(&self) -> bool {
        match self {
            LogError::Sqlite(error) => strandline_sqlite::is_disk_full(error),
            LogError::Open(error) => error.is_disk_full(),
            _ => false,
        }
    }
}
