//! Copies of a data directory: made while a server writes, proved to be whole, and put back.
//!
//! A backup is a directory with the log, its head, the key that hides secrets, and a manifest with the digest of each.
//! The view is no part of it: it comes back from the log. A copy has another name until all of it is
//! verified, so that half a backup never looks like one, and neither does half a restored directory.

mod error;
mod files;
mod last;
mod manifest;
mod renew;
mod restore;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

pub use error::BackupError;
pub use last::LastBackup;
pub use manifest::Manifest;
pub use renew::{check, is_backup, renew};
pub use restore::{Restored, restore};

use self::error::Result;
use self::files::{KEY, LOG, io, place};
use strandline_model::Timestamp;
use strandline_sqlite::DirectoryLock;

/// Copies a data directory into `to`, which must not be there yet, and opens the copy to verify all of it; a server may
/// write meanwhile.
///
/// # Errors
/// When there is no log, the copy cannot be written, or is not whole.
pub fn backup(data: &Path, to: &Path, now: Timestamp) -> Result<Manifest> {
    if !data.join(LOG).exists() {
        return Err(BackupError::NoLog { data: data.to_owned() });
    }
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists { to: to.to_owned() });
    }
    let beside = beside(to)?;
    strandline_sqlite::create_directories(&place(to)).map_err(io(&place(to)))?;
    strandline_sqlite::enter_directory(&beside).map_err(io(&beside))?;
    let lock = DirectoryLock::acquire(&beside)?;
    for left in files::entries(&beside)? {
        files::remove(&left)?;
    }
    let whole = strandline_log::copy(data, &beside)?;
    let key = data.join(KEY);
    if key.exists() {
        files::copy(&key, &beside.join(KEY))?;
    }
    let manifest = Manifest::of(&beside, &whole, now)?;
    manifest.write(&beside.join(manifest::MANIFEST))?;
    drop(lock);
    files::remove(&beside.join("lock"))?;
    files::sync_directory(&beside)?;
    fs::rename(&beside, to).map_err(io(to))?;
    files::sync_directory(&place(to))?;
    Ok(manifest)
}

/// Where a backup is made until it is whole.
fn beside(to: &Path) -> Result<PathBuf> {
    let Some(name) = to.file_name() else { return Err(BackupError::Exists { to: to.to_owned() }) };
    let mut partial = name.to_owned();
    partial.push(".partial");
    Ok(to.with_file_name(partial))
}
