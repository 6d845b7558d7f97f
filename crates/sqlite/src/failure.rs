//! What an error of SQLite or of the system means for whoever goes on.

use rusqlite::{ErrorCode, ffi};

/// Whether an error means that the database file itself is damaged.
pub fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether an error means that a statement was interrupted.
pub fn is_interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

/// Whether an error means that this program may not open or write the file.
pub fn is_denied(error: &rusqlite::Error) -> bool {
    let denied = [ErrorCode::CannotOpen, ErrorCode::ReadOnly, ErrorCode::PermissionDenied];
    error.sqlite_error_code().is_some_and(|code| denied.contains(&code))
}

/// Whether an error means that the disk is full, which can pass.
pub fn is_disk_full(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull) || extended == ffi::SQLITE_IOERR_SHMSIZE
}

/// Whether an error of the system means the same.
pub fn is_storage_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}
