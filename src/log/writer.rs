//! The writer's thread: takes what is queued, commits it as one group, and only then answers.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::mpsc::{self, error::TryRecvError};

use super::append::AppendError;
use super::appender::{Appender, Queued, Reply, Request};
use super::chain::HeadFile;
use super::commits::CommitTimes;
use super::error::LogError;
use super::open;
use super::packer::{self, Packer};
use super::thinning::Thinned;
use super::write::{Write, WriterState};
use crate::clock::Clock;
use crate::model::{Timestamp, reason};
use crate::store::{self, Watermark};

/// Most requests that share one commit; more would let the first of them wait for too long.
const GROUP: usize = 128;

/// How long to wait before trying again when there is no room on the disk.
const ROOM_TICK: Duration = Duration::from_millis(500);

type Replies = Vec<Result<Reply, AppendError>>;

/// What keeps the log from being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterProblem {
    /// The stable word for it: that of the gap which it is, one of those in [`crate::model::reason`].
    pub reason: &'static str,
    /// Since when nothing is recorded, by our clock.
    pub since: Timestamp,
    /// What it is and what to do, for people.
    pub message: String,
}

/// Whether the log takes changes.
#[derive(Clone, Debug, Default)]
pub struct WriterHealth {
    problem: Arc<Mutex<Option<WriterProblem>>>,
    commits: CommitTimes,
}

impl WriterHealth {
    /// What keeps the log from being written, where something does.
    pub fn problem(&self) -> Option<WriterProblem> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How long commits took.
    pub fn commits(&self) -> &CommitTimes {
        &self.commits
    }

    /// Of a log that takes nothing since then, and why.
    pub fn refusing(since: Timestamp, why: &str) -> Self {
        let health = WriterHealth::default();
        health.set(Some(WriterProblem { reason: reason::LOST, since, message: why.to_owned() }));
        health
    }

    fn set(&self, problem: Option<WriterProblem>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}

/// The one writer of a log.
pub struct LogWriter {
    /// Reads over a connection of its own, which has to be closed first: the last one to close takes the WAL away, and
    /// one that only reads cannot.
    packer: Packer,
    connection: Connection,
    head_file: HeadFile,
    queue: mpsc::Receiver<Queued>,
    clock: Arc<dyn Clock>,
    state: WriterState,
    head: Watermark,
    health: WriterHealth,
    /// Whether the WAL is to be emptied after the next commit.
    wal_due: bool,
}

/// How much of the log's file is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// Pages that hold nothing and could be given back.
    pub free_pages: u64,
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogWriter")
    }
}

