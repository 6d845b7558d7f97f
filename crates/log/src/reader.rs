//! Reads the log: records in order, single bodies, and the offset of a moment.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};

use super::compaction::{Compacted, Compaction, prepare_if_there};
use super::erasures::Erasures;
use super::error::LogError;
use super::file;
use super::floors::{self, Floor};
use super::keyframes::Keyframes;
use super::open::of_file;
use super::row::{self, RawRow};
use super::schema;
use super::solid::Unpacked;
use crate::delta::{Codec, Dictionary};
use strandline_model::{Offset, Timestamp};
use strandline_sqlite::column::LOG;

/// What one reader keeps in memory, in bytes, unless another number is given. There may be many readers, and each fills this sooner
/// or later, so that it counts as often in what the process takes.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// The part of that for pages of the file …
const PAGES: usize = 4;
/// … for unpacked keyframes, those of what changes often …
const KEYFRAMES: usize = 4;
/// … and for unpacked frames.
const FRAMES: usize = 2;

/// Reads the log over a connection of its own.
pub struct LogReader {
    pub(super) connection: Connection,
    pub(super) codec: Codec,
    pub(super) dictionaries: HashMap<i64, Arc<Dictionary>>,
    pub(super) keyframes: Keyframes,
    pub(super) unpacked: Unpacked,
    pub(super) erasures: Erasures,
    /// Of the snapshot that is open, if one is.
    ends: Cell<Option<Ends>>,
}

/// Where the log begins and ends, as far as a snapshot has looked: every answer asks several times.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    compacted: Option<Compacted>,
    /// Whether retention has pruned kinds before the rest.
    is_thinned: Option<bool>,
    newest: Option<Newest>,
}

