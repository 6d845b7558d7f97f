//! The writer's thread: takes what is queued, commits it as one group, and only then answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, ffi};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::error::TryRecvError;

use super::append::AppendError;
use super::appender::Appender;
use super::chain::HeadFile;
use super::error::LogError;
use super::guard::Guard;
use super::health::WriterHealth;
use super::lanes::{GROUP, Lanes};
use super::packer::{self, Packer};
use super::queue::{OpenLog, Queue};
use super::request::{Queued, Reply, Request, Shrunk};
use super::thinning::Thinned;
use super::transaction::{Write, WriterState};
use super::{file, late};
use strandline_clock::{Clock, ClockChange};
use strandline_model::reason;
use strandline_sqlite::{Displaced, FullDiskBackoff, Pace, Watermark};

type Replies = Vec<Result<Reply, AppendError>>;

/// The one writer of a log.
pub struct LogWriter {
    /// Reads over a connection of its own, which has to be closed first: the last one to close takes the WAL away, and
    /// one that only reads cannot.
    packer: Packer,
    connection: Connection,
    head_file: HeadFile,
    queue: Lanes,
    clock: Arc<dyn Clock>,
    /// What the clock did and what is not recorded yet.
    clock_changes: Vec<ClockChange>,
    state: WriterState,
    head: Watermark,
    health: WriterHealth,
    /// Whether the WAL is to be emptied after the next commit.
    wal_due: bool,
    room: FullDiskBackoff,
    /// Asked before each commit; false for a full disk.
    has_room: Option<Box<dyn Fn() -> bool + Send>>,
    /// The state in memory is not that of the log, as it could not be read again.
    stale: bool,
    pace: Pace,
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogWriter")
    }
}

impl LogWriter {
    /// Takes what is queued from here on, into a log that is open.
    pub fn new(queue: Queue, log: OpenLog) -> Self {
        let Queue { lanes, decisions, clock, health, head } = queue;
        let OpenLog { packer, connection, head_file, state, directory } = log;
        health.watch_files(file::identities(&directory));
        health.recovered();
        head.set(state.head);
        if let Some(decisions) = decisions.upgrade() {
            decisions.read_from(&directory);
        }
        LogWriter {
            packer,
            connection,
            head_file,
            queue: lanes,
            clock,
            clock_changes: Vec::new(),
            state,
            head,
            health,
            wal_due: false,
            room: FullDiskBackoff::new("the log"),
            has_room: None,
            stale: false,
            pace: Pace::default(),
        }
    }

    /// Opens, migrates and verifies the log of a data directory whose lock the caller holds.
    ///
    /// # Errors
    /// When the log cannot be opened, is newer than this program, or misses what was acknowledged.
    pub fn open(directory: &Path, clock: Arc<dyn Clock>) -> Result<(Self, Appender), LogError> {
        let opened = OpenLog::open(directory)?;
        let (queue, appender) = Queue::new(clock);
        Ok((LogWriter::new(queue, opened), appender))
    }

    /// Asks before each commit whether there is room on the disk, and takes a no for a full disk: for tests and
    /// simulations, whose disks are never full.
    #[must_use]
    pub fn with_room(self, has_room: impl Fn() -> bool + Send + 'static) -> Self {
        LogWriter { has_room: Some(Box::new(has_room)), ..self }
    }

    /// Keeps at most about so many bytes in memory of what is in the log: a half are pages, a quarter keyframes, and a quarter is for
    /// packing closed versions.
    ///
    /// # Errors
    /// When the log is no longer open.
    pub fn with_cache(mut self, bytes: usize) -> Result<Self, LogError> {
        strandline_sqlite::size_cache(&self.connection, bytes / 2)?;
        self.state.bodies.keep(bytes / 4);
        Ok(LogWriter { packer: self.packer.with_cache(bytes / 4)?, ..self })
    }

    /// Begins a commit so long at the earliest after one of few changes, so that more share it. Until something is committed nobody
    /// hears that it is, and so takes longer to send what comes next.
    #[must_use]
    pub fn with_commits_apart(self, apart: Duration) -> Self {
        LogWriter { pace: Pace::new(apart), ..self }
    }

