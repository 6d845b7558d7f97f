//! The states of following one kind, each with exactly the data that is valid in it, and how one follows from another.
//!
//! ```text
//!  Begin      ─► StreamList, PageList, OpenWatch
//!  StreamList ─► Watch, Begin
//!  PageList   ─► OpenWatch, Begin
//!  OpenWatch  ─► Watch, Begin
//!  Watch      ─► OpenWatch, Begin
//!  any        ─► BackOff ─► Begin, OpenWatch
//!  any        ─► Ended
//! ```

use std::cmp::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::line_reader::LineReader;
use super::unreported::Unreported;
use strandline_log::{Epoch, Phase, Session};
use strandline_model::{ResourceVersion, Timestamp, WatchKey};

/// What is done next.
pub(super) enum State {
    /// Begin a run in the log, which knows where to resume.
    Begin(Run),
    /// Read everything by a watch that begins with what there is, and continue as that watch.
    StreamList(ListRun),
    /// Read everything in pages.
    PageList(ListRun),
    /// Open a watch at the cursor.
    OpenWatch(Position),
    /// Read the watch until it ends.
    Watch(Box<Watching>),
    /// Wait, then continue.
    BackOff { wait: Duration, then: Box<State> },
    /// Nothing more.
    Ended(End),
}

/// Why following a kind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was cancelled.
    Cancelled,
    /// A newer run of the same watch has begun.
    Superseded,
    /// The log is closed.
    Closed,
}

/// What remains of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) watch: WatchKey,
    pub(crate) end: End,
    /// Up to when everything is recorded.
    pub(crate) confirmed_until: Option<Timestamp>,
}

/// A run that is about to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// The first of this task: the log may know of an absence.
    First,
    Next(Restart),
}

/// What the next run needs to know of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Restart {
    /// The cursor is of no more use: a list is due.
    pub(super) forget_cursor: bool,
    /// What happened after this may be missing, as the log is to know.
    pub(super) since: Option<Timestamp>,
    /// The newest state of the cluster that was ever reached.
    pub(super) reached: Option<ResourceVersion>,
    pub(super) rollback: Rollback,
    pub(super) mode: ListMode,
}

impl Restart {
    /// The same with a list, whatever cursor the log has.
    pub(super) fn with_list(self) -> Run {
        Run::Next(Restart { forget_cursor: true, ..self })
    }

    /// The same from the cursor that the log has.
    pub(super) fn resume(self) -> Run {
        Run::Next(self)
    }
}

/// How the next list is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListMode {
    /// As a stream where the server supports that.
    #[default]
    Preferred,
    /// In pages, as a stream brought nothing of use.
    Pages,
}

/// Whether a list may be older than the newest state that was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rollback {
    /// No list was older.
    #[default]
    NotSeen,
    /// One was, which may come from a server that lags; a second one is accepted.
    SeenOnce,
    /// The store may have been rolled back: what the list shows is right, however old it is.
    Accepted,
}

/// A list shows an older state than was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OlderState {
    /// For the first time: another server may know better.
    First,
    /// For the second time: the store was rolled back.
    Confirmed,
}

impl Rollback {
    /// Judges the state that a list shows against the newest that is known.
    pub(super) fn judge(
        &mut self,
        shown: &ResourceVersion,
        newest: Option<&ResourceVersion>,
    ) -> Result<(), OlderState> {
        let is_older = newest.and_then(|newest| shown.compare(newest)).is_some_and(Ordering::is_lt);
        let (next, result) = match (*self, is_older) {
            (Rollback::Accepted, _) => (Rollback::Accepted, Ok(())),
            (_, false) => (Rollback::NotSeen, Ok(())),
            (Rollback::NotSeen, true) => (Rollback::SeenOnce, Err(OlderState::First)),
            (Rollback::SeenOnce, true) => (Rollback::SeenOnce, Err(OlderState::Confirmed)),
        };
        *self = next;
        result
    }
}

/// A run without a cursor: a list is due.
#[derive(Debug)]
pub(super) struct ListRun {
    epoch: Epoch,
    /// The newest state of the cluster that was ever reached.
    reached: Option<ResourceVersion>,
    /// The newest state among the objects that are recorded.
    recorded: Option<ResourceVersion>,
    rollback: Rollback,
}

