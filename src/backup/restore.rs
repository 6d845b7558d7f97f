//! From a backup back to a data directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{BackupError, Result};
use super::files::{self, FILES, io};
use super::manifest::Manifest;
use strandline_model::Timestamp;
use strandline_sqlite::DirectoryLock;

/// Where a backup is copied to until all of it is there.
const RESTORING: &str = "restoring";

/// What is moved aside goes into a directory whose name begins with this.
const ASIDE: &str = "before-restore-";

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The manifest of the backup.
    pub manifest: Manifest,
    /// Where that was moved which stood there before.
    pub aside: Option<PathBuf>,
}

/// Verifies a backup and puts it into a data directory, which may be missing or empty; with `force` its content is
/// moved into a directory of its own.
///
/// All of the backup is copied before anything of the directory is moved, and the log comes last: a directory that was
/// only half restored is refused by whoever opens it.
///
/// # Errors
/// When the backup is not as it was made, or the data directory is in use, holds something, or cannot be written.
pub fn restore(from: &Path, data: &Path, force: bool, now: Timestamp) -> Result<Restored> {
    let manifest = Manifest::read(from)?;
    manifest.check_files(from)?;
    let whole = strandline_log::verify_whole(from)?;
    if !manifest.holds(&whole) {
        return Err(BackupError::OtherHead { found: whole.head, told: manifest.head });
    }
    let _lock = DirectoryLock::acquire(data)?;
    let staging = data.join(RESTORING);
    if staging.symlink_metadata().is_ok() {
        files::remove(&staging)?;
    }
    let held = held(data)?;
    if !held.is_empty() && !force {
        return Err(BackupError::Occupied { data: data.to_owned(), found: some_of(&held) });
    }
    strandline_sqlite::create_directory(&staging).map_err(io(&staging))?;
    let there: Vec<&str> = FILES.into_iter().filter(|name| from.join(name).exists()).collect();
    for name in &there {
        files::copy(&from.join(name), &staging.join(name))?;
    }
    manifest.check_files(&staging)?;
    let aside = move_aside(data, &held, now)?;
    for name in &there {
        let path = data.join(name);
        fs::rename(staging.join(name), &path).map_err(io(&path))?;
    }
    files::remove(&staging)?;
    files::sync_directory(data)?;
    Ok(Restored { manifest, aside })
}

/// What a data directory holds, but for what an earlier restore moved aside.
fn held(data: &Path) -> Result<Vec<PathBuf>> {
    let earlier = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(ASIDE.as_bytes()))
    };
    Ok(files::entries(data)?.into_iter().filter(|path| !earlier(path)).collect())
}

fn some_of(held: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<_> = held.iter().take(3).map(name).collect();
    let more = if held.len() > names.len() { " and more" } else { "" };
    format!("{}{more}", names.join(", "))
}

fn move_aside(data: &Path, held: &[PathBuf], now: Timestamp) -> Result<Option<PathBuf>> {
    if held.is_empty() {
        return Ok(None);
    }
    let aside = data.join(format!("{ASIDE}{}", now.to_string().replace(':', "-")));
    strandline_sqlite::create_directory(&aside).map_err(io(&aside))?;
    for path in held {
        let to = aside.join(path.file_name().unwrap_or_default());
        fs::rename(path, &to).map_err(io(&to))?;
    }
    files::sync_directory(&aside)?;
    Ok(Some(aside))
}
