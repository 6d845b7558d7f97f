//! What can be wrong with erasing, each with what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::backup::BackupError;
use strandline_log::LogError;
use strandline_redact::ValueError;
use strandline_sqlite::LockError;

/// Why nothing was erased, or not all that goes with it was done.
#[derive(Debug, Error)]
pub enum ErasureError {
    /// There is nothing to erase from.
    #[error("there is no log in {}", data.display())]
    NoLog {
        /// The directory.
        data: PathBuf,
    },
    /// The values cannot be looked for.
    #[error(transparent)]
    Values(#[from] ValueError),
    /// What the record is to say holds a value.
    #[error("the reason, or who gives it, holds a value that is to be erased, and would be recorded")]
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
            ErasureError::NoLog { .. } => {
                Some("name the directory that `serve` was started with, or a backup")
            }
            ErasureError::Values(ValueError::Short(_)) => {
                Some("give more of what stands there, such as `password=` with the value")
            }
            ErasureError::Values(_) => {
                Some("give one value a line, or --whole-file for one value of several lines")
            }
            ErasureError::Quoted => Some("say why without quoting it"),
            ErasureError::Lock(LockError::Held { .. }) => Some(
                "stop the server that uses the directory; it goes on where it stood when it is started again",
            ),
            ErasureError::Log(LogError::Busy { .. }) => Some(
                "wait for the export or the backup that reads it, and ask again: the values are no longer in the record, \
                 and may still be in free pages of its file",
            ),
            ErasureError::Log(LogError::Damaged { .. } | LogError::Truncated { .. }) => {
                Some("nothing was erased; `strandline doctor --data DIR --full` tells what is damaged")
            }
            ErasureError::Log(error) if error.is_disk_full() => {
                Some("make room for another copy of the log beside it, and ask again")
            }
            ErasureError::Backup(error) => error.hint(),
            ErasureError::Lock(LockError::Io { .. }) | ErasureError::Log(_) | ErasureError::Io { .. } => None,
        }
    }
}
