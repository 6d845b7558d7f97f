//! Opens a database file for one of its roles.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};
use thiserror::Error;

use super::failure::is_disk_full;
use super::private;
use super::truncation::truncation;
use super::wal::{LOCK_TIMEOUT, is_at_rest, is_empty, wal, wal_index};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one connection that writes the log.
    LogWriter,
    /// The one connection that writes the view.
    ViewWriter,
    /// The one connection that builds a view which nobody reads yet.
    ViewBuilder,
    /// One of many that only read.
    Reader,
    /// A look from outside, by a program that serves nothing; leaves no trace, not even of a lock.
    Inspector,
    /// The same by a process that never writes the database: it writes nothing into the index of a WAL either. A writer in the same
    /// process would share that with it, and could not write.
    Outsider,
}

impl Role {
    fn only_reads(self) -> bool {
        matches!(self, Role::Reader | Role::Inspector | Role::Outsider)
    }
}

/// Why a database could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// SQLite refused.
    #[error("cannot open {}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
    /// The file is a database of something else.
    #[error("{} is not a Strandline database: its application_id is {found:#x}, not {wanted:#x}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The id it carries.
        found: i32,
        /// The id it should carry.
        wanted: i32,
    },
}

impl OpenError {
    /// Whether there is no room left, which can pass.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, OpenError::Sqlite { source, .. } if is_disk_full(source))
    }
}

/// Opens `path` for a role; a writer creates the file where it is missing and marks it with `application_id`.
///
/// # Errors
/// When SQLite refuses, or when the file belongs to another program.
pub fn open(path: &Path, role: Role, application_id: i32) -> Result<Connection, OpenError> {
    let name = match role {
        Role::Inspector | Role::Outsider => inspected(path, role),
        _ => path.to_owned(),
    };
    open_as(path, &name, role, application_id)
}

/// The same under the name that SQLite is to open.
fn open_as(path: &Path, name: &Path, role: Role, application_id: i32) -> Result<Connection, OpenError> {
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let access = match role {
        Role::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Role::Inspector | Role::Outsider => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        Role::LogWriter | Role::ViewWriter | Role::ViewBuilder => {
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
        }
    };
    if access.contains(OpenFlags::SQLITE_OPEN_CREATE) {
        // SQLite gives what it puts beside a database the mode of that. One that is there is not touched, since closing
        // it would release the locks of all its connections; where it cannot be made SQLite reports why.
        let _ = private::create_file(path);
        if private::is_link(path) {
            let code = ffi::Error::new(ffi::SQLITE_CANTOPEN_SYMLINK);
            let why = "it is a symbolic link; symbolic links are not followed".to_owned();
            return Err(sqlite(rusqlite::Error::SqliteFailure(code, Some(why))));
        }
    }
    let connection =
        Connection::open_with_flags(name, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(sqlite)?;
    if role == Role::Inspector && truncation(path).is_some() {
        // SQLite does not look at what is left of a truncated file otherwise.
        connection.pragma_update(None, "writable_schema", true).map_err(sqlite)?;
    }
    prepare(&connection, role).map_err(sqlite)?;
    claim(&connection, path, role, application_id)?;
    Ok(connection)
}

/// The name under which a file is opened to be inspected.
///
/// Without a WAL nobody has it open and it is whole as it is; a plain reader would then leave a WAL behind,
/// which, made by another user, would keep the owner out.
fn inspected(path: &Path, role: Role) -> PathBuf {
    let how = match role {
        _ if is_at_rest(path) => "?immutable=1",
        // Where nobody keeps the index of the WAL up, SQLite makes one in memory.
        Role::Outsider if wal_index(path).exists() => "?mode=ro&readonly_shm=1",
        _ => "?mode=ro",
    };
    uri(path, how)
}

fn uri(path: &Path, how: &str) -> PathBuf {
    let mut name = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => name.extend(format!("%{byte:02x}").into_bytes()),
            _ => name.push(byte),
        }
    }
    name.extend(how.as_bytes());
    PathBuf::from(OsString::from_vec(name))
}

