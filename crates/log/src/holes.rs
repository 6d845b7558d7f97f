//! Fills the holes that bodies leave behind which moved into frames, and gives pages that are free back to the disk.
//!
//! A change without its body is a quarter as large, and SQLite joins neighbouring pages only once two thirds of one are empty:
//! in a log of some age more than half of the table is holes, which no later change ever fills, as offsets only rise. So
//! where enough bodies of a segment moved its rows are written anew, one behind the other. What they say stays as it is.
//!
//! Which segments have holes is counted in memory: a restart forgets some, which keep their size until more of them moves.
//!
//! Why: docs/decisions/0034-holes-are-filled-a-segment-at-a-time.md.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter};

use super::error::LogError;
use strandline_model::Offset;

type Result<T> = std::result::Result<T, LogError>;

/// Offsets in one segment: some milliseconds in which appends wait.
const SEGMENT: u64 = 2048;

/// Bodies that moved out of a segment before it is written anew: a quarter, or else the same rows are written too often.
const MOVED_MIN: u32 = 512;

/// Pages given back in one step, and how many are free before any is: what comes next fills them without that.
const PAGES: u32 = 256;
const FREE_MIN: u64 = 256;

/// Segments from which bodies moved.
#[derive(Debug, Default)]
pub(super) struct Holes {
    moved: BTreeMap<u64, u32>,
    /// Whether more of the file is free than needed.
    has_free_pages: bool,
}

impl Holes {
    /// Counts a body that moved.
    pub(super) fn note_moved(&mut self, offset: Offset) {
        *self.moved.entry(offset.get() / SEGMENT).or_default() += 1;
    }

    /// Whether there is anything to do.
    pub(super) fn is_due(&self) -> bool {
        self.has_free_pages || self.due().is_some()
    }

    fn due(&self) -> Option<u64> {
        self.moved.iter().find(|(_, moved)| **moved >= MOVED_MIN).map(|(segment, _)| *segment)
    }

    /// Writes one segment anew, or gives some pages back.
    pub(super) fn step(&mut self, connection: &mut Connection) -> Result<()> {
        match self.due() {
            Some(segment) => {
                let first = segment * SEGMENT;
                rewrite(connection, Offset::new(first), Offset::new(first + SEGMENT - 1))?;
                self.moved.remove(&segment);
            }
            None => _ = strandline_sqlite::incremental_vacuum(connection, PAGES)?,
        }
        self.has_free_pages = has_free_pages(connection)?;
        Ok(())
    }
}

/// Whether an eighth of the file is free and can be given back.
fn has_free_pages(connection: &Connection) -> Result<bool> {
    let pages =
        |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0)).map(u64::from);
    let free = pages("freelist_count")?;
    Ok(free >= FREE_MIN && free * 8 > pages("page_count")? && strandline_sqlite::is_shrinkable(connection)?)
}

/// Writes changes anew where they are: the same rows, without room between them.
pub(super) fn rewrite(connection: &mut Connection, first: Offset, last: Offset) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rows = {
        let sql = r#"SELECT * FROM change WHERE "offset" BETWEEN ?1 AND ?2 ORDER BY "offset""#;
        let mut statement = transaction.prepare_cached(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params![first, last], |row| {
            (0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>()
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()?
    };
    transaction.prepare_cached("INSERT INTO rewriting VALUES (?1, ?2)")?.execute(params![first, last])?;
    let sql = r#"DELETE FROM change WHERE "offset" BETWEEN ?1 AND ?2"#;
    let deleted = transaction.prepare_cached(sql)?.execute(params![first, last])?;
    let columns = rows.first().map_or(0, Vec::len);
    let sql = format!("INSERT INTO change VALUES ({})", vec!["?"; columns].join(", "));
    let mut inserted = 0;
    for row in &rows {
        inserted += transaction.prepare_cached(&sql)?.execute(params_from_iter(row))?;
    }
    assert_eq!((deleted, inserted), (rows.len(), rows.len()), "what is deleted is inserted again");
    transaction.prepare_cached("DELETE FROM rewriting")?.execute([])?;
    transaction.commit()?;
    Ok(())
}
