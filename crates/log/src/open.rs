//! Opens the log for writing: schema, and a check that nothing acknowledged is missing.

use std::path::Path;

use rusqlite::Connection;

use super::bodies::Bodies;
use super::chain::{Hash, HeadFile};
use super::compaction::Compacted;
use super::error::LogError;
use super::floors::Floor;
use super::ids::Ids;
use super::reader::LogReader;
use super::transaction::WriterState;
use super::{file, packer, schema};
use strandline_model::{Offset, Timestamp};
use strandline_sqlite::{OpenError, Role, Truncation};

/// A log up to this size is checked page by page when it is opened; of a larger one only the newest changes are.
const FULL_CHECK_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A log of an earlier version up to this size is rewritten when it is opened, which takes some seconds.
const REWRITE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// How many of the newest changes are verified at every opening.
const TAIL: u64 = 1000;

/// Opens the log for its writer and brings it to the present schema.
///
/// The caller holds the directory's lock: two programs migrating at once is not survivable in SQLite alone.
pub(super) fn open_writer(directory: &Path) -> Result<Connection, LogError> {
    let path = file::path(directory);
    let mut connection = strandline_sqlite::open(&path, Role::LogWriter, file::APPLICATION_ID)?;
    schema::migrate(&mut connection, &path)?;
    Ok(connection)
}

/// Looks at the log before anything is written, by a connection that leaves no trace, so that what is damaged stays as it
/// is. Of a log whose schema has to be brought up first only the pages are looked at.
pub(super) fn check_before_open(directory: &Path, head_file: &HeadFile) -> Result<(), LogError> {
    let path = file::path(directory);
    if !path.exists() {
        return nothing_acknowledged(head_file);
    }
    if file::has_journal(directory) {
        // Its making was broken off, before anything was acknowledged; whoever writes rolls that back first.
        return Ok(());
    }
    let look = || {
        whole(&path)?;
        let inspector = file::open_inspector(directory)?;
        let schema = schema::check_schema(&inspector, &path)?;
        check_pages(&inspector, &path)?;
        match schema {
            // Its making may have been broken off.
            None => nothing_acknowledged(head_file),
            Some(schema) if schema == schema::newest_schema() => {
                verify(directory, &mut LogReader::over(inspector), head_file).map(|_| ())
            }
            Some(_) => Ok(()),
        }
    };
    look().map_err(|error| of_file(&path, error))
}

/// That nothing is lost where there is nothing.
pub(super) fn nothing_acknowledged(head_file: &HeadFile) -> Result<(), LogError> {
    match head_file.read() {
        Some((recorded, _)) if recorded > Offset::ZERO => {
            Err(LogError::Truncated { found: Offset::ZERO, recorded })
        }
        _ => Ok(()),
    }
}

/// Says of a file that SQLite does not read what is wrong with it, in our words.
pub(super) fn of_file(path: &Path, error: LogError) -> LogError {
    let sqlite = match &error {
        LogError::Sqlite(sqlite) | LogError::Open(OpenError::Sqlite { source: sqlite, .. }) => sqlite,
        _ => return error,
    };
    if !strandline_sqlite::is_corrupt(sqlite) {
        return error;
    }
    tracing::error!(error = %sqlite, path = %path.display(), "SQLite cannot read the log");
    let what = match strandline_sqlite::is_database(path) {
        true => "a page of it cannot be read",
        false => "it has no SQLite header",
    };
    LogError::File { path: path.to_owned(), what: what.to_owned() }
}

/// Checks that the file is not truncated, unless its end may be in the WAL.
pub(super) fn whole(path: &Path) -> Result<(), LogError> {
    match strandline_sqlite::truncation(path) {
        None => Ok(()),
        Some(Truncation { found, written }) => {
            let what = format!("it is truncated: it has {found} bytes, {written} were written");
            Err(LogError::File { path: path.to_owned(), what })
        }
    }
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), LogError> {
    if is_small(path) {
        let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            tracing::error!(verdict, path = %path.display(), "SQLite reports damaged pages in the log");
            let what = "its pages are inconsistent".to_owned();
            return Err(LogError::File { path: path.to_owned(), what });
        }
    }
    Ok(())
}

