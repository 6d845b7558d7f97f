//! A whole copy of the log, made while its writer goes on, and the check whether a log is complete.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::chain::{Hash, HeadFile};
use super::compaction::Compacted;
use super::error::LogError;
use super::file;
use super::open::verify;
use super::reader::LogReader;
use super::schema::check_schema;
use strandline_model::{Offset, Timestamp};
use strandline_sqlite::Role;

/// What a log holds of which every page and every change was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The newest offset.
    pub head: Offset,
    /// The hash of the change there, which covers all changes before it.
    pub hash: [u8; 16],
    /// When that change was observed; none in an empty log.
    pub observed_at: Option<Timestamp>,
    /// The oldest moment that can be asked for; of what came before, retention has kept only the state at that time.
    pub compacted: Compacted,
}

/// Copies the log of a data directory into another directory and verifies the copy.
///
/// The copy is the log at one moment: it is made in one read transaction, which holds up neither the log's writer nor
/// other readers.
///
/// # Errors
/// When the log cannot be read, the copy cannot be written, or the copy is not whole.
pub fn copy(directory: &Path, into: &Path) -> Result<Whole, LogError> {
    let target = file::path(into);
    let source = file::open_reader(directory)?;
    strandline_sqlite::create_file(&target)
        .map_err(|error| LogError::Copy { path: target.clone(), why: error.to_string() })?;
    vacuum_into(&source, &target)?;
    File::open(&target)
        .and_then(|file| file.sync_all())
        .map_err(|error| LogError::Copy { path: target.clone(), why: error.to_string() })?;
    let whole = verify_whole(into)?;
    // The same change is in the log itself: the copy is its beginning and nothing else.
    if LogReader::over(source).hash_at(whole.head)? != whole.hash {
        let what = "the copy lacks a change of the log".to_owned();
        return Err(LogError::Damaged { offset: whole.head, what });
    }
    HeadFile::new(into)
        .write(whole.head, &whole.hash)
        .map_err(|error| LogError::Copy { path: into.join("log.head"), why: error.to_string() })?;
    Ok(whole)
}

/// Writes all of a database into an empty file, packed densely.
fn vacuum_into(source: &Connection, target: &Path) -> Result<(), LogError> {
    // The connection may only read the log; what it writes here is the new file.
    source.pragma_update(None, "query_only", false)?;
    let target = ToSqlOutput::Borrowed(ValueRef::Text(target.as_os_str().as_bytes()));
    source.execute("VACUUM INTO ?1", [target])?;
    source.pragma_update(None, "query_only", true)?;
    Ok(())
}

/// Looks at every page and every change of a log that nobody writes, and changes nothing.
///
/// # Errors
/// When anything of it is damaged, missing, or not what was acknowledged.
pub fn verify_whole(directory: &Path) -> Result<Whole, LogError> {
    let path = file::path(directory);
    let connection = strandline_sqlite::open(&path, Role::Inspector, file::APPLICATION_ID)?;
    if check_schema(&connection, &path)?.is_none() {
        return Err(LogError::Schema { path, what: "it contains no log".to_owned() });
    }
    let verdict: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(LogError::Damaged { offset: Offset::ZERO, what: verdict });
    }
    let mut reader = LogReader::over(connection);
    let head = reader.head()?;
    reader.verify_kept()?;
    reader.verify(Offset::ZERO, head)?;
    let (head, hash): (Offset, Hash) = verify(directory, &mut reader, &HeadFile::new(directory))?;
    Ok(Whole { head, hash, observed_at: reader.observed_at(head)?, compacted: reader.compacted()? })
}
