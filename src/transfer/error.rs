//! What can be wrong with what is to be exported or imported.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use strandline_log::LogError;
use strandline_model::{Offset, Timestamp};
use strandline_sqlite::LockError;

pub(super) type Result<T> = std::result::Result<T, TransferError>;

/// Why nothing was exported or imported.
#[derive(Debug, Error)]
pub enum TransferError {
    /// There is nothing to export.
    #[error("no log in {}", data.display())]
    NoLog {
        /// The data directory.
        data: PathBuf,
    },
    /// The target of the export exists.
    #[error("{} already exists", to.display())]
    Exists {
        /// The file.
        to: PathBuf,
    },
    /// The view, which has the members of environments, is behind the log.
    #[error("cannot determine the resources of `{environment}`: {why}")]
    NoMembers {
        /// The environment.
        environment: String,
        /// Why.
        why: String,
    },
    /// A file is not what it should be.
    #[error("{}: line {line}, byte {byte}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Where that line begins, in the unpacked text.
        byte: u64,
        /// What is wrong.
        why: String,
    },
    /// What is to be imported is older than what is recorded.
    #[error(
        "{} starts at {first}, before the end of the log in the data directory at {newest} (offset {head})",
        path.display()
    )]
    NotOlder {
        /// The file.
        path: PathBuf,
        /// When its first change was observed.
        first: Timestamp,
        /// When the newest recorded change was observed.
        newest: Timestamp,
        /// The newest offset.
        head: Offset,
    },
    /// Two files overlap in time.
    #[error("{} starts at {first}, before the end of {} at {last}", later.display(), earlier.display())]
    Overlap {
        /// The file that begins first.
        earlier: PathBuf,
        /// When its last change was observed.
        last: Timestamp,
        /// The file that begins in it.
        later: PathBuf,
        /// When it begins.
        first: Timestamp,
    },
    /// A file changed while it was read.
    #[error("{} changed while it was read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The data directory is in use.
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

impl TransferError {
    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            TransferError::NoLog { .. } => Some("use the data directory of `serve`"),
            TransferError::Exists { .. } => Some("use a file name that does not exist"),
            TransferError::NoMembers { .. } => {
                Some("let the server catch up, or run `strandline rebuild` first")
            }
            TransferError::Wrong { .. } => Some("nothing was imported"),
            TransferError::NotOlder { .. } => Some(
                "changes can only be appended; to combine both, export the log, import the older history into an empty \
                 directory, then import that export",
            ),
            TransferError::Overlap { .. } => {
                Some("files that are imported together must not overlap in time; nothing was imported")
            }
            TransferError::Changed { .. } => {
                Some("nothing was imported; try again when the file no longer changes")
            }
            TransferError::Lock(LockError::Held { .. }) => {
                Some("stop the server that uses the directory first")
            }
            TransferError::Log(error) if error.is_disk_full() => {
                Some("nothing was imported; an import needs twice the size of its changes in free disk space")
            }
            TransferError::Log(error @ LogError::Newer { .. }) => error.hint(),
            TransferError::Log(_) | TransferError::Lock(LockError::Io { .. }) | TransferError::Io { .. } => {
                None
            }
        }
    }
}

/// An error of the system with its file.
pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> TransferError {
    let path = path.to_owned();
    move |source| TransferError::Io { path, source }
}
