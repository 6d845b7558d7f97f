//! Measures what waits for the disk.

use std::time::{Duration, Instant};

use rusqlite::Transaction;

/// Commits and returns how long that took. It is a duration and no time of day, so nothing that is recorded depends on it.
///
/// # Errors
/// When the transaction cannot be committed.
pub fn commit(transaction: Transaction<'_>) -> rusqlite::Result<Duration> {
    let started = Instant::now();
    transaction.commit()?;
    Ok(started.elapsed())
}
