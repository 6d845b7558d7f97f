//! The way into the log: a bounded queue whose other end is the writer's thread.

use std::sync::{Arc, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::append::{AppendError, Appended, Batch, Begin, Epoch, Identified, Session};
use super::compaction::Compacted;
use super::decisions::{Catalog, Decision, Decisions};
use super::declared::{CatalogChange, Decided};
use super::error::LogError;
use super::floors::Floor;
use super::forget::{Forget, ForgetRefusal, Forgotten};
use super::health::WriterHealth;
use super::lanes::{CALLERS, Lanes, Senders, WeakSenders};
use super::request::{Queued, Reply, Request, Shrunk};
use super::sweep::Swept;
use super::thinning::Thinned;
use super::verify::{Agreement, LivePage, LivePosition};
use strandline_model::{CatalogFact, CoverageMark, KindPattern, Offset, Source, Timestamp, WatchKey};

/// How often a decision is made anew because what it rests on changed meanwhile.
const DECIDED_MAX: usize = 8;

/// Hands changes to the log's writer; clones share one bounded queue, and waiting for room is the
/// back-pressure.
#[derive(Clone, Debug)]
pub struct Appender {
    /// Reads over connections of its own, which have to be closed before the writer's: so they stand before the queue.
    decisions: Arc<Decisions>,
    queue: Senders,
    /// Room for callers who wait.
    callers: Arc<Semaphore>,
    health: WriterHealth,
    /// Why nothing is taken at all.
    refusal: Option<Arc<str>>,
}

/// How full the queue into the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLoad {
    /// Requests in the queue.
    pub waiting: usize,
    /// Requests for which it has room; whoever finds it full waits.
    pub capacity: usize,
}

/// A way into the log that does not keep its writer running.
#[derive(Clone, Debug)]
pub struct WeakAppender {
    decisions: Weak<Decisions>,
    queue: WeakSenders,
    callers: Arc<Semaphore>,
    health: WriterHealth,
    refusal: Option<Arc<str>>,
}

