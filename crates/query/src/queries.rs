//! Answers questions on a pool of readers of the view and the log.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{QueryError, Result};
use crate::freshness::{Freshness, Live};
use crate::kept::Kept;
use crate::kept_lines::KeptLines;
use crate::moment::Moment;
use crate::overview::KeptMoves;
use crate::page::{PageKey, Start};
use crate::query_times::QueryTimes;
use crate::question::{Context, Question};
use crate::reader::{self, Patience, Reader, ViewSnapshot};
use crate::scope::Scope;
use crate::standings::Standings;
use crate::words;
use strandline_clock::Clock;
use strandline_log::{LogReader, WriterProblem};
use strandline_model::{At, Offset, Timestamp};
use strandline_sqlite::{Abandoned, Asker, Crowd, Pool};
use strandline_view::ViewStatus;
use tokio::time::timeout;

/// How long a question waits for the view to hold the offset that it is asked for.
const VIEW_PATIENCE: Duration = Duration::from_secs(1);

/// How far the view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Newest offset of the log.
    pub head: Offset,
    /// Last one the view holds.
    pub checkpoint: Offset,
}

/// A state of the record, for telling whether an answer is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Of the files that are read: another after a rebuild.
    generation: u64,
    head: Offset,
    checkpoint: Offset,
    problem: Option<WriterProblem>,
    /// Since what is pruned, and up to when clusters are confirmed, moves without a change.
    second: i64,
    /// Of how the server that asks presents answers.
    presentation: u64,
}

impl Stamp {
    /// The same state, presented in another way with each number.
    #[must_use]
    pub fn with_presentation(self, presentation: u64) -> Self {
        Stamp { presentation, ..self }
    }
}

/// A question with who asks it and of when, to be answered once or again.
struct Asked<Q> {
    question: Q,
    start: Start,
    scope: Scope,
    now: Timestamp,
    at: At,
    held: Option<Moment>,
    live: Live,
}

impl<Q: Question> Asked<Q> {
    fn answer(&self, view: &ViewSnapshot<'_>, log: &mut LogReader, kept: &Kept) -> Result<Q::Answer> {
        let reaching = view.with_extent();
        let moment = match &self.held {
            Some(held) => held.found_again(reaching, log)?,
            None => Moment::find(reaching, log, self.now, self.at, self.start.pinned)?
                .with_live(self.live.clone()),
        };
        let (scope, start) = (self.scope.resolve(view)?, self.start.clone().at(moment.by_time()));
        let (log_of, moment_of) = (&mut *log, moment.clone());
        let context = Context { view, log: log_of, moment: moment_of, scope: &scope, kept, start };
        let placed =
            |error: QueryError| words::suggested(error.asked_at(moment.if_past()), view, &moment, &scope);
        self.question.answer(context).map_err(|error| placed(error).dated(log).or_lost(log))
    }
}

/// How many readers there are at most, each for one question at a time, and what they may keep in memory.
#[derive(Clone, Copy, Debug)]
pub struct Readers {
    /// How many.
    pub count: usize,
    /// Bytes of the view and the log that all of them together keep in memory.
    pub cache: usize,
    /// Bytes of lines of search that they share.
    pub lines: usize,
}

impl From<usize> for Readers {
    /// So many, with as much memory as is usual.
    fn from(count: usize) -> Self {
        const USUAL: usize = 8 * 1024 * 1024;
        Readers { count, cache: count * USUAL, lines: 4 * USUAL }
    }
}

/// Answers queries; clones share one pool of readers.
#[derive(Clone)]
pub struct Queries {
    pub(super) pool: Pool<Reader>,
    /// Of the file that readers open from now on.
    kept: CurrentKept,
    status: ViewStatus,
    clock: Arc<dyn Clock>,
    /// The moment of all questions, where they are to agree with each other.
    held: Option<Moment>,
    /// How long a question may read.
    longest: Duration,
    freshness: Option<Arc<dyn Freshness>>,
    pages: PageKey,
    times: QueryTimes,
    /// Whose questions they are.
    pub(super) asker: Asker,
}

