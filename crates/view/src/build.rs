//! Builds the view anew, beside the old one, and swaps it in.
//!
//! Why: docs/decisions/0024-the-log-is-read-ahead-of-the-view.md.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::error::ProjectorError;
use super::file;
use super::options::ProjectorOptions;
use super::projector::Projector;
use strandline_model::Offset;
use strandline_sqlite::{Role, Watermark, wal, wal_index};

/// A view on its way, beside the one that answers until this one takes its place.
///
/// It keeps its checkpoint like any view, so that a build that was interrupted is resumed.
#[derive(Debug)]
pub struct Build {
    directory: PathBuf,
    projector: Projector,
    resumed_at: Offset,
}

impl Build {
    /// Begins a build, or resumes one that was interrupted, if that was made from this log, by this program and by
    /// the same rules.
    ///
    /// # Errors
    /// When the log cannot be read or the new file cannot be written.
    pub fn open(directory: &Path, options: impl Into<ProjectorOptions>) -> Result<Self, ProjectorError> {
        let (beside, options) = (beside(directory), options.into());
        let projector = match resumed(directory, &beside, &options) {
            Some(projector) => projector,
            None => {
                remove(&beside)?;
                Projector::open_file(directory, &beside, Role::ViewBuilder, options)?
            }
        };
        let resumed_at = projector.checkpoint();
        Ok(Build { directory: directory.to_owned(), projector, resumed_at })
    }

    /// The last offset applied.
    pub fn checkpoint(&self) -> Offset {
        self.projector.checkpoint()
    }

    /// Its checkpoint when it was opened: zero unless it was resumed.
    pub fn resumed_at(&self) -> Offset {
        self.resumed_at
    }

    /// Takes the next changes of the log; false when all of them are applied.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written; it is then as before.
    pub fn step(&mut self) -> Result<bool, ProjectorError> {
        Ok(self.projector.step()?.is_some())
    }

    /// Puts it into the place of the old view, which nobody may write any longer. Who has the old one open still
    /// reads it; who opens the view meanwhile may find none.
    ///
    /// # Errors
    /// When a file cannot be moved.
    pub fn swap(self) -> Result<Offset, ProjectorError> {
        let checkpoint = self.checkpoint();
        self.projector.close()?;
        // The old file is removed with its WAL: a WAL left behind would be played into the new one.
        let path = file::path(&self.directory);
        remove(&path)?;
        fs::rename(beside(&self.directory), &path)?;
        fs::File::open(&self.directory)?.sync_all()?;
        Ok(checkpoint)
    }
}

/// Where a view is built.
fn beside(directory: &Path) -> PathBuf {
    directory.join("view.building.db")
}

/// What an earlier build left, if it can be gone on with: its checkpoint is a change of this log, and no other rules
/// judged any of it. What cannot be opened cannot be gone on with, for whatever reason.
fn resumed(directory: &Path, beside: &Path, options: &ProjectorOptions) -> Option<Projector> {
    if !file::is_current_file(beside) {
        return None;
    }
    let projector = Projector::open_file(directory, beside, Role::ViewBuilder, options.clone()).ok()?;
    let alike = projector.has_other_rules().is_ok_and(|others| !others);
    alike.then_some(projector)
}

/// Builds the view anew from the log, beside the old one, and swaps it in; `progress` follows the checkpoint.
///
/// Until the swap the old view stays as it was.
///
/// # Errors
/// When the log cannot be read or the new file cannot be written.
pub fn build(
    directory: &Path,
    options: impl Into<ProjectorOptions>,
    progress: &Watermark,
) -> Result<Offset, ProjectorError> {
    let mut build = Build::open(directory, options)?;
    progress.set(build.checkpoint());
    while build.step()? {
        progress.set(build.checkpoint());
    }
    build.swap()
}

/// Removes the view of a data directory that nobody writes, and what was being built of another: it is built anew.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_views(directory: &Path) -> io::Result<()> {
    remove(&file::path(directory))?;
    remove(&beside(directory))
}

/// Removes a database with the files SQLite keeps beside it.
fn remove(path: &Path) -> io::Result<()> {
    for file in [wal(path), wal_index(path), path.to_owned()] {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
