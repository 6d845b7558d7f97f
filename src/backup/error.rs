//! What can be wrong with a backup, each with what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use strandline_log::LogError;
use strandline_model::Offset;
use strandline_sqlite::LockError;

pub(super) type Result<T> = std::result::Result<T, BackupError>;

/// Why a backup was not made or not restored.
#[derive(Debug, Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("no log in {}", data.display())]
    NoLog {
        /// The data directory.
        data: PathBuf,
    },
    /// The target of the backup exists.
    #[error("{} already exists", to.display())]
    Exists {
        /// The place.
        to: PathBuf,
    },
    /// The data directory to restore into holds something.
    #[error("{} already contains {found}", data.display())]
    Occupied {
        /// The data directory.
        data: PathBuf,
        /// Some of what it holds.
        found: String,
    },
    /// The directory is no backup.
    #[error("{} is not a backup: {why}", from.display())]
    NoBackup {
        /// The directory.
        from: PathBuf,
        /// What is missing.
        why: String,
    },
    /// A file is not the one that was backed up.
    #[error("{} does not match its backup manifest: {why}", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// What is different.
        why: String,
    },
    /// The log in the backup does not end where its manifest records.
    #[error("the log in the backup ends at offset {found}, but its manifest says {told}")]
    OtherHead {
        /// Where it ends.
        found: Offset,
        /// Where it should.
        told: Offset,
    },
    /// The copy of the log cannot be made or is not whole.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A directory is in use.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl BackupError {
    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            BackupError::NoLog { .. } => Some("use the data directory of `serve`"),
            BackupError::Exists { .. } => {
                Some("use a directory that does not exist, such as one with the date")
            }
            BackupError::Occupied { .. } => {
                Some("restore into another directory, or use --force to move the existing data aside")
            }
            BackupError::NoBackup { .. } => Some("use a directory written by `strandline backup`"),
            BackupError::Altered { .. } | BackupError::OtherHead { .. } => {
                Some("nothing was restored; use another backup")
            }
            BackupError::Lock(LockError::Held { .. }) => {
                Some("stop the server that uses the directory, or wait for the other backup")
            }
            BackupError::Log(LogError::Damaged { .. } | LogError::Truncated { .. }) => {
                Some("the copy was deleted, and the log was not changed; run `strandline doctor` for details")
            }
            BackupError::Log(error @ LogError::Newer { .. }) => error.hint(),
            BackupError::Log(error) if error.is_disk_full() => Some("free disk space for the backup"),
            BackupError::Log(_) | BackupError::Lock(LockError::Io { .. }) | BackupError::Io { .. } => None,
        }
    }
}
