//! The schema of the log: its migrations, and whether a log has the newest.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, ffi};

use super::error::LogError;

mod migrations {
    refinery::embed_migrations!("../../schema/log");
}

pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), LogError> {
    let failed = |error: refinery::Error| match is_disk_full(&error) {
        true => {
            rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), Some(error.to_string())).into()
        }
        false => LogError::Schema { path: path.to_owned(), what: format!("migration failed: {error}") },
    };
    // In one transaction with their own record: one by one, the end of the process could come between the two, and what
    // was made would be made again.
    migrations::migrations::runner().set_grouped(true).run(connection).map(|_| ()).map_err(failed)
}

/// Whether what an error comes from is a disk without room.
pub(super) fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let sqlite = error.downcast_ref::<rusqlite::Error>();
    sqlite.is_some_and(strandline_sqlite::is_disk_full) || error.source().is_some_and(is_disk_full)
}

/// Every table and index of the present schema with the statement that makes it.
pub(super) fn schema() -> Result<BTreeMap<String, String>, LogError> {
    let mut connection = Connection::open_in_memory()?;
    migrate(&mut connection, Path::new(":memory:"))?;
    Ok(statements_of(&connection)?)
}

/// Refuses a log whose schema is not the present one.
pub(super) fn check_present(connection: &Connection, path: &Path) -> Result<(), LogError> {
    let (found, known) = (check_schema(connection, path)?.unwrap_or(0), newest_schema());
    if found == known {
        return Ok(());
    }
    let what = format!(
        "has schema {found}, which the next start migrates to {known}; run the full check after that"
    );
    Err(LogError::Schema { path: path.to_owned(), what })
}

pub(super) fn newest_schema() -> i64 {
    let runner = migrations::migrations::runner();
    i64::from(runner.get_migrations().iter().map(|migration| migration.version()).max().unwrap_or(0))
}

/// Refuses a schema that is newer or that cannot be trusted, before the migration library, which would panic
/// on a damaged row, looks at it; returns its version, if it has one yet.
pub(super) fn check_schema(connection: &Connection, path: &Path) -> Result<Option<i64>, LogError> {
    let exists = connection
        .query_row("SELECT 1 FROM sqlite_master WHERE name = 'refinery_schema_history'", [], |_| Ok(()))
        .optional()?
        .is_some();
    if !exists {
        return Ok(None);
    }
    let mut newest = None;
    let known = newest_schema();
    let mut statement =
        connection.prepare("SELECT version, applied_on, checksum FROM refinery_schema_history")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let damaged = |what: &str| LogError::Schema { path: path.to_owned(), what: what.to_owned() };
        let version: i64 = row.get("version").map_err(|_| damaged("its schema history has no version"))?;
        let applied_on: String =
            row.get("applied_on").map_err(|_| damaged("its schema history has no date"))?;
        let checksum: String =
            row.get("checksum").map_err(|_| damaged("its schema history has no checksum"))?;
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

/// Refuses a log that this program cannot read as it is, because another version of it wrote it.
pub(super) fn check_readable(connection: &Connection, path: &Path) -> Result<(), LogError> {
    let (found, known) = (check_schema(connection, path)?, newest_schema());
    let what = match found {
        None => "it contains no log".to_owned(),
        Some(found) if found < known => {
            format!("has schema {found}, of an older version; this program supports {known}")
        }
        Some(_) => return Ok(()),
    };
    Err(LogError::Schema { path: path.to_owned(), what })
}

/// Refuses a newer schema, whose changes could mean something else. One that is damaged may still be read.
pub(super) fn refuse_newer(connection: &Connection, path: &Path) -> Result<(), LogError> {
    match check_schema(connection, path) {
        Err(error @ LogError::Newer { .. }) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Every table and index with the statement that made it.
pub(super) fn statements_of(connection: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get("name")?, row.get("sql")?)))?;
    rows.collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use refinery::Target;
    use strandline_sqlite::column::PackedUid;

    #[test]
    fn uids_of_a_log_of_before_are_packed_and_stay_what_they_were() {
        let mut connection = Connection::open_in_memory().unwrap();
        let before = migrations::migrations::runner().set_target(Target::Version(13)).set_grouped(true);
        before.run(&mut connection).unwrap();
        connection.execute_batch("INSERT INTO kind VALUES (1, 'one', '', 'Pod')").unwrap();
        let uids = [
            "",
            "uid-1",
            "01234567-89ab-cdef-0123-456789abcdef",
            "01234567-89AB-cdef-0123-456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "01234567-89ab-cdef-0123-456789abc-ef",
            "01234567--9ab-cdef-0123-456789abcdef",
            "é1234567-89ab-cdef-0123-456789abcde",
            "01234567-89ab-cdef-0123-456789abcdef\0",
            "01234567-89ab-cdef-0123-456789abcdef ",
        ];
        for uid in uids {
            let sql = "INSERT INTO subject (kind_id, namespace, name, uid) VALUES (1, 'shop', 'web', ?1)";
            connection.execute(sql, [uid]).unwrap();
        }
        migrate(&mut connection, Path::new(":memory:")).unwrap();
        for (number, uid) in (1_i64..).zip(uids) {
            // Found as it is written from here on, under the number that it had.
            let sql = "SELECT id, uid FROM subject WHERE uid = ?1";
            let found = connection.query_row(sql, [PackedUid(uid)], |row| {
                Ok((row.get::<_, i64>("id")?, row.get::<_, PackedUid<String>>("uid")?.0))
            });
            assert_eq!(found.unwrap(), (number, uid.to_owned()));
        }
        let packed = "SELECT count(*) FROM subject WHERE typeof(uid) = 'blob'";
        assert_eq!(connection.query_row(packed, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    }
}
