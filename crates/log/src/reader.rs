//! Reads the log: records in order, single bodies, and the offset of a moment.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::compaction::{Compacted, Compaction};
use super::entry::Entry;
use super::erasures::Erasures;
use super::error::LogError;
use super::file;
use super::keyframes::Keyframes;
use super::row::{self, RawRow};
use super::solid::Unpacked;
use super::thinning::{self, Floor};
use crate::delta::{Codec, Dictionary};
use strandline_model::{Offset, Record, Timestamp};

/// Bytes of bodies after which a page of records ends, however few they are: objects may have a megabyte and more.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Keyframes kept unpacked by one reader, in bytes.
const KEYFRAME_BYTES: usize = 16 * 1024 * 1024;

/// Reads the log over a connection of its own.
pub struct LogReader {
    pub(super) connection: Connection,
    pub(super) codec: Codec,
    pub(super) dictionaries: HashMap<i64, Arc<Dictionary>>,
    pub(super) keyframes: Keyframes,
    pub(super) unpacked: Unpacked,
    pub(super) erasures: Erasures,
}

/// A log in one unchanging state.
#[derive(Debug)]
pub struct LogSnapshot<'a>(&'a mut LogReader);

impl Deref for LogSnapshot<'_> {
    type Target = LogReader;

    fn deref(&self) -> &LogReader {
        self.0
    }
}

impl DerefMut for LogSnapshot<'_> {
    fn deref_mut(&mut self) -> &mut LogReader {
        self.0
    }
}

impl Drop for LogSnapshot<'_> {
    fn drop(&mut self) {
        // It only read. Should this fail, the next snapshot cannot begin and says so.
        let _ = self.0.connection.execute_batch("ROLLBACK");
    }
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogReader")
    }
}

