//! The log's file: where it is and how to know it.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::error::LogError;
use strandline_sqlite::{Identities, Role};

/// Marks the file as a log of Strandline.
pub(super) const APPLICATION_ID: i32 = 0x7374_6c67;

/// The log's file in a data directory.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("log.db")
}

/// What has to stay in place while the log is written: the folder, the files that hold what is acknowledged, and the
/// lock that keeps others out.
pub(super) fn identities(directory: &Path) -> Identities {
    let names = ["log.db", "log.db-wal", "lock"].map(|name| directory.join(name));
    Identities::of(std::iter::once(directory.to_owned()).chain(names))
}

/// Opens the log for reading.
pub(super) fn open_reader(directory: &Path) -> Result<Connection, LogError> {
    Ok(strandline_sqlite::open(&path(directory), Role::Reader, APPLICATION_ID)?)
}

/// Opens the log for reading, on a full disk as well as long as nobody writes it.
pub(super) fn open_at_rest(directory: &Path) -> Result<Connection, LogError> {
    Ok(strandline_sqlite::open_at_rest(&path(directory), APPLICATION_ID)?)
}

/// Opens the log to look at it from outside.
pub(super) fn open_inspector(directory: &Path) -> Result<Connection, LogError> {
    Ok(strandline_sqlite::open(&path(directory), Role::Inspector, APPLICATION_ID)?)
}

/// The same by a process that never writes it.
pub(super) fn open_outsider(directory: &Path) -> Result<Connection, LogError> {
    Ok(strandline_sqlite::open(&path(directory), Role::Outsider, APPLICATION_ID)?)
}

/// Whether a change that was broken off waits to be rolled back, as only happens before the log keeps a WAL.
pub(super) fn has_journal(directory: &Path) -> bool {
    directory.join("log.db-journal").exists()
}