impl ListRun {
    /// A list is due, as the log has no cursor for this run.
    pub(super) fn new(session: Session, restart: Restart) -> Self {
        let Restart { reached, rollback, .. } = restart;
        ListRun { epoch: session.epoch, reached, recorded: session.newest, rollback }
    }

    /// The list begins now.
    pub(super) fn begin(self, now: Timestamp) -> Listing {
        let unreported = Unreported::after(self.reached.clone());
        Listing { run: self, began: now, is_partial: false, unreported }
    }
}

/// A list under way.
#[derive(Debug)]
pub(super) struct Listing {
    run: ListRun,
    /// What the list shows was so at this time or later.
    began: Timestamp,
    /// Whether it had objects that could not be identified.
    pub(super) is_partial: bool,
    /// What it found that events should have reported.
    pub(super) unreported: Unreported,
}

impl Listing {
    pub(super) fn epoch(&self) -> Epoch {
        self.run.epoch
    }

    pub(super) fn began(&self) -> Timestamp {
        self.began
    }

    /// The newest state that is known of the cluster.
    pub(super) fn newest(&self) -> Option<&ResourceVersion> {
        self.run.reached.as_ref().or(self.run.recorded.as_ref())
    }

    /// Whether what is recorded may be newer than what the cluster has.
    pub(super) fn is_of_older_store(&self) -> bool {
        self.run.rollback == Rollback::Accepted
    }

    pub(super) fn judge(&mut self, shown: &ResourceVersion) -> Result<(), OlderState> {
        let ListRun { reached, recorded, rollback, .. } = &mut self.run;
        rollback.judge(shown, reached.as_ref().or(recorded.as_ref()))
    }

    /// How the end of the list is recorded.
    pub(super) fn end_phase(&self) -> Phase {
        if self.is_partial { Phase::PartialListEnd } else { Phase::ListEnd }
    }

    /// All of it is recorded: what follows is watched from the state that it showed.
    pub(super) fn end(&self, cursor: ResourceVersion) -> Position {
        Position { epoch: self.run.epoch, cursor, catch_up: None }
    }

    /// It was broken off: what the next run needs of it.
    pub(super) fn restart(&self) -> Restart {
        Restart { reached: self.run.reached.clone(), rollback: self.run.rollback, ..Restart::default() }
    }
}

/// A list that is read as a stream, which becomes a watch at its end.
#[derive(Debug)]
pub(super) enum Streamed {
    Listing(Listing),
    Listed(Position),
}

impl Streamed {
    pub(super) fn restart(&self) -> Restart {
        match self {
            Streamed::Listing(listing) => listing.restart(),
            Streamed::Listed(position) => position.restart(),
        }
    }
}

/// Where the log ends, so that a watch can resume there.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) epoch: Epoch,
    /// Everything up to this state is recorded.
    cursor: ResourceVersion,
    /// After an absence, or a watch that broke after a silence, until the watch has caught up.
    pub(super) catch_up: Option<CatchUp>,
}

impl Position {
    pub(super) fn new(epoch: Epoch, cursor: ResourceVersion, catch_up: Option<CatchUp>) -> Self {
        Position { epoch, cursor, catch_up }
    }

    pub(super) fn cursor(&self) -> &ResourceVersion {
        &self.cursor
    }

    /// Everything up to this state is recorded by now.
    pub(super) fn set_recorded(&mut self, cursor: ResourceVersion) {
        self.cursor = cursor;
    }

    pub(super) fn restart(&self) -> Restart {
        Restart { reached: Some(self.cursor.clone()), ..Restart::default() }
    }
}

/// A watch resumes where one ended that may not have sent everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CatchUp {
    /// When it began.
    pub(super) began: Timestamp,
    /// Since when changes were recorded late, where some came that may have happened before it began.
    pub(super) late_since: Option<Timestamp>,
}

impl CatchUp {
    pub(super) fn new(began: Timestamp) -> Self {
        CatchUp { began, late_since: None }
    }

