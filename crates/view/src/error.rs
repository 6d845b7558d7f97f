//! Why the projection stopped.

use thiserror::Error;

use strandline_log::LogError;
use strandline_model::Offset;
use strandline_sqlite::{Displaced, OpenError, column, is_corrupt};

/// Why the projection stopped.
#[derive(Debug, Error)]
pub enum ProjectorError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The view cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The view cannot be written.
    #[error("the view cannot be written: {0}")]
    View(#[from] rusqlite::Error),
    /// The thread that reads the log cannot be started.
    #[error("no thread can be started to read the log: {0}")]
    Thread(std::io::Error),
    /// The view was removed or replaced while it was written.
    #[error(transparent)]
    Displaced(#[from] Displaced),
    /// A newly built view cannot be put into place.
    #[error("the view cannot be put into place: {0}")]
    Place(#[from] std::io::Error),
    /// The view was made from another log: its last change is not in this one.
    #[error("the view ends at offset {checkpoint} of another log")]
    Foreign {
        /// Where the view is.
        checkpoint: Offset,
    },
    /// Retention has pruned changes that are not in the view yet.
    #[error("the view ends at offset {checkpoint}, and retention pruned the changes after it up to {swept}")]
    Outrun {
        /// Where the view is.
        checkpoint: Offset,
        /// Up to where the log holds only what is kept.
        swept: Offset,
    },
}

impl ProjectorError {
    /// Whether building the view anew can help.
    pub fn is_mended_by_rebuild(&self) -> bool {
        match self {
            ProjectorError::View(error) | ProjectorError::Open(OpenError::Sqlite { source: error, .. }) => {
                is_corrupt(error) || column::unknown(error).is_some()
            }
            ProjectorError::Open(OpenError::Foreign { .. })
            | ProjectorError::Foreign { .. }
            | ProjectorError::Displaced(_)
            | ProjectorError::Outrun { .. } => true,
            ProjectorError::Log(_) | ProjectorError::Thread(_) | ProjectorError::Place(_) => false,
        }
    }

    /// Whether there is no room left, which can pass.
    pub fn is_disk_full(&self) -> bool {
        match self {
            ProjectorError::View(error) => strandline_sqlite::is_disk_full(error),
            ProjectorError::Open(error) => error.is_disk_full(),
            ProjectorError::Log(error) => error.is_disk_full(),
            ProjectorError::Place(error) => strandline_sqlite::is_storage_full(error),
            _ => false,
        }
    }
}
