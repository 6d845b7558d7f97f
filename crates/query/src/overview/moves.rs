//! What environments showed over a span of offsets, of which the last one is kept in memory from one trend to the next.
//!
//! A trend of a day looks at all that moved in that day, which is the same for the next trend but for its ends. What an
//! environment shows from an offset on never changes once the view has reached that offset.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashSet};
use rusqlite::{Connection, Row, named_params};

use crate::error::Result;
use strandline_model::{Health, Offset, Timestamp};
use strandline_protocol::Trend;
use strandline_sqlite::column::VIEW;

/// What an environment shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Said {
    pub(super) state: Option<Health>,
    pub(super) grace_state: Option<Health>,
    pub(super) grace_until: Option<Timestamp>,
}

/// An environment shows something from an offset on.
#[derive(Clone, Copy)]
pub(in super::super) struct Moved {
    /// The environment's place among those of [`Moves`].
    pub(in super::super) place: usize,
    pub(in super::super) offset: Offset,
    pub(in super::super) time: Timestamp,
    pub(in super::super) said: Said,
}

/// What environments showed between two offsets.
pub(in super::super) struct Moves {
    since: Offset,
    until: Offset,
    /// Where it should have begun earlier and too much moved: when the last of that did.
    cut: Option<Timestamp>,
    /// The places of environments, by the view's numbers.
    places: HashMap<i64, usize>,
    /// What held at the first offset, by places; nothing of those that came later.
    before: Vec<Option<Said>>,
    /// What moved after it, in the order of offsets.
    moved: Vec<Moved>,
}

/// What all environments of one file of the view showed lately; clones share it.
#[derive(Clone)]
pub(in super::super) struct KeptMoves {
    /// How many moves are kept.
    most: usize,
    moves: Arc<Mutex<Option<Moves>>>,
}

impl Default for KeptMoves {
    /// As many as a trend looks at.
    fn default() -> Self {
        KeptMoves::of(Trend::CHANGES)
    }
}

impl KeptMoves {
    /// None yet, and so many at most.
    pub(in super::super) fn of(most: usize) -> Self {
        KeptMoves { most, moves: Arc::default() }
    }

    /// Calls `look` with what all environments showed since an offset or longer, in a view that ends at this checkpoint. None where
    /// that is not kept: where too much moved, or where it is not to be kept from there on.
    pub(in super::super) fn since<T>(
        &self,
        view: &Connection,
        (start, checkpoint): (Offset, Offset),
        is_to_be_kept: bool,
        look: impl FnOnce(&Moves) -> T,
    ) -> Result<Option<T>> {
        // Who comes meanwhile waits for what they would read themselves. What breaks off leaves what was there.
        let mut kept = self.moves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(moves) = &mut *kept {
            moves.bring_to(view, checkpoint, self.most)?;
        }
        // What was cut would be cut again.
        let could_reach = |moves: &Moves| moves.since > start && moves.cut.is_none();
        if is_to_be_kept && kept.as_ref().is_none_or(could_reach) {
            *kept = Some(Moves::read(view, (start, checkpoint), self.most, |_| true)?);
        }
        Ok(kept.as_ref().filter(|moves| moves.since <= start).map(look))
    }
}

impl Moves {
    /// What these environments showed between two offsets, or the last of it where that is too much.
    pub(in super::super) fn of(
        view: &Connection,
        span: (Offset, Offset),
        environments: &[i64],
    ) -> Result<Self> {
        let all: HashSet<i64> = environments.iter().copied().collect();
        Moves::read(view, span, Trend::CHANGES, |environment| all.contains(&environment))
    }