fn prepare(connection: &Connection, role: Role) -> rusqlite::Result<()> {
    // A reader may meet the moment in which a writer resets the WAL; both sides wait rather than fail.
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(128);
    // Plans that look at bound values are made anew at each use of a cached statement, which clears them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A damaged page must be an error, not a wrong answer.
    connection.pragma_update(None, "cell_size_check", true)?;
    // Nothing in a database file may run code of its own.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    if !role.only_reads() {
        // What is deleted can be given back to the disk in small steps. It counts only before the first page is written.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
    }
    match role {
        Role::Reader | Role::Inspector | Role::Outsider => {
            connection.pragma_update(None, "query_only", true)?;
            // 4 MiB a reader keeps the inner pages of the indexes at hand; the rest is the system's page cache.
            connection.pragma_update(None, "cache_size", -4_096)?;
        }
        Role::LogWriter | Role::ViewWriter | Role::ViewBuilder => {
            // Readers go on while the writer commits.
            connection.pragma_update(None, "journal_mode", "wal")?;
            // After a burst the WAL's file is given back to the disk.
            connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
            connection.pragma_update(None, "foreign_keys", false)?;
            match role {
                // Of what it keeps of everything alive; how much of it a view keeps at hand its projector says.
                Role::LogWriter => connection.pragma_update(None, "cache_size", -16_384)?,
                // Its checkpoints are made beside it, see `Checkpoints`.
                Role::ViewWriter | Role::ViewBuilder => {
                    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
                }
                Role::Reader | Role::Inspector | Role::Outsider => {}
            }
        }
    }
    match role {
        // What is acknowledged must survive a power cut; in groups of changes this costs nothing measurable.
        Role::LogWriter => connection.pragma_update(None, "synchronous", "full"),
        // The view can be rebuilt, so its last commits need not survive one.
        Role::ViewWriter | Role::ViewBuilder => connection.pragma_update(None, "synchronous", "normal"),
        Role::Reader | Role::Inspector | Role::Outsider => Ok(()),
    }
}

fn claim(connection: &Connection, path: &Path, role: Role, wanted: i32) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let found: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(sqlite)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(sqlite)?;
    if found == wanted || (tables == 0 && role.only_reads()) {
        Ok(())
    } else if tables == 0 && found == 0 {
        connection.pragma_update(None, "application_id", wanted).map_err(sqlite)
    } else {
        Err(OpenError::Foreign { path: path.to_owned(), found, wanted })
    }
}

/// Lets a connection keep pages of its file in memory up to so many bytes, instead of as many as is usual for its role.
///
/// # Errors
/// When SQLite refuses.
pub fn size_cache(connection: &Connection, bytes: usize) -> rusqlite::Result<()> {
    // A negative number means KiB; with fewer than some pages SQLite reads the inner ones of an index again and again.
    const KIB_MIN: i64 = 256;
    let kib = i64::try_from(bytes / 1024).unwrap_or(i64::MAX).clamp(KIB_MIN, i64::from(i32::MAX));
    connection.pragma_update(None, "cache_size", -kib)
}

/// Lets `write` fill temporary tables of a reader's connection, which `query_only` forbids like all writing. The file is
/// out of its reach all the same: it is opened for reading alone.
///
/// # Errors
/// When `write` fails.
pub fn with_temporary<R>(
    connection: &Connection,
    write: impl FnOnce(&Connection) -> rusqlite::Result<R>,
) -> rusqlite::Result<R> {
    connection.pragma_update(None, "query_only", false)?;
    let written = write(connection);
    connection.pragma_update(None, "query_only", true)?;
    written
}

/// Opens a file to be read on a disk that is full, where no reader can have its files beside the database. As nobody
/// writes it then, it can be read as it is; as soon as somebody does, this connection has to be closed.
///
/// # Errors
/// As [`open`], where somebody writes it.
pub fn open_at_rest(path: &Path, application_id: i32) -> Result<Connection, OpenError> {
    match open(path, Role::Reader, application_id) {
        // A reader that could not be opened may leave an empty WAL behind.
        Err(error) if error.is_disk_full() && is_empty(&wal(path)) => {
            open_as(path, &uri(path, "?immutable=1"), Role::Inspector, application_id)
        }
        opened => opened,
    }
}

