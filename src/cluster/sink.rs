//! Where observations go.

use std::future::Future;

use crate::log::{AppendError, Appended, Appender, Batch, Session};
use crate::model::{CoverageMark, WatchKey};

/// The log as watches see it; a recording one stands in for it in tests.
pub trait Sink: Clone + Send + Sync + 'static {
    /// Begins a run of a watch; with `fresh` the cursor is forgotten and a list is due.
    fn begin(
        &self,
        watch: &WatchKey,
        fresh: bool,
    ) -> impl Future<Output = Result<Session, AppendError>> + Send;

    /// Records a batch; returns once it is durable.
    fn append(&self, batch: Batch) -> impl Future<Output = Result<Appended, AppendError>> + Send;

    /// Records that a kind is watched or not.
    fn mark(&self, mark: CoverageMark) -> impl Future<Output = Result<Appended, AppendError>> + Send;
}

impl Sink for Appender {
    async fn begin(&self, watch: &WatchKey, fresh: bool) -> Result<Session, AppendError> {
        Appender::begin(self, watch, fresh).await
    }

    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        Appender::append(self, batch).await
    }

    async fn mark(&self, mark: CoverageMark) -> Result<Appended, AppendError> {
        Appender::mark(self, mark).await
    }
}
