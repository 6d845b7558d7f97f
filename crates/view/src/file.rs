//! The view's file: where it is, and whether it can be used.
//!
//! Why: docs/decisions/0002-the-view-is-rebuilt-never-migrated.md.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

use super::columns::MemberHealth;
use super::ruleset::RULES_VERSION;
use strandline_model::{CoverageState, Happening, Health, Offset, Stored};
use strandline_relations::EdgeKind;
use strandline_sqlite::column::VIEW;
use strandline_sqlite::{Identities, OpenError, Role};

/// Marks the file as a view of Strandline.
const APPLICATION_ID: i32 = 0x7374_7677;

const SCHEMA: &str = include_str!("../../../schema/view/V1__view.sql");

/// A view up to this size is checked page by page when it is opened; damage in a larger one shows on reading.
const FULL_CHECK_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The view's file in a data directory.
pub fn path(directory: &Path) -> PathBuf {
    directory.join("view.db")
}

/// Opens the view for reading.
///
/// # Errors
/// When the file cannot be opened or is not a view.
pub fn open_reader(directory: &Path) -> Result<Connection, OpenError> {
    open(directory, Role::Reader)
}

/// Opens the view for reading, on a full disk as well as long as nobody writes it. As soon as somebody does, such a
/// reader has to be closed.
///
/// # Errors
/// When the file cannot be opened or is not a view.
pub fn open_at_rest(directory: &Path) -> Result<Connection, OpenError> {
    strandline_sqlite::open_at_rest(&path(directory), APPLICATION_ID)
}

/// Opens the view in a process that never writes it, leaving no trace.
///
/// # Errors
/// When the file cannot be opened or is not a view.
pub fn open_outside(directory: &Path) -> Result<Connection, OpenError> {
    open(directory, Role::Outsider)
}

/// Opens the view of a data directory for a role.
pub(super) fn open(directory: &Path, role: Role) -> Result<Connection, OpenError> {
    strandline_sqlite::open(&path(directory), role, APPLICATION_ID)
}

/// What distinguishes views: the statements themselves, what the numbers in its columns mean, and the version of the
/// program's rules. What users add is not part of it: a view judged by other additions is whole, and each verdict in it has
/// its rules.
fn fingerprint() -> i32 {
    fingerprint_of(SCHEMA, &numbers(), RULES_VERSION)
}

fn fingerprint_of(schema: &str, numbers: &str, rules: u32) -> i32 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(schema.len() as u64).to_le_bytes()).update(schema.as_bytes());
    hasher.update(&(numbers.len() as u64).to_le_bytes()).update(numbers.as_bytes());
    hasher.update(&rules.to_le_bytes());
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..4]);
    // SQLite's user_version is signed; a clear top bit keeps it readable, and zero is left to new files.
    (i32::from_le_bytes(bytes) & i32::MAX).max(1)
}

/// What each number in the view's columns means, a line each.
pub fn numbers() -> String {
    [
        lines::<CoverageState>(),
        lines::<EdgeKind>(),
        lines::<Happening>(),
        lines::<Health>(),
        format!("health of a member: none = {}\n", MemberHealth::NONE),
    ]
    .concat()
}

fn lines<T: Stored>() -> String {
    let line = |(_, word, number): &(T, &str, i64)| format!("{}: {word} = {number}\n", T::WHAT);
    T::NUMBERS.iter().map(line).collect()
}

/// Whether the view of a data directory is whole and made by this program's rules.
pub fn is_current(directory: &Path) -> bool {
    is_current_file(&path(directory))
}

/// The same of a file.
pub(super) fn is_current_file(path: &Path) -> bool {
    matches!(
        look(path, Pages::Small, || strandline_sqlite::open(path, Role::Reader, APPLICATION_ID)),
        ViewState::Current(_)
    )
}

/// The state of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewState {
    /// There is none yet.
    Missing,
    /// It is whole, made by this program's rules, and holds the log up to this offset.
    Current(Offset),
    /// It is damaged or made by other rules, and will be built anew.
    Outdated,
}

