//! Lines of search that are kept in memory from one search to the next.
//!
//! A search looks through every line, and reading them takes longer than looking. Lines come in blocks, and a block that others
//! follow stays as it is under one revision, of which the view has another after a change that may have come into such a block.
//!
//! Why: docs/decisions/0035-search-scans-packed-lines.md.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::error::Result;
use strandline_view::search_lines;

/// A block with its number.
pub(super) type Block = (i64, Arc<str>);

/// The first blocks of each table of one file of the view; clones share them.
#[derive(Clone)]
pub(super) struct KeptLines {
    /// Bytes of lines at most.
    most: usize,
    tables: Arc<Mutex<HashMap<&'static str, Kept>>>,
}

/// What is kept of one table.
#[derive(Default)]
struct Kept {
    revision: i64,
    /// In the order of their numbers, and none left out.
    blocks: Arc<Vec<Block>>,
    bytes: usize,
}

impl KeptLines {
    /// None yet, and so many bytes at most.
    pub(super) fn new(most: usize) -> Self {
        KeptLines { most, tables: Arc::default() }
    }

    /// The same of another file, of which nothing is known yet.
    pub(super) fn of_another_file(&self) -> Self {
        KeptLines::new(self.most)
    }

    /// The first blocks of a table, as many as are kept: what follows the last of them is in the view. They may have lines of
    /// what is not there yet in an older state of the view, and none that its view has otherwise.
    pub(super) fn first(&self, view: &Connection, table: &'static str) -> Result<Arc<Vec<Block>>> {
        let revision = search_lines::revision(view, table)?;
        // Who comes meanwhile waits for what they would read themselves. What breaks off leaves what was read by then.
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let elsewhere: usize =
            tables.iter().filter(|(of, _)| **of != table).map(|(_, kept)| kept.bytes).sum();
        let kept = tables.entry(table).or_default();
        if kept.revision > revision {
            return Ok(Arc::default());
        }
        if kept.revision < revision {
            *kept = Kept { revision, ..Kept::default() };
        }
        kept.read_on(view, table, self.most.saturating_sub(elsewhere))?;
        Ok(Arc::clone(&kept.blocks))
    }
}

impl Kept {
    /// Reads the blocks that came since, as long as others follow them.
    fn read_on(&mut self, view: &Connection, table: &str, most: usize) -> Result<()> {
        let sql = format!(
            "SELECT block, lines FROM {table} WHERE block > ?1 AND block < (SELECT max(block) FROM {table})
            ORDER BY block"
        );
        let mut statement = view.prepare_cached(&sql)?;
        let mut rows = statement.query([self.blocks.last().map_or(i64::MIN, |(block, _)| *block)])?;
        while let Some(row) = rows.next()? {
            let lines = row.get_ref(1)?.as_str()?;
            if self.bytes + lines.len() > most {
                break;
            }
            self.bytes += lines.len();
            Arc::make_mut(&mut self.blocks).push((row.get(0)?, lines.into()));
        }
        Ok(())
    }
}
