//! Finds changes that were recorded under a wrong clock by an earlier version, which paused recorded time until
//! the clock had caught up with it: by the times in the objects themselves.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use rusqlite::TransactionBehavior;

use super::chain::HeadFile;
use super::compaction::Compaction;
use super::error::LogError;
use super::reader::LogReader;
use super::time_map::TimeMap;
use super::transaction::Write;
use super::{file, open};
use strandline_clock::Clock;
use strandline_model::{ClockEvent, ClockMark, InexactTimes, Offset, Timestamp};
use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// What is recorded this shortly after the object's own time was recorded under a clock that was right.
const FRESH: i64 = 30_000_000;

/// A clock that is wrong by less cannot be distinguished from a slow cluster.
const WRONG: i64 = 60_000_000;

/// How much the differences to the objects' own times may vary while a clock is wrong by the same.
const SAME: i64 = 10_000_000;

/// Changes in a row that have to agree, and the time that has to pass between the first and the last of them.
const AGREEING: usize = 3;
const SPREAD: i64 = 5_000_000;

/// Changes whose recorded times disagree with the times in the objects themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongTimes {
    /// Which changes, and when they really happened.
    pub inexact: InexactTimes,
    /// By how many microseconds their recorded times are ahead.
    pub ahead_micros: i64,
}

impl fmt::Display for WrongTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InexactTimes { from, since, until, .. } = self.inexact;
        let last = self.inexact.to.get().saturating_sub(1);
        let seconds = self.ahead_micros / 1_000_000;
        write!(
            f,
            "changes {from} to {last} were recorded with times up to {seconds} s ahead, between {since} and {until}"
        )
    }
}

/// A change with the time when its object changed.
struct Evidence {
    subject: i64,
    observed_at: i64,
    managed_at: i64,
}

/// Changes since the last one that was recorded under a clock that was right.
#[derive(Default)]
struct ExactRun {
    first: Offset,
    exact_at: i64,
    last_at: i64,
    /// Those that each have a later time than all before.
    advancing: Vec<Evidence>,
}

impl ExactRun {
    /// By how much the clock was ahead, if it was; the last recorded time may be the one that stood still.
    fn ahead(&self) -> Option<i64> {
        let lateness = |one: &Evidence| one.observed_at - one.managed_at;
        let moving = || self.advancing.iter().filter(|one| one.observed_at < self.last_at);
        if let Some(least) = moving().map(lateness).min().filter(|least| *least >= WRONG) {
            let agreeing: Vec<_> = moving().filter(|one| lateness(one) <= least + SAME).collect();
            if let [first, .., last] = agreeing[..]
                && agreeing.len() >= AGREEING
                && last.observed_at - first.observed_at >= SPREAD
            {
                return Some(least);
            }
        }
        // One object that changes again and again within one recorded time.
        let mut standing: HashMap<i64, (i64, i64)> = HashMap::new();
        for one in self.advancing.iter().filter(|one| one.observed_at == self.last_at) {
            let (since, times) = standing.entry(one.subject).or_insert((one.managed_at, 0));
            *times += 1;
            if one.managed_at - *since >= WRONG && *times >= AGREEING as i64 {
                return Some(self.last_at - *since);
            }
        }
        None
    }
}

/// Finds all such changes in the log of a data directory, and changes nothing.
///
/// # Errors
/// When the log cannot be read.
pub fn find_wrong_times(directory: &Path) -> Result<Vec<WrongTimes>> {
    if !file::path(directory).exists() {
        return Ok(Vec::new());
    }
    let reader = LogReader::inspect(directory)?;
    let from = Compaction::load(&reader.connection)?.swept;
    let times = TimeMap::load(&reader.connection, from)?;
    let sql = r#"SELECT "offset", subject_id, observed_at, managed_at FROM change WHERE "offset" > ?1 ORDER BY "offset""#;
    let mut statement = reader.connection.prepare(sql)?;
    let mut rows = statement.query([from])?;
    let (mut found, mut latest, mut run) = (Vec::new(), i64::MIN, None::<ExactRun>);
    while let Some(row) = rows.next()? {
        let (offset, subject): (Offset, i64) = (LOG.get(row, "change.offset")?, row.get("subject_id")?);
        let observed_at: i64 = row.get("observed_at")?;
        if !times.is_exact(offset) {
            run = None;
            continue;
        }
        let managed_at: Option<i64> = row.get("managed_at")?;
        let fresh = managed_at.is_some_and(|managed_at| (observed_at - managed_at).abs() <= FRESH);
        if fresh && run.as_ref().is_none_or(|run| observed_at > run.last_at || run.ahead().is_none()) {
            // Before anything is known to be right, nothing is known to be wrong.
            let ended = run.replace(ExactRun {
                first: offset.next(),
                exact_at: observed_at,
                last_at: observed_at,
                advancing: Vec::new(),
            });
            if let Some((run, ahead_micros)) = ended.and_then(|run| run.ahead().map(|ahead| (run, ahead))) {
                let inexact = InexactTimes {
                    from: run.first,
                    to: offset,
                    since: Timestamp::from_micros(run.exact_at),
                    until: Timestamp::from_micros(observed_at),
                };
                found.push(WrongTimes { inexact, ahead_micros });
            }
        } else if let Some(run) = &mut run {
            run.last_at = observed_at;
            if let Some(managed_at) = managed_at.filter(|managed_at| *managed_at > latest) {
                run.advancing.push(Evidence { subject, observed_at, managed_at });
            }
        }
        latest = latest.max(managed_at.unwrap_or(latest));
    }
    Ok(found)
}

/// Marks all such changes in the log of a data directory whose lock the caller holds, and records a gap for them for every
/// cluster. No change is altered; returns what was marked.
///
/// # Errors
/// When the log cannot be read or written.
pub fn mend_clock(directory: &Path, clock: &dyn Clock) -> Result<Vec<WrongTimes>> {
    let mut connection = open::open_writer(directory)?;
    let mut state = open::writer_state(&connection, directory)?;
    let found = find_wrong_times(directory)?;
    let now = clock.now().max(state.observed_at);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut write = Write { connection: &transaction, state: &mut state, now };
    for WrongTimes { inexact, ahead_micros } in &found {
        let (event, deviation_micros) = (ClockEvent::Mended, ahead_micros.saturating_neg());
        write.clock_mark(&ClockMark { event, deviation_micros, inexact: Some(*inexact) })?;
        let seconds = ahead_micros / 1_000_000;
        let message =
            format!("this machine's clock was {seconds} s ahead; times recorded in between are inexact");
        write.clock_gaps(inexact.since, inexact.until, &message)?;
    }
    transaction.commit()?;
    HeadFile::new(directory)
        .write(state.head, &state.hash)
        .map_err(|error| LogError::Copy { path: directory.join("log.head"), why: error.to_string() })?;
    Ok(found)
}