/// Looks at the view of a data directory and changes nothing.
pub fn inspect(directory: &Path) -> ViewState {
    let path = path(directory);
    look(&path, Pages::Small, || strandline_sqlite::open(&path, Role::Inspector, APPLICATION_ID))
}

/// The same in a process that never writes it, at a glance: its pages are not looked at, and damage shows on reading.
pub fn glance_outside(directory: &Path) -> ViewState {
    look(&path(directory), Pages::None, || open_outside(directory))
}

/// The same of a view that nobody writes, on a full disk as well.
pub fn inspect_at_rest(directory: &Path) -> ViewState {
    look(&path(directory), Pages::Small, || open_at_rest(directory))
}

/// The views whose pages are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pages {
    None,
    /// Those for which that is quick.
    Small,
}

fn look(path: &Path, pages: Pages, open: impl FnOnce() -> Result<Connection, OpenError>) -> ViewState {
    if !path.exists() {
        return ViewState::Missing;
    }
    // Whatever keeps it from being read, it is of no use as it is; where that keeps it from being built anew too, the
    // building says so.
    let usable = || -> Option<Offset> {
        let connection = open().ok()?;
        let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
        let small = fs::metadata(path).is_ok_and(|file| file.len() <= FULL_CHECK_BYTES_MAX);
        let whole = pages == Pages::None
            || !small
            || connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)).ok()? == "ok";
        let checkpoint = checkpoint(&connection).ok()?.map_or(Offset::ZERO, |(offset, _)| offset);
        (found == fingerprint() && whole).then_some(checkpoint)
    };
    usable().map_or(ViewState::Outdated, ViewState::Current)
}

/// What has to stay in place while a view is written.
pub(super) fn identities(path: &Path) -> Identities {
    Identities::of([path.to_owned(), strandline_sqlite::wal(path)])
}

/// Opens the view for who writes or builds it.
pub(super) fn open_writer(path: &Path, role: Role) -> Result<Connection, OpenError> {
    let connection = strandline_sqlite::open(path, role, APPLICATION_ID)?;
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let version: i32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(sqlite)?;
    if version == 0 {
        let schema = format!("BEGIN; {SCHEMA} PRAGMA user_version = {}; COMMIT;", fingerprint());
        connection.execute_batch(&schema).map_err(sqlite)?;
    }
    Ok(connection)
}

/// The last offset a view holds and the hash of the change there; none while it holds nothing.
pub(super) fn checkpoint(connection: &Connection) -> rusqlite::Result<Option<(Offset, [u8; 16])>> {
    let sql = r#"SELECT "offset", hash FROM checkpoint"#;
    connection
        .query_row(sql, [], |row| Ok((VIEW.get(row, "checkpoint.offset")?, row.get("hash")?)))
        .optional()
}

/// The view's number for a set of rules.
pub(super) fn rule_set(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.execute("INSERT OR IGNORE INTO rule_set (name) VALUES (?1)", [name])?;
    connection.query_row("SELECT id FROM rule_set WHERE name = ?1", [name], |row| row.get(0))
}

/// Whether rules other than these judged a part of the view.
pub(super) fn has_other_rules(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM rule_set WHERE id <> ?1)", [id], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_in_which_a_number_means_something_else_is_another() {
        let numbers = numbers();
        assert_eq!(fingerprint(), fingerprint_of(SCHEMA, &numbers, RULES_VERSION));
        let others = [
            fingerprint_of(SCHEMA, &numbers.replace("Degraded = 4", "Degraded = 5"), RULES_VERSION),
            fingerprint_of(SCHEMA, &numbers.replace("Mounts = 3", "Reads = 3"), RULES_VERSION),
            fingerprint_of(&SCHEMA.replace("resource_id", "resource"), &numbers, RULES_VERSION),
            fingerprint_of(SCHEMA, &numbers, RULES_VERSION + 1),
        ];
        for other in others {
            assert_ne!(other, fingerprint());
        }
    }
}
