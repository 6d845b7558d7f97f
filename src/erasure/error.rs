//! What can be wrong with erasing, each with what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::backup::BackupError;
use strandline_log::LogError;
use strandline_redact::ValueError;
use strandline_sqlite::LockError;

/// Why nothing was erased, or not all that belongs to it was done.
#[derive(Debug, Error)]
pub enum ErasureError {
    /// There is nothing to erase from.
    #[error("no log in {}", data.display())]
    NoLog {
        /// The directory.
        data: PathBuf,
    },
    /// The values cannot be looked for.
    #[error(transparent)]
    Values(#[from] ValueError),
    /// What the record is to say holds a value.
    #[error("the reason or author contains a value to be erased, and would be recorded")]
    Quoted,
    /// The directory is in use.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The backup is not the one that was made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A file cannot be read, written or removed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl ErasureError {
    /// Whether it was asked wrongly.
    pub fn is_usage(&self) -> bool {
        matches!(self, ErasureError::NoLog { .. } | ErasureError::Values(_) | ErasureError::Quoted)
    }

    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ErasureError::NoLog { .. } => Some("use the data directory of `serve`, or a backup"),
            ErasureError::Values(ValueError::Short(_)) => {
                Some("use a longer value with its context, such as `password=` with the value")
            }
            ErasureError::Values(_) => {
                Some("write one value per line, or use --whole-file for a value of several lines")
            }
            ErasureError::Quoted => Some("give a reason that does not quote it"),
            ErasureError::Lock(LockError::Held { .. }) => {
                Some("stop the server that uses the directory; it resumes when it is started again")
            }
            ErasureError::Log(LogError::Busy { .. }) => Some(
                "wait for the export or backup that reads it, and run the command again: the values are erased from the log, \
                 but may remain in free pages of its file",
            ),
            ErasureError::Log(LogError::Damaged { .. } | LogError::Truncated { .. }) => {
                Some("nothing was erased; run `strandline doctor --data DIR --full` to find the damage")
            }
            ErasureError::Log(error) if error.is_disk_full() => {
                Some("free disk space for another copy of the log, and run the command again")
            }
            ErasureError::Backup(error) => error.hint(),
            ErasureError::Lock(LockError::Io { .. }) | ErasureError::Log(_) | ErasureError::Io { .. } => None,
        }
    }
}