    /// A change was recorded that happened at this time or later.
    pub(super) fn note(&mut self, earliest: Timestamp) {
        if earliest < self.began {
            self.late_since = Some(self.late_since.map_or(earliest, |since| since.min(earliest)));
        }
    }
}

/// An open watch.
pub(super) struct Watching {
    pub(super) position: Position,
    pub(super) reader: LineReader,
    /// When it was asked for.
    pub(super) opened: Instant,
    /// Where it began.
    from: ResourceVersion,
    /// Whether it sent anything that could be read.
    pub(super) progressed: bool,
}

impl Watching {
    pub(super) fn new(position: Position, reader: LineReader, opened: Instant) -> Self {
        let from = position.cursor.clone();
        Watching { position, reader, opened, from, progressed: false }
    }

    /// Whether the cursor moved since the watch was opened.
    pub(super) fn has_moved(&self) -> bool {
        self.position.cursor != self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ResourceVersion {
        ResourceVersion::new(text)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn an_older_list_is_confirmed_by_a_second_one_and_accepted_from_then_on() {
        use Rollback::{Accepted, NotSeen, SeenOnce};
        let cases = [
            (NotSeen, "9", Ok(()), NotSeen),
            (NotSeen, "7", Ok(()), NotSeen),
            (NotSeen, "6", Err(OlderState::First), SeenOnce),
            (SeenOnce, "6", Err(OlderState::Confirmed), SeenOnce),
            // The server that lagged has caught up.
            (SeenOnce, "7", Ok(()), NotSeen),
            (Accepted, "6", Ok(()), Accepted),
            (Accepted, "9", Ok(()), Accepted),
            // Tokens without an order are never older.
            (NotSeen, "abc", Ok(()), NotSeen),
        ];
        for (before, shown, expected, after) in cases {
            let mut rollback = before;
            assert_eq!(rollback.judge(&version(shown), Some(&version("7"))), expected, "{before:?} {shown}");
            assert_eq!(rollback, after, "{before:?} {shown}");
            let mut rollback = before;
            assert_eq!(rollback.judge(&version(shown), None), Ok(()), "nothing to compare with");
        }
    }

    #[test]
    fn a_list_passes_on_what_the_next_state_needs() {
        let session = |newest: Option<&str>| Session {
            epoch: Epoch(3),
            cursor: None,
            newest: newest.map(version),
            last_seen: None,
            verified_at: None,
            unverified_since: None,
        };
        let restart = |rollback| Restart {
            forget_cursor: true,
            since: Some(at(1)),
            reached: Some(version("70")),
            rollback,
            mode: ListMode::Pages,
        };
        let mut listing = ListRun::new(session(Some("9")), restart(Rollback::NotSeen)).begin(at(5));
        assert_eq!((listing.epoch(), listing.began()), (Epoch(3), at(5)));
        assert_eq!(listing.newest(), Some(&version("70")), "what was reached counts, not what is recorded");
        assert_eq!(listing.judge(&version("30")), Err(OlderState::First));
        let expected = Restart {
            reached: Some(version("70")),
            rollback: Rollback::SeenOnce,
            // The log knows since when changes may be missing, and one list in pages was made.
            ..Restart::default()
        };
        assert_eq!(listing.restart(), expected);
        assert_eq!(expected.clone().with_list(), Run::Next(Restart { forget_cursor: true, ..expected }));

        let mut position = listing.end(version("80"));
        assert_eq!((position.epoch, position.cursor(), position.catch_up), (Epoch(3), &version("80"), None));
        position.set_recorded(version("81"));
        let restart = position.restart();
        assert_eq!(restart, Restart { reached: Some(version("81")), ..Restart::default() });
    }

    #[test]
    fn only_what_happened_before_a_watch_resumed_is_late() {
        let mut catch_up = CatchUp::new(at(10));
        catch_up.note(at(10));
        assert_eq!(catch_up.late_since, None);
        for (earliest, late_since) in [(8, 8), (9, 8), (7, 7)] {
            catch_up.note(at(earliest));
            assert_eq!(catch_up.late_since, Some(at(late_since)));
        }
    }
}
