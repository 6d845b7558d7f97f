//! The file below the tables: its pages, as SQLite checks them, and the statements that made them.

use rusqlite::Connection;

use super::findings::Findings;
use crate::schema;

/// The most lines that SQLite's own check returns.
const LINES: u32 = 100;

/// Has SQLite check every page and every index.
pub(super) fn check_pages(connection: &Connection, findings: &mut Findings) {
    let check = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({LINES})"))?;
        let lines = statement.query_map([], |row| row.get(0))?;
        lines.collect()
    };
    match check() {
        Ok(lines) if lines == ["ok"] => {}
        Ok(lines) => {
            for line in lines.iter().flat_map(|told| told.lines()).filter(|line| !line.starts_with("***")) {
                let table = root_of(line).and_then(|page| table_of_root(connection, page));
                findings.table(table.as_deref().unwrap_or("log.db"), line);
            }
        }
        Err(error) => findings.table("log.db", error),
    }
}

/// The page on which the tree begins that a line of SQLite's speaks of: `Tree 7 page 12 cell 3: …`.
fn root_of(line: &str) -> Option<i64> {
    line.strip_prefix("Tree ")?.split(' ').next()?.parse().ok()
}

/// Compares the statements that made the tables with those of this program.
pub(super) fn check_schema(connection: &Connection, findings: &mut Findings) {
    let (found, wanted) = match (schema::statements_of(connection), schema::schema()) {
        (Ok(found), Ok(wanted)) => (found, wanted),
        (Err(error), _) => return findings.table("sqlite_schema", error),
        (_, Err(error)) => return findings.table("sqlite_schema", error),
    };
    for (name, sql) in &wanted {
        if found.get(name) != Some(sql) {
            findings.table("sqlite_schema", format!("`{name}` differs from the schema of this program"));
        }
    }
}

/// The tables of a log and which of them has its root on a page.
fn table_of_root(connection: &Connection, page: i64) -> Option<String> {
    let sql = "SELECT tbl_name FROM sqlite_master WHERE rootpage = ?1";
    connection.query_row(sql, [page], |row| row.get(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_damaged_page_is_named_by_its_root() {
        assert_eq!(root_of("Tree 7 page 12 cell 3: Rowid 5 out of order"), Some(7));
        assert_eq!(root_of("row 3 missing from index live_by_kind"), None);
        assert_eq!(root_of("Tree"), None);
    }
}
