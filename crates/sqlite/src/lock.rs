//! Keeps a second process from writing into the same data directory.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::failure::is_storage_full;
use super::private;

/// Locks a data directory for this process; released when dropped or when the process ends in any way.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

/// Why a data directory could not be taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process has locked it.
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
    /// Creates the directory where it is missing, takes it, and closes it to other users.
    ///
    /// # Errors
    /// When another process holds it or it cannot be written.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        let io = |source| LockError::Io { directory: directory.to_owned(), source };
        private::create_directories(directory).map_err(io)?;
        let mut file = private::open_file(&directory.join("lock")).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {
                let written = file
                    .set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| write!(file, "{}", std::process::id()));
                match written {
                    // The lock holds all the same; only whose it is cannot be read.
                    Err(error) if is_storage_full(&error) => {}
                    written => written.map_err(io)?,
                }
                private::tighten(directory);
                Ok(DirectoryLock { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                Err(LockError::Held { directory: directory.to_owned(), holder: holder(&mut file) })
            }
            Err(TryLockError::Error(source)) => Err(io(source)),
        }
    }

    /// Which process holds a directory, as it wrote itself down; changes nothing.
    ///
    /// # Errors
    /// When the lock file is there and cannot be read.
    pub fn holder(directory: &Path) -> std::io::Result<Option<String>> {
        let mut file = match File::open(directory.join("lock")) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // A shared lock shows the same, and of two who look at once neither takes the other for the holder.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether a process holds a directory. Where its lock cannot be read nothing is known, and one may.
    pub fn is_held(directory: &Path) -> bool {
        DirectoryLock::holder(directory).map_or(true, |holder| holder.is_some())
    }
}

fn holder(file: &mut File) -> String {
    let mut holder = String::new();
    let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
    if known { holder.trim().to_owned() } else { "(unknown)".to_owned() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_and_not_disturbed() {
        let dir = tempfile::tempdir().unwrap();
        let holder = || DirectoryLock::holder(dir.path()).unwrap();
        assert_eq!(holder(), None);
        assert!(!dir.path().join("lock").exists(), "looking makes no file");
        let lock = DirectoryLock::acquire(dir.path()).unwrap();
        assert_eq!(holder(), Some(std::process::id().to_string()));
        assert!(matches!(DirectoryLock::acquire(dir.path()), Err(LockError::Held { .. })));
        drop(lock);
        assert_eq!(holder(), None);
        assert!(DirectoryLock::acquire(dir.path()).is_ok());
    }
}
