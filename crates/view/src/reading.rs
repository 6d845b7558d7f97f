//! Reads the log ahead of the view's writer, on a thread of its own.
//!
//! Half of what it takes to project a record needs no view: to read and verify it, to unpack, parse and judge its
//! object. So while the writer writes one batch, the next is made ready here.
//!
//! Why: docs/decisions/0024-the-log-is-read-ahead-of-the-view.md.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::apply::Prepared;
use super::context::Rules;
use super::error::ProjectorError;
use super::links::Known;
use super::ruleset::RuleSet;
use strandline_health_lua::Judge;
use strandline_log::{Compacted, LogReader};
use strandline_model::{Offset, Record, Timestamp};

/// Records read at once.
const BATCH: usize = 1000;

/// How far a view has applied the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The last offset applied.
    pub(super) checkpoint: Offset,
    /// Up to where the log was swept when that was read.
    pub(super) swept: Offset,
}

/// Records that follow on a position, each with what follows from it alone.
pub(super) struct Batch {
    pub(super) records: Vec<(Record, Prepared)>,
    /// Where the view is once they are applied.
    pub(super) end: Position,
    /// The hash of the last of them.
    pub(super) hash: [u8; 16],
    /// Whether the log had more when they were read.
    pub(super) has_more: bool,
    /// The earliest moment that can be asked for, where it lies behind the position: its change may not be among these.
    pub(super) floor: Option<(Offset, Timestamp)>,
}

type Answer = Result<Option<Batch>, ProjectorError>;

/// The thread that reads, as the writer sees it.
pub(super) struct Reading {
    /// None once nothing more is to be asked.
    positions: Option<SyncSender<Position>>,
    answers: Receiver<Answer>,
    /// What was asked for ahead, and is not yet taken.
    ahead: Option<Position>,
    thread: Option<JoinHandle<()>>,
}

impl Reading {
    /// Starts the thread; `id` is the view's number of the rules.
    pub(super) fn start(log: LogReader, rules: RuleSet, id: i64) -> std::io::Result<Self> {
        // One question at most is without its answer, so that neither waits for room.
        let (positions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let read = move || {
            // Who judges stays on one thread, and so is made here.
            let judge = Judge::new(&rules.scripts, rules.patience);
            let mut reader = Reader { log, judge, rules, id, known: Known::default() };
            for position in asked {
                if answer.send(reader.after(position)).is_err() {
                    break;
                }
            }
        };
        let thread = Builder::new().name("view-reader".to_owned()).spawn(read)?;
        Ok(Reading { positions: Some(positions), answers, ahead: None, thread: Some(thread) })
    }

    /// What follows on a position; none where that is all of the log.
    pub(super) fn next(&mut self, position: Position) -> Answer {
        let ahead = match self.ahead.take() {
            None => None,
            Some(asked) => {
                let answer = self.answer();
                // What could not be written is read again.
                if asked == position { answer? } else { None }
            }
        };
        let batch = match ahead {
            Some(batch) => Some(batch),
            // What was asked for long ago may have come since.
            None => {
                self.ask(position);
                self.answer()?
            }
        };
        if let Some(batch) = batch.as_ref().filter(|batch| batch.has_more) {
            self.ask(batch.end);
            self.ahead = Some(batch.end);
        }
        Ok(batch)
    }

    fn ask(&self, position: Position) {
        if let Some(positions) = &self.positions {
            // A thread that is gone sends no answer, which is noticed where one is received.
            let _ = positions.send(position);
        }
    }

    fn answer(&mut self) -> Answer {
        self.answers.recv().unwrap_or_else(|_| match self.thread.take().map(JoinHandle::join) {
            // The thread ends early only where something panics; what panicked there panics here.
            Some(Err(panic)) => resume_unwind(panic),
            _ => Ok(None),
        })
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.positions = None;
        if let Some(thread) = self.thread.take() {
            // It ends once it has read what it was asked for last; should it panic, nobody wants that any more.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Reader {
    log: LogReader,
    rules: RuleSet,
    judge: Judge,
    id: i64,
    known: Known,
}

impl Reader {
    fn after(&mut self, position: Position) -> Answer {
        let Position { checkpoint, swept: before } = position;
        let mut log = self.log.begin()?;
        let swept = log.swept()?;
        if checkpoint != Offset::ZERO && checkpoint < swept && before != swept {
            // What was pruned meanwhile may have ended what is in the view already.
            return Err(ProjectorError::Outrun { checkpoint, swept });
        }
        let records = log.after(checkpoint, BATCH)?;
        let Some(last) = records.last().map(|record| record.offset) else { return Ok(None) };
        let (hash, has_more) = (log.hash_at(last)?, log.head()? > last);
        let Compacted { offset, observed_at } = log.compacted()?;
        let floor = observed_at.map(|time| (offset, time)).filter(|_| offset > checkpoint);
        drop(log);
        let rules = Rules { set: &self.rules, id: self.id };
        let prepare = |record: Record| {
            let prepared = Prepared::of(&record, &self.judge, rules, &mut self.known);
            (record, prepared)
        };
        let records = records.into_iter().map(prepare).collect();
        Ok(Some(Batch { records, end: Position { checkpoint: last, swept }, hash, has_more, floor }))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use strandline_clock::SystemClock;
    use strandline_log::LogWriter;
    use strandline_model::{CatalogFact, ClusterSpec, Source};

    /// Adds a change to the log of a directory.
    fn play(directory: &Path, name: &str) {
        let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).unwrap();
        let thread = std::thread::spawn(move || writer.run());
        let facts = vec![CatalogFact::Cluster(ClusterSpec { name: name.to_owned(), region: String::new() })];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(appender.declare(Source::Config, facts)).unwrap();
        drop(appender);
        thread.join().unwrap().unwrap();
    }

    #[test]
    fn what_was_asked_for_ahead_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        play(dir.path(), "first");
        let log = LogReader::open(dir.path()).unwrap();
        let mut reading = Reading::start(log, RuleSet::default(), 1).unwrap();
        let start = Position { checkpoint: Offset::ZERO, swept: Offset::ZERO };
        let first = reading.next(start).unwrap().unwrap();
        let ahead = |reading: &mut Reading| {
            reading.ask(first.end);
            reading.ahead = Some(first.end);
        };
        ahead(&mut reading);
        let again = reading.next(start).unwrap().unwrap();
        assert_eq!(
            (again.end, again.hash),
            (first.end, first.hash),
            "what could not be written is read again"
        );
        ahead(&mut reading);
        play(dir.path(), "second");
        let next = reading.next(first.end).unwrap().unwrap();
        assert!(next.end.checkpoint > first.end.checkpoint, "what came meanwhile is found");
        assert!(reading.next(next.end).unwrap().is_none());
    }
}
