//! The way into the log: a bounded queue whose other end is the writer's thread.

use tokio::sync::{mpsc, oneshot};

use super::append::{AppendError, Appended, Batch, Session};
use crate::model::{CatalogFact, CoverageMark, WatchKey};

/// How many requests wait for the writer; whoever finds the queue full waits, and nothing is dropped.
const QUEUE: usize = 256;

/// What the writer is asked for.
#[derive(Debug)]
pub(super) enum Request {
    Begin { watch: WatchKey, fresh: bool },
    Append(Batch),
    Mark(CoverageMark),
    Declare(Vec<CatalogFact>),
}

/// What the writer answers, after the commit.
#[derive(Debug)]
pub(super) enum Reply {
    Session(Session),
    Appended(Appended),
}

/// A request and where its answer goes.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Result<Reply, AppendError>>,
}

/// Hands changes to the log's writer; clones share one bounded queue, and waiting for room is the
/// back-pressure.
#[derive(Clone, Debug)]
pub struct Appender {
    queue: mpsc::Sender<Queued>,
}

impl Appender {
    pub(super) fn channel() -> (Self, mpsc::Receiver<Queued>) {
        let (queue, receiver) = mpsc::channel(QUEUE);
        (Appender { queue }, receiver)
    }

    async fn ask(&self, request: Request) -> Result<Reply, AppendError> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Queued { request, reply }).await.map_err(|_| AppendError::Closed)?;
        answer.await.unwrap_or(Err(AppendError::Closed))
    }

    async fn write(&self, request: Request) -> Result<Appended, AppendError> {
        match self.ask(request).await? {
            Reply::Appended(appended) => Ok(appended),
            Reply::Session(_) => Err(AppendError::Closed),
        }
    }

    /// Begins a run of a watch and tells where it stands; with `fresh` the cursor is forgotten and a list is
    /// due.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn begin(&self, watch: &WatchKey, fresh: bool) -> Result<Session, AppendError> {
        match self.ask(Request::Begin { watch: watch.clone(), fresh }).await? {
            Reply::Session(session) => Ok(session),
            Reply::Appended(_) => Err(AppendError::Closed),
        }
    }

    /// Records a batch; returns once it is durable.
    ///
    /// # Errors
    /// When a newer run of the watch has begun, or the log is closed or failed.
    pub async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.write(Request::Append(batch)).await
    }

    /// Records that a kind is watched or not; a mark that repeats the last state and reason is not written.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn mark(&self, mark: CoverageMark) -> Result<Appended, AppendError> {
        self.write(Request::Mark(mark)).await
    }

    /// Makes the catalog hold exactly these facts: declares what is new or differs, withdraws what is missing.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn declare(&self, facts: Vec<CatalogFact>) -> Result<Appended, AppendError> {
        self.write(Request::Declare(facts)).await
    }
}