impl LogWriter {
    /// Opens, migrates and verifies the log of a data directory whose lock the caller holds.
    ///
    /// # Errors
    /// When the log cannot be opened, is newer than this program, or misses what was acknowledged.
    pub fn open(directory: &Path, clock: Arc<dyn Clock>) -> Result<(Self, Appender), LogError> {
        let head_file = HeadFile::new(directory);
        open::look(directory, &head_file)?;
        let connection = open::open_writer(directory)?;
        let state = WriterState::load(&connection, directory)?;
        open::make_shrinkable(&connection, directory)?;
        let packer = Packer::open(directory)?;
        let (appender, queue) = Appender::channel();
        let (head, health) = (Watermark::new(state.head), WriterHealth::default());
        let wal_due = false;
        let writer = LogWriter { connection, head_file, queue, clock, state, head, health, wal_due, packer };
        Ok((writer, appender))
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
        let mut group = Vec::with_capacity(GROUP);
        while self.receive(&mut group)? {
            if !self.answer(&mut group)? {
                return Ok(());
            }
        }
        // A log at rest is one whole file, easy to copy. Where a reader is in the way it keeps its WAL, as well.
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Takes what is queued. While nothing is, closed versions are packed; false when nobody is left who could ask.
    fn receive(&mut self, group: &mut Vec<Queued>) -> Result<bool, LogError> {
        while self.packer.is_due(self.state.closed) {
            match self.queue.try_recv() {
                Ok(first) => {
                    group.push(first);
                    while let Some(next) = (group.len() < GROUP).then(|| self.queue.try_recv().ok()).flatten()
                    {
                        group.push(next);
                    }
                    return Ok(true);
                }
                Err(TryRecvError::Disconnected) => return Ok(false),
                Err(TryRecvError::Empty) => self.pack()?,
            }
        }
        Ok(self.queue.blocking_recv_many(group, GROUP) > 0)
    }

    /// Packs a few of the closed versions. What cannot be packed stays as it is.
    fn pack(&mut self) -> Result<(), LogError> {
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
                tracing::debug!(%error, "no room to pack; it is tried again after the next change");
                self.packer.rest();
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
        while self.queue.recv_many(&mut group, GROUP).await > 0 {
            if !self.answer(&mut group)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Commits a group and answers it; false when nobody is left to wait for it.
    fn answer(&mut self, group: &mut Vec<Queued>) -> Result<bool, LogError> {
        match self.commit_when_there_is_room(group) {
            Ok(Some(replies)) => {
                self.head.set(self.state.head);
                for (queued, reply) in group.drain(..).zip(replies) {
                    // Whoever asked may have gone; the change stands all the same.
                    let _ = queued.reply.send(reply);
                }
                if std::mem::take(&mut self.wal_due) {
                    store::empty_wal(&self.connection)?;
                }
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                self.health.set(Some(self.problem(reason::LOST, error.to_string())));
                for queued in group.drain(..) {
                    let _ = queued.reply.send(Err(AppendError::Failed(error.to_string())));
                }
                Err(error)
            }
        }
    }

    /// Commits a group, waiting as long as the disk is full: whoever sent it waits too, so nothing is dropped.
    ///
    /// None when nobody is left to wait for it.
    fn commit_when_there_is_room(&mut self, group: &[Queued]) -> Result<Option<Replies>, LogError> {
        loop {
            match self.commit(group) {
                Ok(replies) => {
                    if self.health.problem().is_some() {
                        tracing::info!("there is room on the disk again; recording goes on");
                        self.health.set(None);
                    }
                    return Ok(Some(replies));
                }
                Err(error) if error.is_disk_full() && !self.queue.is_closed() => {
                    if self.health.problem().is_none() {
                        tracing::error!(%error, "no room to record changes; watchers wait, nothing is dropped");
                    }
                    let message = format!("no room on the disk: {error}");
                    self.health.set(Some(self.problem(reason::NO_ROOM, message)));
                    std::thread::sleep(ROOM_TICK);
                }
                Err(error) if error.is_disk_full() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// A problem that lasts since it was first met.
    fn problem(&self, reason: &'static str, message: String) -> WriterProblem {
        let since = self.health.problem().map_or_else(|| self.clock.now(), |problem| problem.since);
        WriterProblem { reason, since, message }
    }

    fn commit(&mut self, group: &[Queued]) -> Result<Replies, LogError> {
        let before = (self.state.head, self.state.hash, self.state.observed_at);
        let result = self.write_group(group);
        if result.is_err() {
            // Numbers and keyframes of a transaction that did not happen must not be used.
            (self.state.head, self.state.hash, self.state.observed_at) = before;
            self.state.ids.clear();
            self.state.epoch = None;
            self.state.closed = packer::closed(&self.connection)?;
            self.state.bodies.reload(&self.connection)?;
        } else if self.state.head != before.0 {
            self.packer.wake();
            self.head_file.write(self.state.head, &self.state.hash).unwrap_or_else(|error| {
                // The file may lag behind; it only has to stay true.
                tracing::warn!(%error, "the head beside the log could not be written");
            });
        }
        result
    }

    fn write_group(&mut self, group: &[Queued]) -> Result<Replies, LogError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let changes_before = transaction.total_changes();
        // Recorded time never goes backwards, whatever the clock does.
        let now = self.clock.now().max(self.state.observed_at);
        let mut write = Write { connection: &transaction, state: &mut self.state, now };
        let mut replies = Vec::with_capacity(group.len());
        for queued in group {
            replies.push(match &queued.request {
                Request::Begin(begin) => Ok(Reply::Session(write.begin(begin)?)),
                Request::Append(batch) => write.batch(batch)?.map(Reply::Appended),
                Request::Mark(mark) => Ok(Reply::Appended(write.mark(mark)?)),
                Request::Dismiss { mark, unfollow } => Ok(Reply::Appended(write.dismiss(mark, *unfollow)?)),
                Request::Identify { cluster, uid } => Ok(Reply::Identified(write.identify(cluster, uid)?)),
                Request::Watches(cluster) => Ok(Reply::Watches(write.watches(cluster)?)),
                Request::Declare(source, facts) => Ok(Reply::Appended(write.declare(*source, facts)?)),
                Request::Decide(source, decision) => write.decide(*source, decision)?.map(Reply::Appended),
                Request::Compact(to) => write.compact(*to).map(Reply::Compacted).map_err(failed),
                // A plan writes nothing: what cannot be let go fails whoever asked, and nobody else.
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
                Request::Shrink(pages) => {
                    self.wal_due = true;
                    let free_pages = store::give_back(&transaction, *pages)?;
                    Ok(Reply::Shrunk(Shrunk { free_pages }))
                }
            });
        }
        // Without a change there is nothing to wait for the disk for.
        let writes = transaction.total_changes() > changes_before;
        let took = store::commit(transaction)?;
        if writes {
            self.health.commits.observe(took);
        }
        Ok(replies)
    }
}

fn failed(error: LogError) -> AppendError {
    AppendError::Failed(error.to_string())
}
