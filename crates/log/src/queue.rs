//! The queue of a writer, which can be there before the log is open, and the log that is opened for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rusqlite::Connection;

use super::appender::Appender;
use super::chain::HeadFile;
use super::decisions::Decisions;
use super::error::LogError;
use super::health::WriterHealth;
use super::lanes::Lanes;
use super::packer::Packer;
use super::transaction::WriterState;
use super::{catalog, erase, open};
use strandline_clock::Clock;
use strandline_model::{Offset, reason};
use strandline_sqlite::Watermark;

/// What is asked of a log that is not open yet: it waits.
pub struct Queue {
    pub(super) lanes: Lanes,
    pub(super) decisions: Weak<Decisions>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) health: WriterHealth,
    pub(super) head: Watermark,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl Queue {
    /// A queue and the way into it.
    pub fn new(clock: Arc<dyn Clock>) -> (Self, Appender) {
        let health = WriterHealth::new(Arc::clone(&clock));
        let made = Arc::default();
        let decisions = Arc::downgrade(&made);
        let (appender, lanes) = Appender::channel(made, health.clone());
        (Queue { lanes, decisions, clock, health, head: Watermark::new(Offset::ZERO) }, appender)
    }

    /// The newest offset, published after each commit.
    pub fn head(&self) -> Watermark {
        self.head.clone()
    }

    /// Whether the log takes changes.
    pub fn health(&self) -> WriterHealth {
        self.health.clone()
    }

    /// Whether nobody is left who could ask.
    pub fn is_closed(&self) -> bool {
        self.lanes.is_closed()
    }

    /// The log cannot be opened for want of room, for now.
    pub fn report_no_room(&self) {
        let message =
            "no space left on the disk; free disk space, then recording starts automatically".to_owned();
        self.health.report(reason::NO_ROOM, self.clock.now(), message);
    }
}

/// A log that is open to be written.
pub struct OpenLog {
    /// Reads over a connection of its own, which has to be closed first: the last one to close takes the WAL away, and
    /// one that only reads cannot.
    pub(super) packer: Packer,
    pub(super) connection: Connection,
    pub(super) head_file: HeadFile,
    pub(super) state: WriterState,
    pub(super) directory: PathBuf,
}

impl std::fmt::Debug for OpenLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpenLog")
    }
}

impl OpenLog {
    /// Opens, migrates and verifies the log of a data directory whose lock the caller holds.
    ///
    /// # Errors
    /// When the log cannot be opened, is newer than this program, or misses what was acknowledged.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        let head_file = HeadFile::new(directory);
        erase::resume(directory)?;
        open::check_before_open(directory, &head_file)?;
        let mut connection = open::open_writer(directory)?;
        let mut state = open::writer_state(&connection, directory)?;
        catalog::fill_aliases(&mut connection, &mut state.bodies)?;
        open::make_shrinkable(&connection, directory)?;
        let packer = Packer::open(directory)?;
        Ok(OpenLog { packer, connection, head_file, state, directory: directory.to_owned() })
    }
}
