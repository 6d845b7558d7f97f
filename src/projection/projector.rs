//! The loop that keeps the view up with the log.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use thiserror::Error;

use super::apply;
use super::context::{Judging, Touched};
use super::file;
use super::ids::Ids;
use crate::health::Judge;
use crate::log::{LogError, LogReader};
use crate::model::{Offset, Record};
use crate::ruleset::RuleSet;
use crate::store::{OpenError, Watermark, is_corrupt};

/// Records applied in one transaction.
const BATCH: usize = 1000;

/// How long to sleep at most: whoever should wake the projector may fail to.
const TICK: Duration = Duration::from_millis(250);

/// Why the projection stopped.
#[derive(Debug, Error)]
pub enum ProjectorError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The view cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The view cannot be written.
    #[error("the view cannot be written: {0}")]
    View(#[from] rusqlite::Error),
    /// A newly built view cannot be put into place.
    #[error("the view cannot be put into place: {0}")]
    Place(#[from] std::io::Error),
    /// The view was made from another log: its last change is not in this one.
    #[error("the view holds changes up to offset {checkpoint} of another log")]
    Foreign {
        /// Where the view is.
        checkpoint: Offset,
    },
}

impl ProjectorError {
    /// Whether building the view anew can help.
    pub fn is_mended_by_rebuild(&self) -> bool {
        match self {
            ProjectorError::View(error) | ProjectorError::Open(OpenError::Sqlite { source: error, .. }) => {
                is_corrupt(error)
            }
            ProjectorError::Open(OpenError::Foreign { .. }) | ProjectorError::Foreign { .. } => true,
            ProjectorError::Log(_) | ProjectorError::Place(_) => false,
        }
    }

    /// Whether there is no room left, which can pass.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, ProjectorError::View(error) if crate::store::is_disk_full(error))
    }
}

/// Reads the log and writes the view.
pub struct Projector {
    log: LogReader,
    view: Connection,
    rules: RuleSet,
    judge: Judge,
    rule_set_id: i64,
    ids: Ids,
    checkpoint: Offset,
}

impl std::fmt::Debug for Projector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Projector(at {})", self.checkpoint)
    }
}

impl Projector {
    /// Opens the log and the view of a data directory, making an empty view where there is none. What changes from
    /// here on is judged by these rules.
    ///
    /// # Errors
    /// When either cannot be opened, or the view was made from another log.
    pub fn open(directory: &Path, rules: RuleSet) -> Result<Self, ProjectorError> {
        Self::open_file(directory, &file::path(directory), rules)
    }

    pub(super) fn open_file(directory: &Path, view: &Path, rules: RuleSet) -> Result<Self, ProjectorError> {
        let log = LogReader::open(directory)?;
        let view = file::open_writer(view)?;
        let checkpoint = match file::checkpoint(&view)? {
            None => Offset::ZERO,
            Some((checkpoint, hash)) if checkpoint <= log.head()? && log.hash_at(checkpoint)? == hash => {
                checkpoint
            }
            Some((checkpoint, _)) => return Err(ProjectorError::Foreign { checkpoint }),
        };
        let rule_set_id = file::rule_set(&view, &rules.name())?;
        let judge = Judge::new(&rules.scripts);
        Ok(Projector { log, view, rules, judge, rule_set_id, ids: Ids::default(), checkpoint })
    }

    /// The last offset applied.
    pub fn checkpoint(&self) -> Offset {
        self.checkpoint
    }

    /// Whether a part of the view was judged by other rules, as its answers say; building it anew judges all alike.
    ///
    /// # Errors
    /// When the view cannot be read.
    pub fn has_other_rules(&self) -> Result<bool, ProjectorError> {
        Ok(file::has_other_rules(&self.view, self.rule_set_id)?)
    }

    /// Applies the next batch and tells what it touched; none when the view holds all of the log.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written; the view is then as before the batch.
    pub fn step(&mut self) -> Result<Option<Touched>, ProjectorError> {
        let records = self.log.after(self.checkpoint, BATCH)?;
        let Some(last) = records.last().map(|record| record.offset) else { return Ok(None) };
        let hash = self.log.hash_at(last)?;
        let result = self.apply(&records, last, hash);
        match result {
            Ok(touched) => {
                self.checkpoint = last;
                Ok(Some(touched))
            }
            Err(error) => {
                // Numbers assigned in a transaction that did not happen must not be used.
                self.ids = Ids::default();
                Err(error.into())
            }
        }
    }

    fn apply(&mut self, records: &[Record], last: Offset, hash: [u8; 16]) -> rusqlite::Result<Touched> {
        let transaction = self.view.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut touched = Touched::default();
        let rules = Judging { set: &self.rules, judge: &self.judge, id: self.rule_set_id };
        for record in records {
            touched.extend(apply::apply(&transaction, &mut self.ids, rules, record)?);
        }
        let sql = r#"INSERT OR REPLACE INTO checkpoint (id, "offset", hash) VALUES (1, ?1, ?2)"#;
        transaction.prepare_cached(sql)?.execute(params![last.as_i64(), hash])?;
        transaction.commit()?;
        Ok(touched)
    }

    /// Follows the log until `stop` says so, publishing the checkpoint after each commit.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written, save for a full disk, which it waits out.
    pub fn run(
        &mut self,
        head: &Watermark,
        checkpoint: &Watermark,
        stop: impl Fn() -> bool,
    ) -> Result<(), ProjectorError> {
        checkpoint.set(self.checkpoint);
        while !stop() {
            match self.step() {
                Ok(Some(touched)) => {
                    checkpoint.set(self.checkpoint);
                    tracing::trace!(
                        checkpoint = %self.checkpoint,
                        environments = touched.environments.len(),
                        resources = touched.resources.len(),
                        "projected"
                    );
                }
                Ok(None) => {
                    head.wait_past(self.checkpoint, TICK);
                }
                Err(error) if error.is_disk_full() => {
                    tracing::error!(%error, "no room for the view; it waits");
                    std::thread::sleep(TICK);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Closes the view with all of it in its one file.
    pub(super) fn close(self) -> Result<(), ProjectorError> {
        self.view.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.view.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}
