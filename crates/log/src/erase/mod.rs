//! Erases values from what was recorded, of a log that nobody writes.
//!
//! The bodies that contained a value are written again without it, and with them whatever was packed with their help: deltas,
//! solid frames, dictionaries. All of it is one transaction, which ends with marks that name the digests of the bodies
//! that were recorded and of those that are left. After it the log is copied, so that no page and no WAL holds what was
//! erased, and the copy takes its place. That this is due shows in a directory beside the log, so that whoever opens the
//! log next brings to its end what was broken off.

mod mark;
mod names;
mod rewrite;
mod scan;
mod scrub;
mod step;

use std::path::Path;

use data_encoding::HEXLOWER;
use rusqlite::TransactionBehavior;

use super::chain::HeadFile;
use super::error::LogError;
use super::json::to_json;
use super::open;
use super::reader::LogReader;
use super::transaction::Write;
use strandline_clock::Clock;
use strandline_model::{Erasure, Uid};
use strandline_redact::Values;

use rewrite::Rewrite;
pub use scan::{Found, Holder};
pub(super) use scrub::resume;
pub use step::EraseStep;

type Result<T> = std::result::Result<T, LogError>;

/// Bodies that one mark names at most.
const MARK_MAX: usize = 1000;

/// What is to be erased, and what the record is to say of it.
#[derive(Clone, Copy, Debug)]
pub struct Erasing<'a> {
    /// The values.
    pub values: &'a Values,
    /// Only from the versions of this resource.
    pub uid: Option<&'a Uid>,
    /// Who erases them.
    pub by: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// Finds values in the log of a directory, and leaves no trace; none where there is no log.
///
/// # Errors
/// When the log cannot be read, or is damaged.
pub fn find(
    directory: &Path,
    values: &Values,
    uid: Option<&Uid>,
    watch: &mut dyn FnMut(EraseStep),
) -> Result<Option<Found>> {
    if !super::file::path(directory).exists() {
        return Ok(None);
    }
    let mut reader = LogReader::inspect(directory)?;
    let scanned = scan::scan(&mut reader, values, uid, watch)?;
    Ok(Some(scanned.found))
}

/// Erases values from the log of a data directory whose lock the caller holds, and takes them off the disk; tells where
/// they stood. Broken off before the end, it has changed nothing or is brought to its end by whoever opens the log next.
///
/// # Errors
/// When the log is damaged, cannot be read or written, or is being read by another process.
pub fn erase(
    directory: &Path,
    erasing: &Erasing<'_>,
    clock: &dyn Clock,
    watch: &mut dyn FnMut(EraseStep),
) -> Result<Found> {
    let head_file = HeadFile::new(directory);
    open::check_before_open(directory, &head_file)?;
    scrub::announce(directory)?;
    let mut connection = open::open_writer(directory)?;
    let mut state = open::writer_state(&connection, directory)?;
    let mut reader = LogReader::open(directory)?;
    let scanned = scan::scan(&mut reader, erasing.values, erasing.uid, watch)?;
    let now = clock.now().max(state.observed_at);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rewrite = Rewrite::new(&transaction, &mut reader, erasing.values, scanned.held_by);
    rewrite.all()?;
    let mut digests = rewrite.into_digests();
    // It is found anew from what is left, by whoever opens the log next.
    transaction.execute("UPDATE live SET alias = NULL", [])?;
    digests.sort_unstable_by_key(|(offset, ..)| *offset);
    let mut write = Write { connection: &transaction, state: &mut state, now };
    for named in digests.chunks(MARK_MAX) {
        let body = to_json(&Erasure {
            by: erasing.by.to_owned(),
            reason: erasing.reason.to_owned(),
            values: erasing.values.masks().to_vec(),
            bodies: named
                .iter()
                .map(|(_, recorded, left)| (HEXLOWER.encode(recorded), HEXLOWER.encode(left)))
                .collect(),
        })?;
        let mark = write.erasure(&body)?;
        let sql = r#"INSERT OR REPLACE INTO erased ("offset", mark) VALUES (?1, ?2)"#;
        let mut statement = transaction.prepare_cached(sql)?;
        for (offset, ..) in named {
            statement.execute([*offset, mark])?;
        }
    }
    watch(EraseStep::Written);
    transaction.commit()?;
    head_file
        .write(state.head, &state.hash)
        .map_err(|error| LogError::Copy { path: directory.join("log.head"), why: error.to_string() })?;
    // The writer's connection is the last to be closed, since only it can take the WAL away.
    drop(reader);
    drop(connection);
    watch(EraseStep::Erased);
    scrub::scrub(directory, watch)?;
    Ok(scanned.found)
}