/// Leave for a caller to ask something of the writer, as long as it lives.
#[derive(Debug)]
pub struct Admitted(#[expect(dead_code, reason = "it exists to be dropped")] OwnedSemaphorePermit);

impl WeakAppender {
    /// The way into the log, while somebody keeps its writer running.
    pub fn upgrade(&self) -> Option<Appender> {
        let (decisions, queue) = (self.decisions.upgrade()?, self.queue.upgrade()?);
        let (callers, health) = (Arc::clone(&self.callers), self.health.clone());
        Some(Appender { decisions, queue, callers, health, refusal: self.refusal.clone() })
    }

    /// How full the queue is; none once the log is closed.
    pub fn queue_load(&self) -> Option<QueueLoad> {
        let queue = self.queue.upgrade()?.recording;
        let capacity = queue.max_capacity();
        debug_assert!(queue.capacity() <= capacity, "the queue has more room than there is");
        Some(QueueLoad { waiting: capacity.saturating_sub(queue.capacity()), capacity })
    }
}

impl Appender {
    /// Requests of callers in the queue.
    #[cfg(test)]
    pub(super) fn queue_load_of_callers(&self) -> usize {
        self.queue.callers.max_capacity() - self.queue.callers.capacity()
    }

    /// The same without keeping the writer running.
    pub fn downgrade(&self) -> WeakAppender {
        let (decisions, queue) = (Arc::downgrade(&self.decisions), self.queue.downgrade());
        let (callers, health) = (Arc::clone(&self.callers), self.health.clone());
        WeakAppender { decisions, queue, callers, health, refusal: self.refusal.clone() }
    }

    /// The way into a log that takes nothing, and why.
    pub fn refusing(why: &str) -> Self {
        let (decisions, health) = (Arc::default(), WriterHealth::default());
        Appender { refusal: Some(why.into()), ..Self::channel(decisions, health).0 }
    }

    pub(super) fn channel(decisions: Arc<Decisions>, health: WriterHealth) -> (Self, Lanes) {
        let (queue, lanes) = Lanes::new();
        let callers = Arc::new(Semaphore::new(CALLERS));
        (Appender { decisions, queue, callers, health, refusal: None }, lanes)
    }

    /// Lets a caller wait for the writer, unless too many do.
    ///
    /// # Errors
    /// When so many callers wait that one more would only wait behind them.
    pub fn admit(&self) -> Result<Admitted, AppendError> {
        Arc::clone(&self.callers).try_acquire_owned().map(Admitted).map_err(|_| AppendError::Busy)
    }

    async fn ask(&self, request: Request) -> Result<Reply, AppendError> {
        if let Some(why) = &self.refusal {
            return Err(AppendError::ReadOnly(why.to_string()));
        }
        let (reply, answer) = oneshot::channel();
        // Before there is room in the queue: what waits for it is recorded late as well.
        let handed_over = request.cluster().is_some().then(|| self.health.pending().hand_over());
        let queued = Queued { request, reply, handed_over };
        self.queue.of(&queued).send(queued).await.map_err(|_| AppendError::Closed)?;
        answer.await.unwrap_or(Err(AppendError::Closed))
    }

    /// The writer answers each request in kind; anything else would be a writer that has lost its way.
    async fn write(&self, request: Request) -> Result<Appended, AppendError> {
        match self.ask(request).await? {
            Reply::Appended(appended) => Ok(appended),
            _ => Err(AppendError::Closed),
        }
    }

    /// Begins a run of a watch and returns its state.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn begin(&self, begin: Begin) -> Result<Session, AppendError> {
        match self.ask(Request::Begin(begin)).await? {
            Reply::Session(session) => Ok(session),
            _ => Err(AppendError::Closed),
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

    /// Ends a watch for good, with a mark that says why; with `unfollow` the objects that it saw end.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn dismiss(&self, mark: CoverageMark, unfollow: bool) -> Result<Appended, AppendError> {
        self.write(Request::Dismiss { mark, unfollow }).await
    }

    /// Tells which cluster answers under a name, by the uid of its namespace kube-system.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn identify(&self, cluster: &str, uid: &str) -> Result<Identified, AppendError> {
        let (cluster, uid) = (cluster.to_owned(), uid.to_owned());
        match self.ask(Request::Identify { cluster, uid }).await? {
            Reply::Identified(identified) => Ok(identified),
            _ => Err(AppendError::Closed),
        }
    }

    /// The watches of a cluster that ever began and were not dismissed, with the time up to which each is complete.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn watches(&self, cluster: &str) -> Result<Vec<(WatchKey, Option<Timestamp>)>, AppendError> {
        match self.ask(Request::Watches(cluster.to_owned())).await? {
            Reply::Watches(watches) => Ok(watches),
            _ => Err(AppendError::Closed),
        }
    }

    /// Up to `limit` objects of a watch that are alive according to the log, after a position.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn live_objects(
        &self,
        watch: &WatchKey,
        after: LivePosition,
        limit: usize,
    ) -> Result<LivePage, AppendError> {
        match self.ask(Request::Live { watch: watch.clone(), after, limit }).await? {
            Reply::Live(page) => Ok(page),
            _ => Err(AppendError::Closed),
        }
    }

    /// Remembers whether what is alive of a watch agrees with what the cluster has.
    ///
    /// # Errors
    /// When a newer run of the watch has begun, or the log is closed or failed.
    pub async fn agreement(
        &self,
        watch: &WatchKey,
        epoch: Epoch,
        agreement: Agreement,
    ) -> Result<(), AppendError> {
        match self.ask(Request::Agreement { watch: watch.clone(), epoch, agreement }).await? {
            Reply::Noted => Ok(()),
            _ => Err(AppendError::Closed),
        }
    }

    /// Keeps the definition of a custom kind with the cursor of a watch of it; false where another one is kept already,
    /// so that the watch has to begin anew with this one.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn define(&self, watch: WatchKey, definition: String) -> Result<bool, AppendError> {
        match self.ask(Request::Define { watch, definition }).await? {
            Reply::Defined(same) => Ok(same),
            _ => Err(AppendError::Closed),
        }
    }

    /// Ends what a person marks as deleted, or returns what would end.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn forget(&self, forget: Forget) -> Result<Result<Forgotten, ForgetRefusal>, AppendError> {
        match self.ask(Request::Forget(Box::new(forget))).await? {
            Reply::Forgotten(forgotten) => Ok(forgotten),
            _ => Err(AppendError::Closed),
        }
    }

    /// Makes a source declare exactly these facts: declares what is new or differs, withdraws what is missing. What
    /// another source declared under the same name is this one's from now on.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn declare(&self, source: Source, facts: Vec<CatalogFact>) -> Result<Appended, AppendError> {
        self.write(Request::Declare(source, facts)).await
    }

    /// Runs a decision on the present catalog and writes its changes, with nothing in between; returns its
    /// value once all is durable.
    ///
    /// The decision runs on a thread of its own, in one unchanging state of the log, and is made anew where what it looked
    /// at has changed by the time at which it is written.
    ///
    /// # Errors
    /// When that changed again and again, or the log is closed or failed.
    pub async fn decide<T: Send + 'static>(
        &self,
        source: Source,
        decision: impl Fn(&mut Catalog<'_, '_>) -> Result<(Vec<CatalogChange>, T), LogError>
        + Send
        + Sync
        + 'static,
    ) -> Result<(Appended, T), AppendError> {
        if let Some(why) = &self.refusal {
            return Err(AppendError::ReadOnly(why.to_string()));
        }
        let decision = Arc::new(decision);
        for _ in 0..DECIDED_MAX {
            if let Some(displaced) = self.health.check_files() {
                return Err(AppendError::ReadOnly(displaced.to_string()));
            }
            let made = self.decisions.make(source, Arc::clone(&decision)).await?;
            let Decision { basis, changes, value, head } = made;
            if changes.is_empty() {
                return Ok((Appended { head, ..Appended::default() }, value));
            }
            match self.ask(Request::Decided(Decided { source, basis, changes })).await? {
                Reply::Appended(appended) => return Ok((appended, value)),
                Reply::Outdated => {}
                _ => return Err(AppendError::Closed),
            }
        }
        Err(AppendError::Contended)
    }

    /// Makes `to` the oldest offset that can be asked for; it never moves back, and the newest change always stays
    /// above it. What lies before it is still there until it is swept.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn compact(&self, to: Offset) -> Result<Compacted, AppendError> {
        match self.ask(Request::Compact(to)).await? {
            Reply::Compacted(compacted) => Ok(compacted),
            _ => Err(AppendError::Closed),
        }
    }

    /// Looks at up to `limit` changes before the oldest offset that can be asked for and prunes those that do not
    /// hold there any more. Appends wait meanwhile, so `limit` bounds for how long.
    ///
    /// # Errors
    /// When a change is missing or damaged, in which case nothing was pruned, or the log is closed or failed.
    pub async fn sweep(&self, limit: usize) -> Result<Swept, AppendError> {
        match self.ask(Request::Sweep(limit)).await? {
            Reply::Swept(swept) => Ok(swept),
            _ => Err(AppendError::Closed),
        }
    }

    /// Makes each offset the oldest at which the kinds of its pattern are known; of several the first that means a kind.
    /// None moves back. Returns the floors of all kinds that are pruned before the rest.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn raise_floors(&self, wanted: Vec<(KindPattern, Offset)>) -> Result<Vec<Floor>, AppendError> {
        match self.ask(Request::RaiseFloors(wanted)).await? {
            Reply::Floors(floors) => Ok(floors),
            _ => Err(AppendError::Closed),
        }
    }

    /// Looks at up to `limit` changes below the floors of their kinds and prunes the bodies of those that do not hold
    /// there. Appends wait meanwhile, so `limit` bounds for how long.
    ///
    /// # Errors
    /// When a change is missing or damaged, in which case nothing was pruned, or the log is closed or failed.
    pub async fn thin(&self, limit: usize) -> Result<Thinned, AppendError> {
        match self.ask(Request::Thin(limit)).await? {
            Reply::Thinned(thinned) => Ok(thinned),
            _ => Err(AppendError::Closed),
        }
    }

    /// Records what the clock did since the last commit, even if nothing else is to be written.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn follow_clock(&self) -> Result<Appended, AppendError> {
        self.write(Request::FollowClock).await
    }

    /// Records that a time has come, unless it is yet to come or something was recorded since, which shows it as well.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn pass_time(&self, due: Timestamp) -> Result<Appended, AppendError> {
        self.write(Request::PassTime(due)).await
    }

    /// Returns up to `pages` of free pages to the disk and empties the WAL, if no reader is in the way.
    ///
    /// # Errors
    /// When the log is closed or failed.
    pub async fn shrink(&self, pages: u32) -> Result<Shrunk, AppendError> {
        match self.ask(Request::Shrink(pages)).await? {
            Reply::Shrunk(shrunk) => Ok(shrunk),
            _ => Err(AppendError::Closed),
        }
    }
}
