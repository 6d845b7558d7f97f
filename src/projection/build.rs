//! Builds the view anew, beside the old one, and swaps it in.

use std::path::Path;
use std::{fs, io};

use super::file;
use super::projector::{Projector, ProjectorError};
use crate::model::Offset;
use crate::ruleset::RuleSet;
use crate::store::Watermark;

/// Builds the view anew from the log, beside the old one, and swaps it in; `progress` follows the checkpoint.
///
/// Until the swap the old view stays as it was, so that an interrupted build costs nothing but its time.
///
/// # Errors
/// When the log cannot be read or the new file cannot be written.
pub fn build(directory: &Path, rules: RuleSet, progress: &Watermark) -> Result<Offset, ProjectorError> {
    let beside = directory.join("view.building.db");
    remove(&beside)?;
    let mut projector = Projector::open_file(directory, &beside, rules)?;
    progress.set(Offset::ZERO);
    while projector.step()?.is_some() {
        progress.set(projector.checkpoint());
    }
    let checkpoint = projector.checkpoint();
    projector.close()?;
    // The old file goes with its WAL: a WAL left behind would be played into the new one.
    let path = file::path(directory);
    remove(&path)?;
    fs::rename(&beside, &path)?;
    fs::File::open(directory)?.sync_all()?;
    Ok(checkpoint)
}

/// Removes a database with the files SQLite keeps beside it.
fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
