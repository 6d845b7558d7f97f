//! A backup from which something is erased: before it, proof that it is what was backed up; after it, a new manifest.

use std::fs;
use std::path::Path;

use super::error::{BackupError, Result};
use super::files::{self, io};
use super::manifest::{MANIFEST, Manifest};
use strandline_log::LogReader;
use strandline_model::Change;

/// Whether a directory is a backup.
pub fn is_backup(directory: &Path) -> bool {
    directory.join(MANIFEST).exists()
}

/// Verifies the log of a backup: it is the one that was backed up, or continues it with erasures alone, as one does
/// whose erasing was broken off before the manifest was written.
///
/// # Errors
/// When it is no backup, or holds another log.
pub fn check(from: &Path) -> Result<Manifest> {
    let manifest = Manifest::read(from)?;
    let whole = strandline_log::verify_whole(from)?;
    let mut log = LogReader::inspect(from)?;
    let mut at = manifest.head;
    let mut same = whole.head >= at && manifest.is_continued_by(&log)?;
    while same && at < whole.head {
        let records = log.after(at, 100)?;
        let Some(last) = records.last() else { break };
        at = last.offset;
        same = records.iter().all(|record| matches!(record.change, Change::Erased(_)));
    }
    match same {
        true => Ok(manifest),
        false => Err(BackupError::OtherHead { found: whole.head, told: manifest.head }),
    }
}

/// Writes the manifest of a backup from which something was erased; it was made when it was made.
///
/// # Errors
/// When the log is not whole, or the manifest cannot be written.
pub fn renew(directory: &Path) -> Result<Manifest> {
    let before = Manifest::read(directory)?;
    let whole = strandline_log::verify_whole(directory)?;
    let manifest = Manifest::of(directory, &whole, before.made_at)?;
    let partial = directory.join(format!("{MANIFEST}.partial"));
    if partial.exists() {
        files::remove(&partial)?;
    }
    manifest.write(&partial)?;
    let path = directory.join(MANIFEST);
    fs::rename(&partial, &path).map_err(io(&path))?;
    files::sync_directory(directory)?;
    Ok(manifest)
}
