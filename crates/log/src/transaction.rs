//! A transaction of the writer, and the state of the writer between two of them.

use rusqlite::Connection;

use super::append::{Appended, Epoch};
use super::bodies::Bodies;
use super::chain::Hash;
use super::ids::Ids;
use strandline_model::{Offset, Timestamp};

/// The state of the writer between transactions.
pub(super) struct WriterState {
    pub(super) head: Offset,
    pub(super) hash: Hash,
    pub(super) observed_at: Timestamp,
    pub(super) ids: Ids,
    pub(super) bodies: Bodies,
    /// The newest epoch of any watch, once it was looked up.
    pub(super) epoch: Option<Epoch>,
    /// Groups that are closed and wait to be packed.
    pub(super) closed: usize,
}

/// One transaction of the writer.
pub(super) struct Write<'a> {
    pub(super) connection: &'a Connection,
    pub(super) state: &'a mut WriterState,
    /// Our clock, not before the last change save across a mark of the clock.
    pub(super) now: Timestamp,
}

impl Write<'_> {
    /// Continuity: the next change leaves no hole and takes no offset that is taken, since the log ends where the writer
    /// wrote last.
    pub(super) fn assert_end(&self) -> rusqlite::Result<()> {
        let sql = r#"SELECT coalesce(max("offset"), 0) FROM change"#;
        let end = self.connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, Offset>(0))?;
        assert_eq!(end, self.state.head, "the log does not end where its writer wrote last");
        Ok(())
    }

    pub(super) fn appended(&self, written: usize, unchanged: usize) -> Appended {
        Appended { head: self.state.head, written, unchanged, ..Appended::default() }
    }
}
