//! What can be wrong with a backup, each with what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use strandline_log::LogError;
use strandline_model::Offset;
use strandline_sqlite::LockError;

/// Why a backup was not made or not restored.
#[derive(Debug, Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("there is no log in {}", data.display())]
    NoLog {
        /// The data directory.
        data: PathBuf,
    },
    /// Something stands where the backup is to be.
    #[error("{} is there already", to.display())]
    Exists {
        /// The place.
        to: PathBuf,
    },
    /// The data directory to restore into holds something.
    #[error("{} holds {found} already", data.display())]
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
    #[error("{} is not as it was backed up: {why}", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// What is different.
        why: String,
    },
    /// The log in the backup ends elsewhere than its manifest says.
    #[error("the log in the backup ends at offset {found}, its manifest says {told}")]
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
            BackupError::NoLog { .. } => Some("name the directory that `serve` was started with"),
            BackupError::Exists { .. } => {
                Some("name a directory that is not there yet, such as one with the date")
            }
            BackupError::Occupied { .. } => {
                Some("restore into another directory, or give --force to move what is there aside")
            }
            BackupError::NoBackup { .. } => Some("name a directory that `strandline backup` has made"),
            BackupError::Altered { .. } | BackupError::OtherHead { .. } => {
                Some("nothing was restored; use another backup")
            }
            BackupError::Lock(LockError::Held { .. }) => {
                Some("stop the server that uses the directory, or wait for the other backup")
            }
            BackupError::Log(LogError::Damaged { .. } | LogError::Truncated { .. }) => Some(
                "the copy was not kept, and the log was not changed; `strandline doctor` tells more of it",
            ),
            BackupError::Log(error) if error.is_disk_full() => Some("make room where the backup is to be"),
            BackupError::Log(_) | BackupError::Lock(LockError::Io { .. }) | BackupError::Io { .. } => None,
        }
    }
}
