//! Files of a backup: which there are, and how they are copied so that they are really there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{BackupError, Result};
use strandline_sqlite::KEY_FILE;

/// The log.
pub(super) const LOG: &str = "log.db";
/// The head beside the log.
pub(super) const HEAD: &str = "log.head";
/// The key that hides secrets.
pub(super) const KEY: &str = KEY_FILE;
/// What a backup may hold besides its manifest. The log comes last: without it the others are no log.
pub(super) const FILES: [&str; 3] = [KEY, HEAD, LOG];

/// An error of the system with its file.
pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io { path, source }
}

/// Everything in a directory but the lock of who works there.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(io(directory))? {
        let path = entry.map_err(io(directory))?.path();
        if path.file_name().is_some_and(|name| name != "lock") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a file or a directory with all that is in it.
pub(super) fn remove(path: &Path) -> Result<()> {
    let directory = fs::symlink_metadata(path).map_err(io(path))?.is_dir();
    let removed = if directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(io(path))
}

/// Copies a file, and returns once the copy is on the disk.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(io(from))?;
    let mut target = strandline_sqlite::create_file(to).map_err(io(to))?;
    io::copy(&mut source, &mut target).map_err(io(to))?;
    target.sync_all().map_err(io(to))
}

/// Makes what was created, renamed or removed in a directory survive a power cut.
pub(super) fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|file| file.sync_all()).map_err(io(directory))
}

/// The directory that contains a path.
pub(super) fn place(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