/// What is kept of the file that is read, which another may replace; clones share it.
#[derive(Clone)]
struct CurrentKept(Arc<Mutex<Kept>>);

impl CurrentKept {
    /// Nothing yet, and so many bytes of lines of search at most.
    fn of(status: &ViewStatus, lines: usize) -> Self {
        let (standings, lines) = (Standings::new(status.recent()), KeptLines::new(lines));
        CurrentKept(Arc::new(Mutex::new(Kept { standings, moves: KeptMoves::default(), lines })))
    }

    fn get(&self) -> Kept {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another file takes the place of the one that is read.
    fn renew(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = kept.of_another_file();
    }
}

impl std::fmt::Debug for Queries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queries")
    }
}

impl Queries {
    /// Answers from the view and log of a data directory with at most `readers` questions at a time.
    pub fn new(
        directory: &Path,
        readers: impl Into<Readers>,
        status: ViewStatus,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (directory, Readers { count, cache, lines }) = (directory.to_owned(), readers.into());
        let (of_log, kept) = (status.clone(), CurrentKept::of(&status, lines));
        let of_readers = kept.clone();
        let open = move || {
            let reader = Reader::open(&directory, cache / count.max(1), of_readers.get())?;
            // Files that took the place of ours hold something else.
            match of_log.is_log_displaced() {
                false => Ok(reader),
                true => Err("the data directory was removed or replaced".to_owned()),
            }
        };
        Queries::over(Pool::new(count, open), kept, status, clock)
    }

    /// The same in a process that writes neither: nothing is left in the directory, and whoever keeps it is not disturbed.
    pub fn outside(directory: &Path, readers: usize, status: ViewStatus, clock: Arc<dyn Clock>) -> Self {
        let (directory, kept) = (directory.to_owned(), CurrentKept::of(&status, 0));
        let of_readers = kept.clone();
        let open = move || Reader::open_outside(&directory, of_readers.get());
        Queries::over(Pool::new(readers, open), kept, status, clock)
    }

    fn over(pool: Pool<Reader>, kept: CurrentKept, status: ViewStatus, clock: Arc<dyn Clock>) -> Self {
        let (longest, pages, asker) = (reader::LONGEST, PageKey::passing(), Asker::from(""));
        Queries {
            pool,
            kept,
            status,
            clock,
            held: None,
            longest,
            freshness: None,
            pages,
            times: QueryTimes::default(),
            asker,
        }
    }

    /// The same, whose answers by time state up to when they are confirmed.
    pub fn with_freshness(self, freshness: Arc<dyn Freshness>) -> Self {
        Queries { freshness: Some(freshness), ..self }
    }

    /// The same, whose lists can be gone on with after a restart: their tokens are marked with what follows from this key.
    pub fn with_key(self, key: &[u8; 32]) -> Self {
        Queries { pages: PageKey::derived(key), ..self }
    }

    /// The same for somebody, who gets a fair share of the readers and no more.
    pub fn of(self, asker: &Asker) -> Self {
        Queries { asker: Arc::clone(asker), ..self }
    }

    /// The same, for which it is the time of this clock.
    pub fn with_clock(self, clock: &Arc<dyn Clock>) -> Self {
        Queries { clock: Arc::clone(clock), ..self }
    }

    /// How many questions are read, and how many wait for a reader.
    pub fn crowd(&self) -> Crowd {
        self.pool.crowd()
    }

    /// How long questions took.
    pub fn times(&self) -> &QueryTimes {
        &self.times
    }

    fn live(&self) -> Live {
        Live { problem: self.status.writer_problem(), freshness: self.freshness.clone() }
    }