    /// Packs as soon as anything is closed and learns from little, so that a test need not write thousands.
    #[cfg(test)]
    pub(super) fn eager(mut self, measure: super::learning::Measure) -> Self {
        self.state.bodies.measured(measure);
        LogWriter { packer: self.packer.from(1), ..self }
    }

    /// The newest offset, published after each commit.
    pub fn head(&self) -> Watermark {
        self.head.clone()
    }

    /// Whether the log takes changes.
    pub fn health(&self) -> WriterHealth {
        self.health.clone()
    }

    /// Writes until every [`Appender`] is gone.
    ///
    /// # Errors
    /// When the log cannot be written for a reason that does not pass by itself; what was not acknowledged
    /// was not written.
    pub fn run(mut self) -> Result<(), LogError> {
        let _guard = Guard::start(self.health.clone());
        // Only to wait for one of two lanes: nothing else runs on it.
        let waiting = tokio::runtime::Builder::new_current_thread().build().map_err(LogError::Thread)?;
        let mut group = Vec::with_capacity(GROUP);
        while self.receive(&mut group, &waiting)? {
            while let Some(wait) = self.answer(&mut group)? {
                strandline_sqlite::sleep_unless(wait, || self.queue.is_closed());
                if self.queue.is_closed() {
                    return self.in_place();
                }
            }
        }
        self.in_place()?;
        // A log at rest is one whole file, easy to copy. Where a reader or a full disk is in the way it keeps its WAL, as
        // well.
        match self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            Err(error) if !strandline_sqlite::is_disk_full(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Takes what is queued. While nothing is, or too many wait, closed versions are packed; false when nobody is left who could ask.
    fn receive(&mut self, group: &mut Vec<Queued>, waiting: &Runtime) -> Result<bool, LogError> {
        if self.packer.is_behind(self.state.closed) && self.health.check_files().is_none() {
            self.pack()?;
        }
        while self.packer.is_due(self.state.closed) && self.health.check_files().is_none() {
            match self.queue.take() {
                Ok(first) => {
                    self.gather(first, group);
                    return Ok(true);
                }
                Err(TryRecvError::Disconnected) => return Ok(false),
                Err(TryRecvError::Empty) => self.pack()?,
            }
        }
        let Some(first) = waiting.block_on(self.queue.wait()) else { return Ok(false) };
        self.gather(first, group);
        Ok(true)
    }

    /// Takes what shares the commit of a request, once it is time for another.
    fn gather(&mut self, first: Queued, group: &mut Vec<Queued>) {
        self.pace.wait();
        self.queue.fill(first, group);
    }

    /// Packs a few of the closed versions. What cannot be packed stays as it is.
    fn pack(&mut self) -> Result<(), LogError> {
        let _turn = self.health.turn();
        match self.packer.step(&mut self.connection, &mut self.state.bodies) {
            Ok(packed) => {
                self.state.closed = match packed {
                    // There are fewer than was thought.
                    0 => packer::closed(&self.connection)?,
                    packed => self.state.closed.saturating_sub(packed),
                };
                Ok(())
            }
            Err(error) if error.is_disk_full() => {
                tracing::debug!(%error, "not enough disk space to pack; retrying after the next change");
                self.packer.pause();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The same on the thread of the caller, which every commit holds up: for simulations under a clock of their own.
    ///
    /// # Errors
    /// As [`LogWriter::run`].
    pub async fn run_here(mut self) -> Result<(), LogError> {
        let mut group = Vec::with_capacity(GROUP);
        while let Some(first) = self.queue.wait().await {
            self.queue.fill(first, &mut group);
            while let Some(wait) = self.answer(&mut group)? {
                tokio::time::sleep(wait).await;
                if self.queue.is_closed() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Commits a group and answers it. Where the disk is full, returns how long to wait before it is tried again: whoever
    /// sent the group waits too, so nothing is dropped.
    fn answer(&mut self, group: &mut Vec<Queued>) -> Result<Option<Duration>, LogError> {
        let _turn = self.health.turn();
        let before = self.state.head;
        let committed = self.commit(group);
        self.pace.wrote(self.state.head.get().saturating_sub(before.get()));
        // Before anything is acknowledged, and whatever the commit met: it may be because of this.
        if let Some(displaced) = self.health.check_files() {
            self.refuse(group, &displaced);
            return Ok(None);
        }
        match committed {
            Ok(replies) => {
                assert!(self.state.head >= self.head.get(), "the log ends before what was acknowledged");
                self.room.end();
                self.health.recovered();
                self.head.set(self.state.head);
                for (queued, reply) in group.drain(..).zip(replies) {
                    // Whoever has an answer must not find the request among those that wait.
                    drop(queued.handed_over);
                    // Whoever asked may have gone; the change is recorded all the same.
                    let _ = queued.reply.send(reply);
                }
                if std::mem::take(&mut self.wal_due) {
                    self.empty_wal()?;
                }
                Ok(None)
            }
            Err(error) if error.is_disk_full() => {
                let message =
                    "no space left on the disk; free disk space, then recording resumes automatically"
                        .to_owned();
                self.health.report(reason::NO_ROOM, self.clock.now(), message);
                Ok(Some(self.room.next_wait(&error)))
            }
            Err(error) => {
                tracing::error!(%error, "writing the log failed");
                self.health.report(reason::LOST, self.clock.now(), error.told());
                for queued in group.drain(..) {
                    // Whoever asked may have gone.
                    let _ = queued.reply.send(Err(AppendError::Failed(error.to_string())));
                }
                Err(error)
            }
        }
    }

    /// Refuses a group: it would be written to files that were moved or deleted.
    fn refuse(&self, group: &mut Vec<Queued>, displaced: &Displaced) {
        for queued in group.drain(..) {
            drop(queued.handed_over);
            let why = format!("{displaced}; {}", Displaced::ADVICE);
            // Whoever asked may have gone.
            let _ = queued.reply.send(Err(AppendError::ReadOnly(why)));
        }
    }

    /// That the log's files are where they were opened; otherwise what took their place is left alone.
    fn in_place(&self) -> Result<(), LogError> {
        match self.health.check_files() {
            None => Ok(()),
            Some(displaced) => {
                strandline_sqlite::skip_checkpoint_on_close(&self.connection)?;
                Err(LogError::Displaced(displaced))
            }
        }
    }

    /// Empties the WAL, if no reader and no full disk is in the way.
    fn empty_wal(&self) -> Result<(), LogError> {
        match strandline_sqlite::truncate_wal(&self.connection) {
            Err(error) if !strandline_sqlite::is_disk_full(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn commit(&mut self, group: &[Queued]) -> Result<Replies, LogError> {
        let _span =
            tracing::info_span!(target: "traces", "log.transaction", requests = group.len()).entered();
        if let Some(displaced) = self.health.check_files() {
            return Err(LogError::Displaced(displaced));
        }
        if self.stale {
            self.reload()?;
        }
        let before = (self.state.head, self.state.hash, self.state.observed_at);
        let result = self.write_group(group);
        if result.is_err() {
            // Numbers and keyframes of a transaction that did not happen must not be used.
            (self.state.head, self.state.hash, self.state.observed_at) = before;
            self.stale = true;
            self.reload()?;
        } else if self.state.head != before.0 && self.health.check_files().is_none() {
            self.packer.resume();
            self.head_file.write(self.state.head, &self.state.hash).unwrap_or_else(|error| {
                // The file may lag behind; it only has to stay true.
                tracing::warn!(%error, "writing the head file beside the log failed");
            });
        }
        result
    }

    /// Forgets what is known in memory of a transaction that did not happen.
    fn reload(&mut self) -> Result<(), LogError> {
        self.state.ids.clear();
        self.state.epoch = None;
        self.state.closed = packer::closed(&self.connection)?;
        self.state.bodies.reload(&self.connection)?;
        self.stale = false;
        Ok(())
    }

    fn write_group(&mut self, group: &[Queued]) -> Result<Replies, LogError> {
        self.clock_changes.extend(self.clock.take_changes());
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let changes_before = transaction.total_changes();
        let now = self.clock.now();
        let mut write = Write { connection: &transaction, state: &mut self.state, now };
        write.assert_end()?;
        write.follow_clock(&self.clock_changes)?;
        let now = write.now;
        let mut replies = Vec::with_capacity(group.len());
        for queued in group {
            if let Err(error) = queued.request.check() {
                replies.push(Err(AppendError::Unreadable(error.to_string())));
                continue;
            }
            replies.push(match &queued.request {
                Request::Begin(begin) => Ok(Reply::Session(write.begin(begin)?)),
                Request::Append(batch) => write.batch(batch)?.map(Reply::Appended),
                Request::Mark(mark) => Ok(Reply::Appended(write.mark(mark)?)),
                Request::Dismiss { mark, unfollow } => Ok(Reply::Appended(write.dismiss(mark, *unfollow)?)),
                Request::Identify { cluster, uid } => Ok(Reply::Identified(write.identify(cluster, uid)?)),
                Request::Watches(cluster) => Ok(Reply::Watches(write.watches(cluster)?)),
                Request::Live { watch, after, limit } => {
                    Ok(Reply::Live(write.live_page(watch, *after, *limit)?))
                }
                Request::Agreement { watch, epoch, agreement } => {
                    write.agreement(watch, *epoch, *agreement)?.map(|()| Reply::Noted)
                }
                Request::Define { watch, definition } => Ok(Reply::Defined(write.define(watch, definition)?)),
                Request::Forget(forget) => Ok(Reply::Forgotten(write.end_forgotten(forget)?)),
                Request::Declare(source, facts) => Ok(Reply::Appended(write.declare(*source, facts)?)),
                // Nobody waits for it any more, and nobody will know that it is not written.
                Request::Decided(_) if queued.reply.is_closed() => Ok(Reply::Outdated),
                Request::Decided(decided) => {
                    Ok(write.decided(decided)?.map_or(Reply::Outdated, Reply::Appended))
                }
                Request::Compact(to) => write.compact(*to).map(Reply::Compacted).map_err(failed),
                // A plan writes nothing: what cannot be pruned fails whoever asked, and nobody else.
                Request::Sweep(limit) => match write.plan_sweep(*limit) {
                    Ok(plan) => Ok(Reply::Swept(write.sweep(&plan)?)),
                    Err(error) => Err(failed(error)),
                },
                Request::RaiseFloors(wanted) => write.raise_floors(wanted).map(Reply::Floors).map_err(failed),
                Request::Thin(limit) => match write.plan_thinning(*limit) {
                    Ok(Some(plan)) => Ok(Reply::Thinned(write.thin(&plan)?)),
                    Ok(None) => Ok(Reply::Thinned(Thinned { done: true, ..Thinned::default() })),
                    Err(error) => Err(failed(error)),
                },
                Request::PassTime(due) => Ok(Reply::Appended(write.pass_time(*due)?)),
                Request::FollowClock => Ok(Reply::Appended(write.appended(0, 0))),
                Request::Shrink(pages) => {
                    self.wal_due = true;
                    let free_pages = strandline_sqlite::incremental_vacuum(&transaction, *pages)?;
                    Ok(Reply::Shrunk(Shrunk { free_pages }))
                }
            });
        }
        let late = late::record(&mut write, group, &replies, &self.health)?;
        // Without a change there is nothing to wait for the disk for.
        let writes = transaction.total_changes() > changes_before;
        if self.has_room.as_ref().is_some_and(|has_room| !has_room()) {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None).into());
        }
        let took = strandline_sqlite::commit(transaction)?;
        self.clock_changes.clear();
        if writes {
            self.health.commits().observe(took);
        }
        if let Some(problem) = late {
            self.health.late(problem, now, self.state.head);
        }
        Ok(replies)
    }
}

fn failed(error: LogError) -> AppendError {
    AppendError::Failed(error.to_string())
}
