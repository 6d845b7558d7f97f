//! Opens the log for writing: schema, and a check that nothing acknowledged is missing.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::chain::{Hash, HeadFile};
use super::error::LogError;
use super::file;
use super::reader::LogReader;
use crate::model::Offset;
use crate::store::{self, Role};

/// A log up to this size is checked page by page when it is opened; of a larger one only the newest changes are.
const FULL_CHECK_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How many of the newest changes are verified at every opening.
const TAIL: u64 = 1000;

mod migrations {
    refinery::embed_migrations!("schema/log");
}

/// Opens the log for its writer and brings it to the present schema.
///
/// The caller holds the directory's lock: two programs migrating at once is not survivable in SQLite alone.
pub(super) fn open_writer(directory: &Path) -> Result<Connection, LogError> {
    let path = file::path(directory);
    let mut connection = store::open(&path, Role::LogWriter, file::APPLICATION_ID)?;
    check_schema(&connection, &path)?;
    migrations::migrations::runner().run(&mut connection).map_err(|error| LogError::Schema {
        path: path.clone(),
        what: format!("migration failed: {error}"),
    })?;
    check_pages(&connection, &path)?;
    Ok(connection)
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), LogError> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() <= FULL_CHECK_BYTES_MAX) {
        let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(LogError::Damaged { offset: Offset::ZERO, what: verdict });
        }
    }
    Ok(())
}

/// How a log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// The version of its schema.
    pub schema: i64,
    /// The newest offset.
    pub head: Offset,
}

/// Looks at the log of a data directory as its writer would, and changes nothing; none where there is no log.
///
/// # Errors
/// When the log cannot be read, or is not what was acknowledged.
pub fn inspect(directory: &Path) -> Result<Option<LogState>, LogError> {
    let (path, head_file) = (file::path(directory), HeadFile::new(directory));
    if !path.exists() {
        return match head_file.read() {
            Some((recorded, _)) => Err(LogError::Truncated { found: Offset::ZERO, recorded }),
            None => Ok(None),
        };
    }
    let connection = store::open(&path, Role::Inspector, file::APPLICATION_ID)?;
    let Some(schema) = check_schema(&connection, &path)? else { return Ok(None) };
    check_pages(&connection, &path)?;
    let (head, _) = verify_tail(&mut LogReader::over(connection), &head_file)?;
    Ok(Some(LogState { schema, head }))
}

/// Refuses a schema that is newer or that cannot be trusted, before the migration library, which would panic
/// on a damaged row, looks at it; returns its version, if it has one yet.
fn check_schema(connection: &Connection, path: &Path) -> Result<Option<i64>, LogError> {
    let exists = connection
        .query_row("SELECT 1 FROM sqlite_master WHERE name = 'refinery_schema_history'", [], |_| Ok(()))
        .optional()?
        .is_some();
    if !exists {
        return Ok(None);
    }
    let mut newest = None;
    let known = i64::from(
        migrations::migrations::runner().get_migrations().iter().map(|m| m.version()).max().unwrap_or(0),
    );
    let mut statement =
        connection.prepare("SELECT version, applied_on, checksum FROM refinery_schema_history")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let damaged = |what: &str| LogError::Schema { path: path.to_owned(), what: what.to_owned() };
        let version: i64 = row.get(0).map_err(|_| damaged("its schema history has no version"))?;
        let applied_on: String = row.get(1).map_err(|_| damaged("its schema history has no date"))?;
        let checksum: String = row.get(2).map_err(|_| damaged("its schema history has no checksum"))?;
        if version > known {
            return Err(LogError::Newer { path: path.to_owned(), found: version, known });
        }
        if chrono::DateTime::parse_from_rfc3339(&applied_on).is_err() || checksum.parse::<u64>().is_err() {
            return Err(damaged("its schema history is damaged"));
        }
        newest = newest.max(Some(version));
    }
    Ok(newest)
}

/// Verifies the newest changes against the chain and against the head that was acknowledged.
pub(super) fn verify_tail(reader: &mut LogReader, head_file: &HeadFile) -> Result<(Offset, Hash), LogError> {
    // First the file: a writer that runs meanwhile moves it only after the log.
    let acknowledged = head_file.read();
    let head = reader.head()?;
    let start = Offset::new(head.get().saturating_sub(TAIL));
    reader.verify(start, head)?;
    let hash = reader.hash_at(head)?;
    if let Some((recorded, recorded_hash)) = acknowledged {
        if recorded > head {
            return Err(LogError::Truncated { found: head, recorded });
        }
        if reader.hash_at(recorded)? != recorded_hash {
            let what = "it is not the change that was acknowledged under this offset".to_owned();
            return Err(LogError::Damaged { offset: recorded, what });
        }
    }
    Ok((head, hash))
}
