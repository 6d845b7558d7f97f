//! One reader of the view and the log, lent to one query at a time.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, DropBehavior, OptionalExtension, Transaction};

use crate::error::Result;
use crate::scope;
use strandline_log::{LogReader, LogSnapshot};
use strandline_sqlite::Abandoned;

/// How long a question may read. As long as it does, no WAL can be emptied.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// After so many steps of SQLite's machine, some tenths of a millisecond, a look at the clock and at who waits.
const STEPS: i32 = 10_000;

/// Connections of one reader.
pub(super) struct Reader {
    view: Connection,
    log: LogReader,
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

    fn is_over(&self) -> bool {
        let (end, abandoned) = &*self.lock();
        abandoned.get() || end.is_some_and(|end| Instant::now() >= end)
    }
}

impl Reader {
    pub(super) fn open(directory: &Path) -> std::result::Result<Self, String> {
        let mut view = strandline_view::open_at_rest(directory).map_err(|error| error.to_string())?;
        let mut log = LogReader::open_at_rest(directory).map_err(|error| error.to_string())?;
        let deadline = Deadline::default();
        let (of_view, of_log) = (deadline.clone(), deadline.clone());
        scope::prepare(&view).map_err(|error| error.to_string())?;
        view.progress_handler(STEPS, Some(move || of_view.is_over())).map_err(|error| error.to_string())?;
        log.give_up_when(STEPS, move || of_log.is_over()).map_err(|error| error.to_string())?;
        Ok(Reader { view, log, deadline })
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
    pub(super) fn begin(
        &mut self,
        longest: Duration,
        abandoned: &Abandoned,
    ) -> Result<(Transaction<'_>, LogSnapshot<'_>)> {
        self.deadline.set(longest, abandoned);
        let mut view = self.view.transaction()?;
        // Nothing is written but a scope's sets, which the next question goes on with.
        view.set_drop_behavior(DropBehavior::Commit);
        // The first reading is what fixes the state.
        view.query_row("SELECT 1 FROM checkpoint", [], |_| Ok(())).optional()?;
        Ok((view, self.log.begin()?))
    }
}