    /// The same with less time for a question.
    #[cfg(test)]
    pub(super) fn within(&self, longest: Duration) -> Self {
        Queries { longest, ..self.clone() }
    }

    /// Opens the files anew, after the view was swapped for another.
    pub fn reopen(&self) {
        self.replace(|| ());
    }

    /// Lets `swap` put another view into the place of the one that is read. Questions wait for it where they have to open
    /// the view; those at work go on with the one that they have.
    pub fn replace<R>(&self, swap: impl FnOnce() -> R) -> R {
        self.pool.replace(|| {
            let swapped = swap();
            self.kept.renew();
            swapped
        })
    }

    /// How far the view is behind the log.
    pub fn progress(&self) -> Progress {
        let (head, checkpoint) = self.status.progress();
        Progress { head, checkpoint }
    }

    /// The state of the record that answers come from, in the second of this time; none where there are no answers now.
    /// Two answers to the same question under one stamp tell the same, up to what a second does to ages.
    pub fn stamp(&self, now: Timestamp) -> Option<Stamp> {
        let (head, checkpoint) = self.status.progress();
        let (generation, problem) = (self.pool.generation(), self.status.writer_problem());
        let second = now.as_micros().div_euclid(1_000_000);
        let stamp = Stamp { generation, head, checkpoint, problem, second, presentation: 0 };
        (self.status.is_usable() && !self.status.is_damaged()).then_some(stamp)
    }

    /// Waits until the view has moved past an offset; returns where it is then.
    pub async fn moved_past(&self, offset: Offset) -> Offset {
        self.status.checkpoint().passed(offset).await
    }

    /// Waits a moment where an offset is asked for that the log holds and the view does not yet: a write has just answered
    /// with it, and who asks with it next is to see what it wrote.
    async fn caught_up(&self, at: At) {
        let At::Offset(offset) = at else { return };
        let Progress { head, checkpoint } = self.progress();
        if self.status.is_usable() && checkpoint < offset && offset <= head {
            let before = Offset::new(offset.get().saturating_sub(1));
            // Where it is not there in time, the answer says how far the view is.
            let _ = timeout(VIEW_PATIENCE, self.moved_past(before)).await;
        }
    }

    /// Answers a question for a caller, as of a time.
    ///
    /// # Errors
    /// See [`QueryError`] and the question.
    pub async fn ask<Q: Question>(&self, scope: &Scope, at: At, question: Q) -> Result<Q::Answer> {
        let start = Start::read(&self.pages, Q::NAME, scope, &question, question.page())?;
        self.caught_up(at).await;
        let (scope, now, held, live) = (scope.clone(), self.clock.now(), self.held.clone(), self.live());
        let asked = Asked { question, start, scope, now, at, held, live };
        let began = Instant::now();
        let here = if asked.question.is_short() {
            self.read_here(|view, log, kept| asked.answer(view, log, kept))
        } else {
            None
        };
        let answer = match here {
            Some(answer) => answer,
            None => self.read(move |view, log, kept| asked.answer(view, log, kept)).await,
        };
        self.times.observe(Q::NAME, began.elapsed());
        answer
    }

    /// The offset that a time stands for.
    ///
    /// # Errors
    /// When it cannot be asked for.
    pub async fn offset_of(&self, at: At) -> Result<Offset> {
        self.caught_up(at).await;
        let now = self.clock.now();
        self.read(move |view, log, _| Ok(Moment::find(view.with_extent(), log, now, at, None)?.offset)).await
    }

