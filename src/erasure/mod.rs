//! Erases what was let in: from the log of a data directory or of a backup, and with it the view, which is built anew.

mod elsewhere;
mod error;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::backup;
use strandline_clock::Clock;
use strandline_log::{EraseStep, Erasing, Found};
use strandline_model::Uid;
use strandline_redact::Values;
use strandline_sqlite::{DirectoryLock, KEY_FILE};

pub use elsewhere::Elsewhere;
pub use error::ErasureError;

type Result<T> = std::result::Result<T, ErasureError>;

/// What is to be erased.
#[derive(Clone, Debug)]
pub struct Request {
    /// The values.
    pub values: Vec<String>,
    /// Only from the versions of this resource.
    pub uid: Option<Uid>,
    /// Who asks for it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Backups to be looked at, or directories of backups.
    pub backups: Vec<PathBuf>,
}

/// Where values were, and where they still are.
#[derive(Clone, Debug)]
pub struct Report {
    /// In the log.
    pub found: Found,
    /// In other files that were looked at.
    pub elsewhere: Vec<Elsewhere>,
}

/// Finds values, and changes nothing.
///
/// # Errors
/// When there is no log, or it cannot be read.
pub fn look(data: &Path, request: &Request, watch: &mut dyn FnMut(EraseStep)) -> Result<Report> {
    let values = values(data, request, strandline_sqlite::new_key)?;
    let found = strandline_log::find(data, &values, request.uid.as_ref(), watch)?;
    let found = found.ok_or_else(|| ErasureError::NoLog { data: data.to_owned() })?;
    let elsewhere = elsewhere::look(data, &values, &request.backups);
    Ok(Report { found, elsewhere })
}

/// Erases values from a data directory that no server uses, or from a backup; returns where they were, and where they
/// still are. The view is deleted and rebuilt at the next start.
///
/// # Errors
/// When there is no log, another process holds the directory, or the log is damaged or cannot be written. The record is
/// then as it was, or is brought to its end by whoever opens it next.
pub fn erase(
    data: &Path,
    request: &Request,
    clock: &dyn Clock,
    watch: &mut dyn FnMut(EraseStep),
) -> Result<Report> {
    if !data.join("log.db").exists() {
        return Err(ErasureError::NoLog { data: data.to_owned() });
    }
    let lock = DirectoryLock::acquire(data)?;
    let values = values(data, request, || strandline_sqlite::redaction_key(data))?;
    if values.are_in(request.reason.as_bytes()) || values.are_in(request.by.as_bytes()) {
        return Err(ErasureError::Quoted);
    }
    let is_backup = backup::is_backup(data);
    if is_backup {
        backup::check(data)?;
    }
    // Before the log, so that no view is left that holds what the log no longer holds.
    strandline_view::remove_views(data)
        .map_err(|source| ErasureError::Io { path: strandline_view::path(data), source })?;
    let uid = request.uid.as_ref();
    let erasing = Erasing { values: &values, uid, by: &request.by, reason: &request.reason };
    let found = strandline_log::erase(data, &erasing, clock, watch)?;
    if is_backup {
        backup::renew(data)?;
    }
    drop(lock);
    if is_backup {
        let path = data.join("lock");
        std::fs::remove_file(&path).map_err(|source| ErasureError::Io { path, source })?;
    }
    Ok(Report { found, elsewhere: elsewhere::look(data, &values, &request.backups) })
}

/// The values, with the key of the directory or, where it has none, with another one.
fn values(
    data: &Path,
    request: &Request,
    otherwise: impl FnOnce() -> std::io::Result<[u8; 32]>,
) -> Result<Values> {
    let path = data.join(KEY_FILE);
    let key = if path.exists() { strandline_sqlite::redaction_key(data) } else { otherwise() };
    let key = key.map_err(|source| ErasureError::Io { path, source })?;
    Ok(Values::new(&request.values, &key)?)
}
