//! What is done to a damaged log when someone asks for it, and only then; the service must not be running.

use std::path::Path;

use super::error::ServiceError;
use strandline_clock::SystemClock;
use strandline_log::{AcceptedLoss, Salvaged, WrongTimes};
use strandline_sqlite::{DirectoryLock, KEY_FILE, redaction_key, write_key};

/// Goes on with a log that lost its end; none where nothing is lost.
///
/// # Errors
/// When another process holds the data directory, or the log is damaged in another way.
pub fn accept_loss(data: &Path) -> Result<Option<AcceptedLoss>, ServiceError> {
    if !data.is_dir() {
        return Err(ServiceError::NoLog { data: data.to_owned() });
    }
    let _lock = DirectoryLock::acquire(data)?;
    Ok(strandline_log::accept_loss(data, &SystemClock)?)
}

/// Marks the changes whose recorded times are wrong, as the objects themselves report; reports which.
///
/// # Errors
/// When another process holds the data directory, or the log is damaged.
pub fn mend_clock(data: &Path) -> Result<Vec<WrongTimes>, ServiceError> {
    if !data.join("log.db").exists() {
        return Err(ServiceError::NoLog { data: data.to_owned() });
    }
    let _lock = DirectoryLock::acquire(data)?;
    Ok(strandline_log::mend_clock(data, &SystemClock)?)
}

/// Copies what can be read of a log into a new one in another directory, with the key that hides secrets: under another key
/// every Secret would look changed. A server that only reads the old log need not be stopped.
///
/// # Errors
/// When the old log cannot be opened at all, or the new directory cannot be written or holds a log already.
pub fn salvage(
    data: &Path,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Salvaged, ServiceError> {
    if !data.join("log.db").exists() {
        return Err(ServiceError::NoLog { data: data.to_owned() });
    }
    let _lock = DirectoryLock::acquire(target)?;
    let salvaged = strandline_log::salvage(data, target, progress)?;
    if data.join(KEY_FILE).exists() && !target.join(KEY_FILE).exists() {
        let key = redaction_key(data).map_err(ServiceError::Key)?;
        write_key(target, &key).map_err(ServiceError::Key)?;
    }
    Ok(salvaged)
}

/// Refuses a data directory on a filesystem whose locks may not reach other machines, or through which a program passes
/// what is written: two servers could write one log.
///
/// # Errors
/// When it lies on such a filesystem.
pub fn check_filesystem(data: &Path) -> Result<(), ServiceError> {
    match strandline_sqlite::filesystem_of(data)
        .filter(|filesystem| strandline_sqlite::is_unreliable(filesystem))
    {
        Some(filesystem) => Err(ServiceError::Filesystem { data: data.to_owned(), filesystem }),
        None => Ok(()),
    }
}
