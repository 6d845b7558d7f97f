//! One reader of the view and the log, lent to one query at a time.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::Result;
use crate::kept::Kept;
use crate::moment::Extent;
use crate::scope;
use strandline_log::{LogReader, LogSnapshot};
use strandline_sqlite::{Abandoned, LOCK_TIMEOUT};

/// How long a question may read. As long as it does, no WAL can be emptied.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// How long a question may read on a worker of the runtime, which answers others meanwhile no more.
const LONGEST_ON_WORKER: Duration = Duration::from_millis(2);

/// After so many steps of SQLite's machine, some tenths of a millisecond, a look at the clock and at who waits.
const STEPS: i32 = 10_000;

/// What a question may wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long it may read.
    longest: Duration,
    /// How long it may wait for a lock.
    lock: Duration,
}

impl Patience {
    /// Of one with a thread of its own.
    pub(super) fn on_thread(longest: Duration) -> Self {
        Patience { longest, lock: LOCK_TIMEOUT }
    }

    /// Of one that is read on a worker of the runtime.
    pub(super) fn on_worker(longest: Duration) -> Self {
        Patience { longest: longest.min(LONGEST_ON_WORKER), lock: Duration::ZERO }
    }
}

/// Connections of one reader.
pub(super) struct Reader {
    view: Connection,
    log: LogReader,
    kept: Kept,
    deadline: Deadline,
}

/// When the question at work has to have its answer, and whether anybody waits for it; clones share it.
#[derive(Clone, Default)]
struct Deadline(Arc<Mutex<(Option<Instant>, Abandoned)>>);

impl Deadline {
    fn lock(&self) -> MutexGuard<'_, (Option<Instant>, Abandoned)> {
        // Both are set at once, by nothing that can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, longest: Duration, abandoned: &Abandoned) {
        *self.lock() = (Instant::now().checked_add(longest), abandoned.clone());
    }

    fn lift(&self) {
        *self.lock() = Default::default();
    }

    fn is_over(&self) -> bool {
        let (end, abandoned) = &*self.lock();
        abandoned.get() || end.is_some_and(|end| Instant::now() >= end)
    }
}

impl Reader {
    /// Opens a reader that keeps at most about so many bytes in memory of what it read, one half of the view and one of the log.
    pub(super) fn open(directory: &Path, cache: usize, kept: Kept) -> std::result::Result<Self, String> {
        let view = strandline_view::open_at_rest(directory).map_err(|error| error.to_string())?;
        strandline_sqlite::size_cache(&view, cache / 2).map_err(|error| error.to_string())?;
        let log = LogReader::open_at_rest(directory).and_then(|log| log.with_cache(cache / 2));
        Reader::over(view, log.map_err(|error| error.to_string())?, kept)
    }

    /// The same in a process that writes neither, leaving no trace.
    pub(super) fn open_outside(directory: &Path, kept: Kept) -> std::result::Result<Self, String> {
        let view = strandline_view::open_outside(directory).map_err(|error| error.to_string())?;
        let log = LogReader::open_outside(directory).map_err(|error| error.to_string())?;
        Reader::over(view, log, kept)
    }

    fn over(mut view: Connection, mut log: LogReader, kept: Kept) -> std::result::Result<Self, String> {
        let deadline = Deadline::default();
        let (of_view, of_log) = (deadline.clone(), deadline.clone());
        scope::prepare(&view).map_err(|error| error.to_string())?;
        view.progress_handler(STEPS, Some(move || of_view.is_over())).map_err(|error| error.to_string())?;
        log.give_up_when(STEPS, move || of_log.is_over()).map_err(|error| error.to_string())?;
        Ok(Reader { view, log, kept, deadline })
    }

    /// Counts the steps that SQLite takes in the view from here on.
    #[cfg(test)]
    pub(super) fn count_steps(&mut self) -> rusqlite::Result<Arc<std::sync::atomic::AtomicU64>> {
        let steps = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        let count = move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            false
        };
        self.view.progress_handler(1, Some(count))?;
        Ok(steps)
    }

    /// The view and the log, each in one unchanging state, for so long at most and while somebody waits.
    ///
    /// The log's is the later one. So it holds all that the view speaks of, and what retention lets go it takes from the
    /// view first: what is in this view and can still be asked for has its body in this log.
    pub(super) fn begin(&mut self, patience: Patience, abandoned: &Abandoned) -> Result<Snapshots<'_>> {
        self.view.busy_timeout(patience.lock)?;
        self.log.wait_for_locks(patience.lock)?;
        let (view, log) = (ViewSnapshot::begin(&self.view)?, self.log.begin()?);
        self.deadline.set(patience.longest, abandoned);
        Ok(Snapshots { deadline: &self.deadline, view, log, kept: &self.kept })
    }
}

/// The view and the log as one question reads them.
///
/// There is a deadline for what is read between beginning and ending them. An end that was broken off would leave its
/// transaction open, and the reader useless: every later question would fail to begin, and no WAL could be emptied.
pub(super) struct Snapshots<'a> {
    deadline: &'a Deadline,
    pub(super) view: ViewSnapshot<'a>,
    pub(super) log: LogSnapshot<'a>,
    /// Of the file that the view is of.
    pub(super) kept: &'a Kept,
}

impl Drop for Snapshots<'_> {
    fn drop(&mut self) {
        self.deadline.lift();
    }
}

/// The view in one unchanging state. Beginning and ending it are statements that are prepared once, unlike those of a
/// [`rusqlite::Transaction`]: a short question takes little longer than they would.
pub(super) struct ViewSnapshot<'a> {
    view: &'a Connection,
    extent: Extent,
}

impl<'a> ViewSnapshot<'a> {
    fn begin(view: &'a Connection) -> rusqlite::Result<Self> {
        view.prepare_cached("BEGIN")?.execute([])?;
        let mut snapshot = ViewSnapshot { view, extent: Extent::default() };
        // The first reading is what fixes the state.
        snapshot.extent = Extent::read(view)?;
        Ok(snapshot)
    }

    /// The view, and how far it reaches.
    pub(super) fn with_extent(&self) -> (&Connection, Extent) {
        (self.view, self.extent)
    }
}

impl Deref for ViewSnapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.view
    }
}

impl Drop for ViewSnapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written but a scope's sets, which the next question goes on with.
        let end = |sql| self.view.prepare_cached(sql)?.execute([]);
        // Should both fail, the next snapshot fails to begin.
        let _ = end("COMMIT").or_else(|_| end("ROLLBACK"));
    }
}