    fn read(
        view: &Connection,
        (since, until): (Offset, Offset),
        most: usize,
        of: impl Fn(i64) -> bool,
    ) -> Result<Self> {
        let (found, cut) = between(view, (since, until), most, &of)?;
        let (since, cut) = cut.map_or((since, None), |(offset, time)| (offset, Some(time)));
        let (places, before, moved) = Default::default();
        let mut moves = Moves { since, until, cut, places, before, moved };
        let sql = "SELECT environment_id, state, grace_state, grace_until FROM stretch_health
            WHERE stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset <= :at)
                AND from_offset <= :at AND to_offset > :at";
        let mut statement = view.prepare_cached(sql)?;
        let mut rows = statement.query(named_params! { ":at": since.as_i64() })?;
        while let Some(row) = rows.next()? {
            let environment = row.get(0)?;
            if of(environment) {
                let place = moves.place(environment);
                moves.before[place] = Some(Said::read(row, 1)?);
            }
        }
        moves.add(found);
        Ok(moves)
    }

    /// Reads on up to the last offset of a view.
    fn bring_to(&mut self, view: &Connection, checkpoint: Offset, most: usize) -> Result<()> {
        if self.until >= checkpoint {
            return Ok(());
        }
        let (found, cut) = between(view, (self.until, checkpoint), most, |_| true)?;
        let begin = if cut.is_some() {
            self.until
        } else {
            self.add(found);
            self.until = checkpoint;
            if self.moved.len() <= most {
                return Ok(());
            }
            self.moved.get(self.moved.len() - most / 2).map_or(checkpoint, |one| one.offset)
        };
        // Of environments that ended no move tells that: what held where it begins is read anew, and seldom.
        *self = Moves::read(view, (begin, checkpoint), most, |_| true)?;
        Ok(())
    }

    /// Takes in what moved next, the last first.
    fn add(&mut self, found: Vec<Found>) {
        self.moved.reserve(found.len());
        for Found { environment, offset, time, said } in found.into_iter().rev() {
            let place = self.place(environment);
            self.moved.push(Moved { place, offset, time, said });
        }
    }

    /// The place of an environment, which gets one here.
    fn place(&mut self, environment: i64) -> usize {
        let next = self.before.len();
        let place = *self.places.entry(environment).or_insert(next);
        if place == next {
            self.before.push(None);
        }
        place
    }

    /// The first offset that it speaks of.
    pub(in super::super) fn first(&self) -> Offset {
        self.since
    }

    /// Where it begins later than was asked for: when that was.
    pub(super) fn cut(&self) -> Option<Timestamp> {
        self.cut
    }

    /// Which of these environments each place is of, by its number among them.
    pub(in super::super) fn who(&self, environments: &[i64]) -> Vec<Option<usize>> {
        let mut who = vec![None; self.before.len()];
        for (number, environment) in environments.iter().enumerate() {
            if let Some(place) = self.places.get(environment) {
                who[*place] = Some(number);
            }
        }
        who
    }

    /// What is shown at an offset, by places, and what moved after it.
    pub(in super::super) fn from(&self, start: Offset) -> (Vec<Option<Said>>, impl Iterator<Item = &Moved>) {
        debug_assert!(self.since <= start, "of what was before nothing is known");
        let (mut held, first) =
            (self.before.clone(), self.moved.partition_point(|moved| moved.offset <= start));
        let (earlier, later) = self.moved.split_at(first);
        for Moved { place, said, .. } in earlier {
            held[*place] = Some(*said);
        }
        (held, later.iter())
    }
}

impl Said {
    /// Reads the columns `state`, `grace_state` and `grace_until`, of which this is the first.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let until: Option<i64> = row.get(first + 2)?;
        Ok(Said {
            state: VIEW.get_at(row, first, "environment_health.state")?,
            grace_state: VIEW.get_at(row, first + 1, "environment_health.grace_state")?,
            grace_until: until.map(Timestamp::from_micros),
        })
    }
}

/// A row of the view: what an environment shows from an offset on.
struct Found {
    environment: i64,
    offset: Offset,
    time: Timestamp,
    said: Said,
}

/// The offset and time of the last move that was too much.
type Cut = (Offset, Timestamp);

/// What moved after one offset and up to another, the last first and so much at most.
fn between(
    view: &Connection,
    (since, until): (Offset, Offset),
    most: usize,
    of: impl Fn(i64) -> bool,
) -> Result<(Vec<Found>, Option<Cut>)> {
    let sql = "SELECT environment_id, from_offset, observed_at, state, grace_state, grace_until
        FROM environment_health INDEXED BY environment_health_by_time
        WHERE from_offset > :since AND from_offset <= :until ORDER BY from_offset DESC";
    let mut statement = view.prepare_cached(sql)?;
    let span = named_params! { ":since": since.as_i64(), ":until": until.as_i64() };
    let (mut rows, mut found) = (statement.query(span)?, Vec::new());
    while let Some(row) = rows.next()? {
        let (environment, offset) = (row.get(0)?, row.get(1)?);
        let time = Timestamp::from_micros(row.get(2)?);
        if found.len() == most {
            return Ok((found, Some((offset, time))));
        }
        if of(environment) {
            found.push(Found { environment, offset, time, said: Said::read(row, 3)? });
        }
    }
    Ok((found, None))
}