impl LogReader {
    /// Opens the log of a data directory.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a log.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        Ok(LogReader::over(file::open_reader(directory)?))
    }

    /// Opens the log of a data directory, on a full disk as well as long as nobody writes it. As soon as somebody does,
    /// such a reader has to be closed.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a log.
    pub fn open_at_rest(directory: &Path) -> Result<Self, LogError> {
        Ok(LogReader::over(file::open_at_rest(directory)?))
    }

    /// Opens the log of a data directory from outside, leaving no trace.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a log.
    pub fn inspect(directory: &Path) -> Result<Self, LogError> {
        Ok(LogReader::over(file::open_inspector(directory)?))
    }

    /// Reads over a connection that is open already.
    pub(super) fn over(connection: Connection) -> Self {
        LogReader {
            connection,
            codec: Codec::default(),
            dictionaries: HashMap::new(),
            keyframes: Keyframes::new(KEYFRAME_BYTES),
            unpacked: Unpacked::default(),
            erasures: Erasures::default(),
        }
    }

    /// Breaks off what is being read once `over` says so, which is asked after so many steps of SQLite's machine.
    ///
    /// # Errors
    /// When the log is no longer open.
    pub fn give_up_when(
        &mut self,
        steps: i32,
        over: impl FnMut() -> bool + Send + 'static,
    ) -> Result<(), LogError> {
        Ok(self.connection.progress_handler(steps, Some(over))?)
    }

    /// Keeps to one unchanging state of the log as long as the result lives, so that what several answers say is of
    /// the same state.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn begin(&mut self) -> Result<LogSnapshot<'_>, LogError> {
        self.connection.execute_batch("BEGIN")?;
        let snapshot = LogSnapshot(self);
        // The first reading is what fixes the state.
        snapshot.compacted()?;
        Ok(snapshot)
    }

    /// Reads in one unchanging state: that of the snapshot, or else one of its own.
    fn steady<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, LogError>) -> Result<T, LogError> {
        if !self.connection.is_autocommit() {
            return read(self);
        }
        let mut snapshot = self.begin()?;
        read(&mut snapshot)
    }

    /// The newest offset.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn head(&self) -> Result<Offset, LogError> {
        let mut statement = self.connection.prepare_cached(r#"SELECT max("offset") FROM change"#)?;
        let head: Option<i64> = statement.query_row([], |row| row.get(0))?;
        Ok(Offset::from_i64(head.unwrap_or(0)))
    }

    /// The oldest offset that can be asked for; zero while retention has let nothing go.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn compacted(&self) -> Result<Compacted, LogError> {
        Ok(Compaction::load(&self.connection)?.compacted)
    }

    /// Up to here retention has let something go, so that who reads from before has to read from the beginning.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn swept(&self) -> Result<Offset, LogError> {
        Ok(Compaction::load(&self.connection)?.swept.max(thinning::reached(&self.connection)?))
    }

    /// From where on each kind is known that retention lets go before the rest, by cluster, group and kind.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn floors(&self) -> Result<Vec<Floor>, LogError> {
        thinning::floors(&self.connection)
    }

    /// When the change at `offset` was observed; none where there is no such change, or none any more.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn observed_at(&self, offset: Offset) -> Result<Option<Timestamp>, LogError> {
        let mut statement =
            self.connection.prepare_cached(r#"SELECT observed_at FROM change WHERE "offset" = ?1"#)?;
        let micros: Option<i64> = statement.query_row([offset.as_i64()], |row| row.get(0)).optional()?;
        if micros.is_none() {
            let compacted = self.compacted()?;
            return Ok(compacted.observed_at.filter(|_| compacted.offset == offset));
        }
        Ok(micros.map(Timestamp::from_micros))
    }

    /// The last offset observed at or before a time, none above `limit`; zero when there is none that can be asked for.
    /// What was recorded under a wrong clock is passed over.
    ///
    /// Observation times never go backwards, save across a mark of the clock, so this is a bisection over the offsets
    /// between such marks: some twenty point reads in a log of a million changes, and no index to write.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn offset_at(&mut self, time: Timestamp, limit: Offset) -> Result<Offset, LogError> {
        self.steady(|log| log.exact_offset_at(time, limit))
    }

    /// Up to `limit` records after `offset`, in order, each verified, fewer where they are large; none at the end of the log. Where retention has let
    /// changes go these are the ones that are left, and from there on there is no gap.
    ///
    /// # Errors
    /// When the log cannot be read, or a change is missing or damaged.
    pub fn after(&mut self, offset: Offset, limit: usize) -> Result<Vec<Record>, LogError> {
        self.read_after(offset, limit, |log, row, let_go| match let_go {
            true => log.forgotten(row).map(|record| Some((0, record))),
            false => log.record(row).map(|record| Some((record.change.body().len(), record))),
        })
    }

    /// The same with their bodies as they were recorded, to go into another log; without those that have none any more.
    ///
    /// # Errors
    /// As [`LogReader::after`].
    pub fn entries_after(&mut self, offset: Offset, limit: usize) -> Result<Vec<Entry>, LogError> {
        self.read_after(offset, limit, |log, row, let_go| match let_go {
            true => Ok(None),
            false => log.entry(row).map(|entry| Some((entry.body.len(), entry))),
        })
    }

    fn read_after<T>(
        &mut self,
        offset: Offset,
        limit: usize,
        read: impl Fn(&mut Self, RawRow, bool) -> Result<Option<(usize, T)>, LogError>,
    ) -> Result<Vec<T>, LogError> {
        self.steady(|log| {
            let (mut at, thinned) = (offset, thinning::reached(&log.connection)?);
            loop {
                let rows = log.rows_after(at, limit)?;
                let Some(last) = rows.last() else { return Ok(Vec::new()) };
                at = last.offset;
                let (mut found, mut bytes) = (Vec::new(), 0);
                for row in rows {
                    let let_go = row.is_hollow()
                        || (row.offset <= thinned && thinning::is_let_go(&log.connection, &row)?);
                    if let Some((size, one)) = read(log, row, let_go)? {
                        bytes += size;
                        found.push(one);
                    }
                    if bytes >= PAGE_BYTES {
                        break;
                    }
                }
                if !found.is_empty() {
                    return Ok(found);
                }
            }
        })
    }

    fn rows_after(&self, offset: Offset, limit: usize) -> Result<Vec<RawRow>, LogError> {
        let compaction = Compaction::load(&self.connection)?;
        let mut rows = compaction.kept_after(&self.connection, offset, limit)?;
        if rows.is_empty() {
            let from = offset.max(compaction.swept);
            rows = row::after(&self.connection, from, limit)?;
            self.check_chain(from, &rows)?;
        }
        Ok(rows)
    }

    /// The record at `offset`.
    ///
    /// # Errors
    /// When there is no such change, or none any more, or it cannot be read.
    pub fn at(&mut self, offset: Offset) -> Result<Record, LogError> {
        self.steady(|log| {
            let row = log.row(offset)?;
            if thinning::is_let_go(&log.connection, &row)? {
                return Err(log.let_go(&row)?);
            }
            log.record(row)
        })
    }

    /// Checks the chain and the bodies of the changes after `from` up to and including `to`, as far as they are left.
    pub(super) fn verify(&mut self, from: Offset, to: Offset) -> Result<(), LogError> {
        self.steady(|log| {
            let mut at = from.max(Compaction::load(&log.connection)?.swept);
            while at < to {
                let rows = row::after(&log.connection, at, 500)?;
                log.check_chain(at, &rows)?;
                at = rows.last().ok_or_else(|| row::missing(at.next()))?.offset;
                for row in &rows {
                    log.check_body(row)?;
                }
            }
            Ok(())
        })
    }

    /// Checks that all is there that retention left of the changes it let go, each with its body.
    pub(super) fn verify_kept(&mut self) -> Result<(), LogError> {
        self.steady(|log| {
            let compaction = Compaction::load(&log.connection)?;
            compaction.check_kept(&log.connection)?;
            thinning::check_held(&log.connection)?;
            let mut at = Offset::ZERO;
            loop {
                let rows = compaction.kept_after(&log.connection, at, 500)?;
                let Some(last) = rows.last() else { return Ok(()) };
                at = last.offset;
                for row in &rows {
                    log.check_body(row)?;
                }
            }
        })
    }

    /// The hash of the change at `offset`, which covers all changes up to it; zeros before the first.
    ///
    /// # Errors
    /// When there is no such change, or none any more, or the log cannot be read.
    pub fn hash_at(&self, offset: Offset) -> Result<[u8; 16], LogError> {
        Compaction::load(&self.connection)?.hash_at(&self.connection, offset)
    }

    /// What is read through.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn row(&self, offset: Offset) -> Result<RawRow, LogError> {
        match row::at(&self.connection, offset)? {
            Some(row) => Ok(row),
            None => Err(Compaction::load(&self.connection)?.absent(offset)),
        }
    }

    fn check_chain(&self, after: Offset, rows: &[RawRow]) -> Result<(), LogError> {
        if rows.is_empty() { Ok(()) } else { row::check_chain(after, self.hash_at(after)?, rows) }
    }
}
