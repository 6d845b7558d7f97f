//! The log: the only record, append-only, with one writer.

mod append;

pub use append::{AppendError, Appended, Batch, Epoch, Observation, Observed, Phase, Session};

use crate::model::{CatalogFact, CoverageMark, WatchKey};

/// Hands changes to the log's writer; clones share one bounded queue, and waiting for room is the back-pressure.
#[derive(Clone, Debug)]
pub struct Appender {}

impl Appender {
    /// Begins a run of a watch and tells where it stands; with `fresh` the cursor is forgotten and a list is due.
    pub async fn begin(&self, watch: &WatchKey, fresh: bool) -> Result<Session, AppendError> {
        let _ = (watch, fresh);
        Err(AppendError::Closed)
    }

    /// Records a batch; returns once it is durable.
    pub async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let _ = batch;
        Err(AppendError::Closed)
    }

    /// Records that a kind is watched or not; a mark that repeats the last state and reason is not written.
    pub async fn mark(&self, mark: CoverageMark) -> Result<Appended, AppendError> {
        let _ = mark;
        Err(AppendError::Closed)
    }

    /// Makes the catalog hold exactly these facts: declares what is new or differs, withdraws what is missing.
    pub async fn declare(&self, facts: Vec<CatalogFact>) -> Result<Appended, AppendError> {
        let _ = facts;
        Err(AppendError::Closed)
    }
}