/// The newest change, by its offset and when it was observed; of an empty log offset zero, at no time.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    offset: Offset,
    observed_at: Option<Timestamp>,
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
        self.0.ends.take();
        // It only read. Should this fail, the next snapshot fails to begin.
        let _ = self.0.connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
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
    /// When the file cannot be opened, is not a log, or is newer than this program.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        let connection = file::open_reader(directory)?;
        schema::refuse_newer(&connection, &file::path(directory))?;
        Ok(LogReader::over(connection))
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
    /// When the file cannot be opened, is not a log, or is newer than this program.
    pub fn inspect(directory: &Path) -> Result<Self, LogError> {
        let connection = file::open_inspector(directory)?;
        schema::refuse_newer(&connection, &file::path(directory))?;
        Ok(LogReader::over(connection))
    }

    /// The same in a process that never writes the log, which has to be as this program keeps it, so that everything in it can be
    /// asked for.
    ///
    /// # Errors
    /// When the file cannot be opened, is not a log, or is of another version.
    pub fn open_outside(directory: &Path) -> Result<Self, LogError> {
        let (connection, path) = (file::open_outsider(directory)?, file::path(directory));
        schema::check_readable(&connection, &path).map_err(|error| of_file(&path, error))?;
        Ok(LogReader::over(connection))
    }

    /// Reads over a connection that is open already.
    pub(super) fn over(connection: Connection) -> Self {
        LogReader {
            connection,
            codec: Codec::default(),
            dictionaries: HashMap::new(),
            keyframes: Keyframes::new(CACHE_BYTES / KEYFRAMES),
            unpacked: Unpacked::new(CACHE_BYTES / FRAMES),
            erasures: Erasures::default(),
            ends: Cell::default(),
        }
    }

    /// Keeps at most about so many bytes in memory of what was read: pages, keyframes and frames.
    ///
    /// # Errors
    /// When the log is no longer open.
    pub fn with_cache(self, bytes: usize) -> Result<Self, LogError> {
        strandline_sqlite::size_cache(&self.connection, bytes / PAGES)?;
        let (keyframes, unpacked) = (Keyframes::new(bytes / KEYFRAMES), Unpacked::new(bytes / FRAMES));
        Ok(LogReader { keyframes, unpacked, ..self })
    }

    /// Breaks off what is being read once `over` returns true, which is called after so many steps of SQLite's machine.
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

    /// Waits no longer than this where the log is locked.
    ///
    /// # Errors
    /// When the log is no longer open.
    pub fn wait_for_locks(&self, longest: Duration) -> Result<(), LogError> {
        Ok(self.connection.busy_timeout(longest)?)
    }

    /// Keeps to one unchanging state of the log as long as the result lives, so that what several answers say is of
    /// the same state.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn begin(&mut self) -> Result<LogSnapshot<'_>, LogError> {
        self.connection.prepare_cached("BEGIN")?.execute([])?;
        let snapshot = LogSnapshot(self);
        // The first reading is what fixes the state.
        let ends = snapshot.beginning()?;
        snapshot.ends.set(Some(ends));
        Ok(snapshot)
    }

    /// Where the log begins, in one statement: every answer asks.
    fn beginning(&self) -> Result<Ends, LogError> {
        let sql = "SELECT compacted, compacted_at, EXISTS (SELECT 1 FROM thinning) FROM compaction";
        let Some(mut statement) = prepare_if_there(&self.connection, sql)? else {
            let compacted = Compaction::load(&self.connection)?.compacted;
            return Ok(Ends { compacted: Some(compacted), ..Ends::default() });
        };
        let read = |row: &Row<'_>| {
            let offset = LOG.get_at(row, 0, "compaction.compacted")?;
            let compacted = Compacted { offset, observed_at: row.get(1)? };
            Ok(Ends { compacted: Some(compacted), is_thinned: Some(row.get(2)?), newest: None })
        };
        Ok(statement.query_row([], read)?)
    }

    /// Reads in one unchanging state: that of the snapshot, or else one of its own.
    pub(super) fn steady<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        if !self.connection.is_autocommit() {
            return read(self);
        }
        let mut snapshot = self.begin()?;
        read(&mut snapshot)
    }

    /// Keeps what was found, if a snapshot is open in which it stays as it is.
    fn keep(&self, found: impl FnOnce(Ends) -> Ends) {
        self.ends.set(self.ends.get().map(found));
    }

    /// The newest offset.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn head(&self) -> Result<Offset, LogError> {
        Ok(self.newest()?.offset)
    }

    fn newest(&self) -> Result<Newest, LogError> {
        if let Some(newest) = self.ends.get().and_then(|ends| ends.newest) {
            return Ok(newest);
        }
        let sql = r#"SELECT "offset", observed_at FROM change ORDER BY "offset" DESC LIMIT 1"#;
        // Where the time cannot be read, who asks for it learns why: of a damaged log too there is an end.
        let read =
            |row: &Row<'_>| Ok(Newest { offset: row.get(0)?, observed_at: row.get(1).unwrap_or_default() });
        let newest = self.connection.prepare_cached(sql)?.query_row([], read).optional()?.unwrap_or_default();
        self.keep(|ends| Ends { newest: Some(newest), ..ends });
        Ok(newest)
    }

    /// The oldest offset that can be asked for; zero while retention has pruned nothing.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn compacted(&self) -> Result<Compacted, LogError> {
        if let Some(compacted) = self.ends.get().and_then(|ends| ends.compacted) {
            return Ok(compacted);
        }
        let compacted = Compaction::load(&self.connection)?.compacted;
        self.keep(|ends| Ends { compacted: Some(compacted), ..ends });
        Ok(compacted)
    }

    /// The last offset up to which retention has pruned: readers that start before it must read from the beginning.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn swept(&self) -> Result<Offset, LogError> {
        Ok(Compaction::load(&self.connection)?.swept.max(floors::reached(&self.connection)?))
    }

    /// The floors of the kinds that retention prunes before the rest, by cluster, group and kind.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn floors(&self) -> Result<Vec<Floor>, LogError> {
        floors::floors(&self.connection)
    }

    /// When the change at `offset` was observed; none where there is no such change, or none any more.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn observed_at(&self, offset: Offset) -> Result<Option<Timestamp>, LogError> {
        // That is what answers about now ask, after they have asked for the head.
        let newest = self.ends.get().and_then(|ends| ends.newest).filter(|newest| newest.offset == offset);
        if let Some(Newest { observed_at: Some(observed_at), .. }) = newest {
            return Ok(Some(observed_at));
        }
        let mut statement =
            self.connection.prepare_cached(r#"SELECT observed_at FROM change WHERE "offset" = ?1"#)?;
        let found: Option<Timestamp> = statement.query_row([offset], |row| row.get(0)).optional()?;
        if found.is_none() {
            let compacted = self.compacted()?;
            return Ok(compacted.observed_at.filter(|_| compacted.offset == offset));
        }
        Ok(found)
    }

    /// The hash of the change at `offset`, which covers all changes up to it; zeros before the first.
    ///
    /// # Errors
    /// When there is no such change, or none any more, or the log cannot be read.
    pub fn hash_at(&self, offset: Offset) -> Result<[u8; 16], LogError> {
        Compaction::load(&self.connection)?.hash_at(&self.connection, offset)
    }

    /// Whether retention has pruned a change.
    pub(super) fn is_pruned(&self, row: &RawRow) -> Result<bool, LogError> {
        let is_thinned = self.ends.get().and_then(|ends| ends.is_thinned).unwrap_or(true);
        Ok(row.has_no_body_left() || (is_thinned && floors::is_pruned(&self.connection, row)?))
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
}