/// Rewrites a log of an earlier version so that pruned pages can be returned to the disk, unless that takes too long.
/// Where there is no room for it the log stays as it is, which only keeps its size.
pub(super) fn make_shrinkable(connection: &Connection, directory: &Path) -> Result<(), LogError> {
    if strandline_sqlite::is_shrinkable(connection)? {
        return Ok(());
    }
    if std::fs::metadata(file::path(directory)).is_ok_and(|file| file.len() > REWRITE_BYTES_MAX) {
        tracing::info!("an earlier version created the log, so pruning does not make its file smaller");
        return Ok(());
    }
    match connection.execute_batch("VACUUM") {
        Err(error) if strandline_sqlite::is_disk_full(&error) => {
            tracing::warn!(%error, "not enough disk space to rewrite the log; until then, pruning does not make its file smaller");
            Ok(())
        }
        result => Ok(result?),
    }
}

/// Whether a log is small enough to be looked at in full when it is opened.
fn is_small(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() <= FULL_CHECK_BYTES_MAX)
}

/// The state of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// The version of its schema.
    pub schema: i64,
    /// The newest offset.
    pub head: Offset,
    /// The oldest moment that can be asked for.
    pub compacted: Compacted,
    /// The kinds that are known from later on.
    pub floors: Vec<Floor>,
}

/// Looks at the log of a data directory as its writer would, and changes nothing; none where there is no log.
///
/// # Errors
/// When the log cannot be read, or is not what was acknowledged.
pub fn inspect(directory: &Path) -> Result<Option<LogState>, LogError> {
    let (path, head_file) = (file::path(directory), HeadFile::new(directory));
    if !path.exists() {
        return nothing_acknowledged(&head_file).map(|()| None);
    }
    let look = || {
        whole(&path)?;
        let connection = file::open_inspector(directory)?;
        let Some(schema) = schema::check_schema(&connection, &path)? else {
            return nothing_acknowledged(&head_file).map(|()| None);
        };
        check_pages(&connection, &path)?;
        let mut reader = LogReader::over(connection);
        let (head, _) = verify(directory, &mut reader, &head_file)?;
        let (compacted, floors) = (reader.compacted()?, reader.floors()?);
        Ok(Some(LogState { schema, head, compacted, floors }))
    };
    look().map_err(|error| of_file(&path, error))
}

/// Verifies the newest changes against the chain and against the head that was acknowledged, and in a small log that
/// all is there that retention keeps.
pub(super) fn verify(
    directory: &Path,
    reader: &mut LogReader,
    head_file: &HeadFile,
) -> Result<(Offset, Hash), LogError> {
    // First the file: a writer that runs meanwhile moves it only after the log.
    let acknowledged = head_file.read();
    let (head, hash) = verify_end(directory, reader)?;
    let compacted = reader.compacted()?.offset;
    if let Some((recorded, recorded_hash)) = acknowledged {
        if recorded > head {
            return Err(LogError::Truncated { found: head, recorded });
        }
        // The file may lag, even behind what retention has pruned; then there is nothing to compare it with.
        if recorded >= compacted && reader.hash_at(recorded)? != recorded_hash {
            let what = "it differs from the change acknowledged at this offset".to_owned();
            return Err(LogError::Damaged { offset: recorded, what });
        }
    }
    Ok((head, hash))
}

/// The same without a look at what was acknowledged.
pub(super) fn verify_end(directory: &Path, reader: &mut LogReader) -> Result<(Offset, Hash), LogError> {
    let head = reader.head()?;
    let compacted = reader.compacted()?.offset;
    if compacted > Offset::ZERO && head <= compacted {
        // The newest change is never pruned, so what is left here is older.
        return Err(LogError::Truncated { found: head, recorded: compacted.next() });
    }
    if is_small(&file::path(directory)) {
        reader.verify_kept()?;
    }
    let start = Offset::new(head.get().saturating_sub(TAIL));
    reader.verify(start, head)?;
    Ok((head, reader.hash_at(head)?))
}

/// Loads the writer's state from a log that ends where it was acknowledged.
pub(super) fn writer_state(connection: &Connection, directory: &Path) -> Result<WriterState, LogError> {
    let mut reader = LogReader::open(directory)?;
    let (head, hash) = verify(directory, &mut reader, &HeadFile::new(directory))?;
    let observed_at = reader.observed_at(head)?.unwrap_or(Timestamp::from_micros(i64::MIN));
    let bodies = Bodies::load(connection)?;
    Ok(WriterState {
        head,
        hash,
        observed_at,
        ids: Ids::default(),
        bodies,
        epoch: None,
        closed: packer::closed(connection)?,
    })
}
