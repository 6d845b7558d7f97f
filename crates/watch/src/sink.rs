//! Where observations go.

use std::future::Future;

use strandline_log::{
    Agreement, AppendError, Appended, Appender, Batch, Begin, Epoch, Identified, LivePage, LivePosition,
    Session,
};
use strandline_model::{CoverageMark, Timestamp, WatchKey};

/// The log as watches see it; in tests a recorder takes its place.
pub trait Sink: Clone + Send + Sync + 'static {
    /// Begins a run of a watch; returns where it resumes.
    fn begin(&self, begin: Begin) -> impl Future<Output = Result<Session, AppendError>> + Send;

    /// Records a batch; returns once it is durable.
    fn append(&self, batch: Batch) -> impl Future<Output = Result<Appended, AppendError>> + Send;

    /// Records that a kind is watched or not.
    fn mark(&self, mark: CoverageMark) -> impl Future<Output = Result<Appended, AppendError>> + Send;

    /// Ends a watch for good; with `unfollow` what it saw is no longer taken for alive.
    fn dismiss(
        &self,
        mark: CoverageMark,
        unfollow: bool,
    ) -> impl Future<Output = Result<Appended, AppendError>> + Send;

    /// Records which cluster answers under a name.
    fn identify(
        &self,
        cluster: &str,
        uid: &str,
    ) -> impl Future<Output = Result<Identified, AppendError>> + Send;

    /// The watches of a cluster that ever began and were not dismissed, with up to when each recorded everything.
    fn watches(
        &self,
        cluster: &str,
    ) -> impl Future<Output = Result<Vec<(WatchKey, Option<Timestamp>)>, AppendError>> + Send;

    /// Objects of a watch that are recorded as alive, after a position.
    fn live_objects(
        &self,
        watch: &WatchKey,
        after: LivePosition,
        limit: usize,
    ) -> impl Future<Output = Result<LivePage, AppendError>> + Send;

    /// Remembers whether what is alive of a watch agrees with what the cluster has.
    fn agreement(
        &self,
        watch: &WatchKey,
        epoch: Epoch,
        agreement: Agreement,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Keeps the definition of a custom kind with the cursor of a watch of it; false where another one is kept, so that
    /// the watch has to begin anew with this one.
    fn define(
        &self,
        watch: WatchKey,
        definition: String,
    ) -> impl Future<Output = Result<bool, AppendError>> + Send;
}

impl Sink for Appender {
    async fn begin(&self, begin: Begin) -> Result<Session, AppendError> {
        Appender::begin(self, begin).await
    }

    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        Appender::append(self, batch).await
    }

    async fn mark(&self, mark: CoverageMark) -> Result<Appended, AppendError> {
        Appender::mark(self, mark).await
    }

    async fn dismiss(&self, mark: CoverageMark, unfollow: bool) -> Result<Appended, AppendError> {
        Appender::dismiss(self, mark, unfollow).await
    }

    async fn identify(&self, cluster: &str, uid: &str) -> Result<Identified, AppendError> {
        Appender::identify(self, cluster, uid).await
    }

    async fn watches(&self, cluster: &str) -> Result<Vec<(WatchKey, Option<Timestamp>)>, AppendError> {
        Appender::watches(self, cluster).await
    }

    async fn live_objects(
        &self,
        watch: &WatchKey,
        after: LivePosition,
        limit: usize,
    ) -> Result<LivePage, AppendError> {
        Appender::live_objects(self, watch, after, limit).await
    }

    async fn agreement(
        &self,
        watch: &WatchKey,
        epoch: Epoch,
        agreement: Agreement,
    ) -> Result<(), AppendError> {
        Appender::agreement(self, watch, epoch, agreement).await
    }

    async fn define(&self, watch: WatchKey, definition: String) -> Result<bool, AppendError> {
        Appender::define(self, watch, definition).await
    }
}
