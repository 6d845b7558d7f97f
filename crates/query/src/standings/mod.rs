//! All environments as they stand and stood, kept in memory from one overview to the next.
//!
//! An overview looks at every environment, and SQLite takes microseconds for each. Between two overviews few
//! of them change, and whoever writes the view says which: only these are read again.
//!
//! Why: docs/decisions/0046-environments-as-they-stand-are-kept-in-memory.md.

mod in_sight;
mod newest;
mod past;
mod shared;
mod sieve;
mod standing;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use self::newest::Newest;
use self::past::Past;
pub(super) use self::sieve::Sieve;
pub(super) use self::standing::{Shown, Standing};
use crate::error::Result;
use crate::moment::Moment;
use crate::scope::{Audiences, ResolvedScope};
use strandline_model::Offset;
use strandline_view::RecentChanges;

/// How environments stand in one file of the view; clones share it.
#[derive(Clone, Default)]
pub(super) struct Standings {
    recent: RecentChanges,
    newest: Arc<Mutex<Option<Newest>>>,
    past: Arc<Mutex<Past>>,
}

/// How the environments stand that a scope sees.
pub(super) struct SeenStandings {
    all: Arc<Vec<Standing>>,
    audiences: Audiences,
}

impl Standings {
    /// None yet, of a view whose writer says here what changes.
    pub(super) fn new(recent: &RecentChanges) -> Self {
        Standings { recent: recent.clone(), ..Standings::default() }
    }

    /// The same of another file, of which nothing is known yet, once nobody writes the one before any more.
    pub(super) fn of_another_file(&self) -> Self {
        self.recent.clear();
        Standings::new(&self.recent)
    }

    /// How the environments stand at a moment that a scope sees.
    pub(super) fn of(
        &self,
        view: &Connection,
        moment: &Moment,
        scope: &ResolvedScope,
    ) -> Result<SeenStandings> {
        let all = match scope.is_narrow() {
            true => Arc::new(in_sight::read(view, moment.offset)?),
            false => self.at(view, moment.offset, moment.checkpoint())?,
        };
        Ok(SeenStandings { all, audiences: scope.audiences(view)? })
    }

    /// How all environments stand at an offset, by their numbers, in a view that ends at this checkpoint.
    pub(super) fn at(
        &self,
        view: &Connection,
        offset: Offset,
        checkpoint: Offset,
    ) -> Result<Arc<Vec<Standing>>> {
        if offset < checkpoint
            && let Some(all) = lock(&self.past).get(offset)
        {
            return Ok(all);
        }
        let (newest, all) = self.newest(view, checkpoint)?;
        if newest == offset {
            return Ok(all);
        }
        // Nobody waits for who asks about another moment: two who ask about one may read it both.
        let all = Arc::new(past::read(view, offset, &all)?);
        lock(&self.past).put(offset, &all);
        Ok(all)
    }

    /// How all environments stand at the last offset of a view, or later where a later state of the view was asked.
    fn newest(&self, view: &Connection, checkpoint: Offset) -> Result<(Offset, Arc<Vec<Standing>>)> {
        // Who comes meanwhile waits for what they would read themselves. What breaks off leaves what was there.
        let mut newest = lock(&self.newest);
        let newest = match &mut *newest {
            Some(known) => {
                if known.offset < checkpoint {
                    known.bring_to(view, checkpoint, &self.recent)?;
                }
                known
            }
            none => none.insert(Newest::read(view, checkpoint)?),
        };
        Ok((newest.offset, Arc::clone(&newest.all)))
    }
}

/// Nothing that can panic leaves half of it behind.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SeenStandings {
    /// Those that are seen, by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Standing> {
        self.all.iter().filter(|one| self.audiences.see(one.audience))
    }

    /// Whether what one of them holds may be read.
    pub(super) fn may_read(&self, one: &Standing) -> bool {
        self.audiences.read(one.audience)
    }
}