/// The version of SQLite in this program, and whether two connections of it can safely checkpoint at once.
///
/// Versions before 3.51.3 can damage a database when they do (sqlite.org/wal.html#walresetbug).
pub fn sqlite_version() -> (&'static str, bool) {
    (rusqlite::version(), rusqlite::version_number() >= 3_051_003)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use rusqlite::{OptionalExtension, StatementStatus};

    use super::*;

    #[test]
    fn pragmas_are_as_promised() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let text = |c: &Connection, name: &str| {
            c.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
        };
        use rusqlite::types::Value::{Integer, Text};
        let log = open(&path, Role::LogWriter, 7).unwrap();
        assert_eq!(text(&log, "journal_mode"), Text("wal".into()));
        assert_eq!(text(&log, "synchronous"), Integer(2));
        assert_eq!(text(&log, "trusted_schema"), Integer(0));
        log.execute_batch("CREATE TABLE t (a)").unwrap();
        let reader = open(&path, Role::Reader, 7).unwrap();
        assert_eq!(text(&reader, "query_only"), Integer(1));
        let view = open(&dir.path().join("y.db"), Role::ViewWriter, 8).unwrap();
        assert_eq!(text(&view, "synchronous"), Integer(1));
    }

    #[test]
    fn a_cache_has_the_size_that_it_was_given_and_never_none() {
        let dir = tempfile::tempdir().unwrap();
        let log = open(&dir.path().join("x.db"), Role::LogWriter, 7).unwrap();
        let kib = || log.pragma_query_value(None, "cache_size", |row| row.get::<_, i64>(0)).unwrap();
        for (bytes, expected) in [(3 << 20, -3072), (usize::MAX, i64::from(i32::MIN) + 1), (0, -256)] {
            size_cache(&log, bytes).unwrap();
            assert_eq!(kib(), expected, "{bytes}");
        }
    }

    #[test]
    fn an_inspection_sees_everything_and_leaves_no_trace() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("what?#%20 é");
        std::fs::create_dir(&odd).unwrap();
        let path = odd.join("x.db");
        let files = || {
            let mut names: Vec<_> =
                std::fs::read_dir(&odd).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let count =
            |c: &Connection| c.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
        let writer = open(&path, Role::LogWriter, 7).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
        let running = files();
        assert_eq!(count(&open(&path, Role::Inspector, 7).unwrap()), 1, "what is only in the WAL is seen");
        assert_eq!(files(), running);
        // Of a process that was killed everything stays, and is read as it is.
        let killed = dir.path().join("killed");
        std::fs::create_dir(&killed).unwrap();
        for name in &running {
            std::fs::copy(odd.join(name), killed.join(name)).unwrap();
        }
        let bytes = || running.clone().into_iter().map(|name| std::fs::read(killed.join(name)).unwrap());
        let before: Vec<_> = bytes().collect();
        assert_eq!(count(&open(&killed.join("x.db"), Role::Outsider, 7).unwrap()), 1);
        assert!(bytes().eq(before), "the index of the WAL is not made anew either");
        drop(writer);
        let stopped = files();
        assert_eq!(stopped, ["x.db"]);
        for role in [Role::Inspector, Role::Outsider] {
            let inspector = open(&path, role, 7).unwrap();
            assert_eq!(count(&inspector), 1);
            assert!(inspector.execute_batch("DELETE FROM t").is_err());
            drop(inspector);
            assert_eq!(files(), stopped);
        }
    }

    #[test]
    fn a_reader_writes_temporary_tables_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        open(&path, Role::LogWriter, 7).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        let reader = open(&path, Role::Reader, 7).unwrap();
        let filled = |c: &Connection| c.execute_batch("CREATE TEMP TABLE s (a); INSERT INTO s VALUES (1)");
        assert!(filled(&reader).is_err());
        with_temporary(&reader, filled).unwrap();
        assert!(with_temporary(&reader, |c| c.execute("INSERT INTO t VALUES (1)", [])).is_err());
        assert!(reader.execute("DELETE FROM s", []).is_err(), "it may write no longer than it was let");
        assert_eq!(reader.query_row("SELECT a FROM s", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    }

    #[test]
    fn a_cached_statement_is_prepared_once() {
        let dir = tempfile::tempdir().unwrap();
        for (name, role) in [("log.db", Role::LogWriter), ("view.db", Role::ViewWriter)] {
            let path = dir.path().join(name);
            let writer = open(&path, role, 7).unwrap();
            writer.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b)").unwrap();
            for connection in [writer, open(&path, Role::Reader, 7).unwrap()] {
                for n in 0..5 {
                    let sql = "SELECT a FROM t WHERE a > ?1 AND b = ?2 LIMIT ?3";
                    let mut statement = connection.prepare_cached(sql).unwrap();
                    statement.query_row((n, n, 10), |_| Ok(())).optional().unwrap();
                    assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{role:?} at {n}");
                }
            }
        }
    }

    #[test]
    fn a_foreign_database_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        open(&path, Role::LogWriter, 7).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        let refused = open(&path, Role::LogWriter, 8).unwrap_err();
        assert!(matches!(refused, OpenError::Foreign { found: 7, wanted: 8, .. }), "{refused}");
    }

    #[test]
    fn bundled_sqlite_has_the_wal_reset_fix() {
        let (version, safe) = sqlite_version();
        assert!(safe, "{version}");
    }
}
