//! The write-ahead log beside a database, and how it and free pages are given back to the disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// How long to wait for a lock; most last for milliseconds.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a checkpoint waits for readers.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(50);

/// The WAL's file of a database.
pub fn wal(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The file with the index of a database's WAL.
pub fn wal_index(path: &Path) -> PathBuf {
    beside(path, "-shm")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether nobody has a database open, and all of it is in its file.
pub(super) fn is_at_rest(path: &Path) -> bool {
    let wal = wal(path);
    !wal.exists() || (is_empty(&wal) && !wal_index(path).exists())
}

/// Whether a file is not there, or has nothing in it.
pub(super) fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Whether free pages of a file can be given back to the disk; it cannot where the file was made without that in mind.
///
/// # Errors
/// When the file cannot be read.
pub fn is_shrinkable(connection: &Connection) -> rusqlite::Result<bool> {
    let mode: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    Ok(mode != 0)
}

/// Gives up to `pages` free pages of the file back to the disk, within the transaction there may be; returns how many are
/// left. The file itself becomes shorter when the WAL is next emptied.
///
/// # Errors
/// When the file cannot be written.
pub fn incremental_vacuum(connection: &Connection, pages: u32) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = statement.query([])?;
    // Each step gives one page back.
    while rows.next()?.is_some() {}
    // SQLite keeps it in 32 bits.
    let free: u32 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    Ok(u64::from(free))
}

/// Checkpoints all of the WAL and truncates it, if no reader needs it; returns whether it did.
///
/// # Errors
/// When the file cannot be written.
pub fn truncate_wal(connection: &Connection) -> rusqlite::Result<bool> {
    // Whoever writes next waits for this, so it may wait for readers only as long as short ones take.
    connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    connection.busy_timeout(LOCK_TIMEOUT)?;
    Ok(!busy?)
}

/// Lets closing the connection neither checkpoint nor remove the files beside the database: another database may have taken their place.
///
/// # Errors
/// When SQLite does not take the setting.
pub fn skip_checkpoint_on_close(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(|_| ())
}