    /// Whether one time is later than another, durations being counted back from a third one. An offset is compared by
    /// what the log holds there; none is later than what there is.
    ///
    /// # Errors
    /// When one of them cannot be asked for.
    pub async fn is_later(&self, one: At, other: At, reference: At) -> Result<bool> {
        tokio::join!(self.caught_up(one), self.caught_up(other));
        let now = self.clock.now();
        let reference = match reference {
            At::Time(time) => time,
            At::Ago(duration) => now.minus(duration),
            At::Now | At::Offset(_) => now,
        };
        let time = |at: At| match at {
            At::Now => Ok(reference),
            At::Time(time) => Ok(time),
            At::Ago(duration) => Ok(reference.minus(duration)),
            At::Offset(offset) => Err(offset),
        };
        match (time(one), time(other)) {
            (Ok(one), Ok(other)) => Ok(one > other && one <= now),
            (one, other) => {
                let at = |resolved: std::result::Result<Timestamp, Offset>| {
                    resolved.map_or_else(At::Offset, At::Time)
                };
                let (one, other) = (at(one), at(other));
                let offset = move |view: &ViewSnapshot<'_>, log: &mut LogReader, at| {
                    Moment::find(view.with_extent(), log, now, at, None).map(|moment| moment.offset)
                };
                self.read(move |view, log, _| Ok(offset(view, log, one)? > offset(view, log, other)?)).await
            }
        }
    }

    /// Works on a thread of the pool: what takes long does not hold up other requests, and how much of it is under way at
    /// once is bounded as queries are.
    ///
    /// # Errors
    /// When the caller has too much under way, or nothing is worked on any more.
    pub async fn compute<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        Ok(self.pool.run(&self.asker, move |_, _| work()).await?)
    }

    /// Reads on a thread of the pool, from the view in one unchanging state.
    async fn read<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&ViewSnapshot<'_>, &mut LogReader, &Kept) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if !self.status.is_usable() {
            let Progress { head, checkpoint } = self.progress();
            return Err(QueryError::Building { checkpoint, head });
        }
        let patience = Patience::on_thread(self.longest);
        let result = self.pool.run(&self.asker, move |reader, abandoned| {
            let mut read = reader.begin(patience, abandoned)?;
            answer(&read.view, &mut read.log, read.kept)
        });
        self.reported(result.await?)
    }

    /// Reads on the worker that asks. None where the question is to be read on a thread of the pool after all, because it
    /// would wait for something here or has taken too long.
    fn read_here<T>(
        &self,
        answer: impl FnOnce(&ViewSnapshot<'_>, &mut LogReader, &Kept) -> Result<T>,
    ) -> Option<Result<T>> {
        if !self.status.is_usable() {
            return None;
        }
        let patience = Patience::on_worker(self.longest);
        let result = self.pool.run_here(&self.asker, |reader| {
            let mut read = reader.begin(patience, &Abandoned::default())?;
            answer(&read.view, &mut read.log, read.kept)
        });
        match result?.map_err(QueryError::from).flatten() {
            // What SQLite refuses may be a lock, for which a thread of the pool waits.
            Err(QueryError::TooLong | QueryError::Storage(_)) => None,
            result => Some(self.reported(result)),
        }
    }

    /// Has the view rebuilt where it turned out to be damaged.
    fn reported<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(QueryError::Damaged(damage)) = &result {
            tracing::error!(damage, "the view is damaged and will be rebuilt");
            self.status.report_damage();
        }
        result
    }

    /// The same questions, all at one moment: what `at` means now. Whatever moment they are asked for themselves is
    /// passed over then, and a page token only tells where its list goes on.
    ///
    /// Asked of questions that have a moment already, "now" is theirs, and durations are counted back from it.
    ///
    /// # Errors
    /// When there is no such moment yet, or the view cannot be read.
    pub async fn held(&self, at: At) -> Result<Queries> {
        if self.held.is_some() && at == At::Now {
            return Ok(self.clone());
        }
        self.caught_up(at).await;
        let now = self.held.as_ref().map_or_else(|| self.clock.now(), |held| held.now);
        let held =
            self.read(move |view, log, _| Moment::find(view.with_extent(), log, now, at, None)).await?;
        let held = held.with_live(self.live());
        Ok(Queries { held: Some(held), ..self.clone() })
    }
}
