//! Keeps a second process from writing into the same data directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Holds a data directory for this process; released when dropped or when the process ends in any way.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

/// Why a data directory could not be taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{} is in use by process {holder}", directory.display())]
    Held {
        /// The directory.
        directory: PathBuf,
        /// The other process, as it wrote itself down.
        holder: String,
    },
    /// The directory or its lock file cannot be created or opened.
    #[error("cannot use {} as data directory: {source}", directory.display())]
    Io {
        /// The directory.
        directory: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl DirectoryLock {
    /// Creates the directory where it is missing and takes it.
    ///
    /// # Errors
    /// When another process holds it or it cannot be written.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        let io = |source| LockError::Io { directory: directory.to_owned(), source };
        std::fs::create_dir_all(directory).map_err(io)?;
        let path = directory.join("lock");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0).map_err(io)?;
                file.rewind().map_err(io)?;
                write!(file, "{}", std::process::id()).map_err(io)?;
                Ok(DirectoryLock { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim().to_owned() } else { "(unknown)".to_owned() };
                Err(LockError::Held { directory: directory.to_owned(), holder })
            }
            Err(TryLockError::Error(source)) => Err(io(source)),
        }
    }
}
