//! Follows one kind: a list, then one watch after the other from where the log stands.
//!
//! The cursor is written with the changes it covers, so every path through the states below ends where the
//! log ends: what was not appended is told again by the cluster.
//!
//! Why: docs/decisions/0004-our-own-list-and-watch.md.

mod ahead;
mod doubt;
mod list;
mod progress;
mod reader;
mod unreported;
mod verify;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::doubt::{Doubt, SetBackReceiver, SetBackSender};
use self::reader::Reader;
use self::unreported::Unreported;
use super::backoff::{Backoff, Spread};
use super::consistency::Check;
use super::coverage::Coverage;
use super::definitions::Definitions;
use super::discovery::{defines_kinds, tells_kinds};
use super::outcome::{Activity, Next, decide};
use super::request::Failure;
use super::skew::ClockSkew;
use super::{ClusterConnection, ClusterSettings, ServedKind, Sink};
use strandline_log::{AppendError, Batch, Begin, Epoch, Observed, Phase};
use strandline_model::{ResourceVersion, Timestamp, WatchKey, reason};
use strandline_redact::TypeMeta;

/// What is done next.
#[derive(Debug)]
enum State {
    /// Ask the log where it stands; `fresh` forgets the cursor.
    Begin { fresh: bool },
    /// Read everything there is.
    List,
    /// Watch from the cursor.
    Watch,
    /// Wait, then go on.
    Pause { wait: Duration, then: Box<State> },
    /// Nothing more.
    Done(End),
}

/// Why following a kind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was asked to.
    Cancelled,
    /// A newer run of the same watch has begun.
    Superseded,
    /// The log is closed.
    Closed,
}

/// What remains of a run.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) watch: WatchKey,
    pub(super) end: End,
    pub(super) last_heard: Option<Timestamp>,
}

/// Why a state was left before its end.
enum Stop {
    Failed(Failure),
    Append(AppendError),
    /// Something else comes first.
    Again(State),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

impl From<AppendError> for Stop {
    fn from(error: AppendError) -> Self {
        Stop::Append(error)
    }
}

/// Whether the server knows streaming lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Untried,
    /// It told one to its end.
    Known,
    /// It refused one, or never told the end of its first; or nobody wants them.
    Unknown,
}

/// A watch that goes on where one ended that told less than there was.
#[derive(Clone, Copy, Debug)]
struct Resumed {
    /// When it began.
    back: Timestamp,
    /// Since when changes were recorded late, where some came that may have happened before.
    late_since: Option<Timestamp>,
}

/// Objects cleaned before other tasks get their turn: about a millisecond of work.
const TURN: usize = 32;

/// What the watches of one cluster share, so that none takes more than its part.
#[derive(Clone)]
pub(super) struct Shared {
    /// Lists at the same time.
    pub(super) lists: Arc<Semaphore>,
    /// Batches that are read and recorded at the same time: a cluster that sends without end takes its own share of the
    /// processors and of the writer's queue, and no other's.
    pub(super) turns: Arc<Semaphore>,
    /// Told when something changed that says which kinds there are.
    pub(super) kinds_changed: Arc<Notify>,
    /// How far the cluster's clock is off ours.
    pub(super) skew: Arc<ClockSkew>,
    /// Consistency lists at the same time.
    pub(super) consistency: Arc<Semaphore>,
    /// How custom kinds are defined.
    pub(super) definitions: Definitions,
    /// Told when a kind shows that the cluster's store may have been set back.
    pub(super) set_back: SetBackSender,
}

impl Shared {
    pub(super) fn new(settings: &ClusterSettings) -> Self {
        Shared {
            lists: Arc::new(Semaphore::new(settings.concurrent_lists.max(1))),
            turns: Arc::new(Semaphore::new(settings.concurrent_batches.max(1))),
            kinds_changed: Arc::default(),
            skew: Arc::default(),
            consistency: Arc::new(Semaphore::new(1)),
            definitions: Definitions::new(settings.limits.gather * 8),
            set_back: SetBackSender::default(),
        }
    }
}

/// Follows one kind, everywhere or in one namespace.
pub(super) struct ListWatch<S> {
    connection: ClusterConnection,
    watch: WatchKey,
    path: String,
    /// Which objects are asked for, as it stands in queries.
    selector: String,
    api_version: String,
    settings: Arc<ClusterSettings>,
    sink: S,
    shared: Shared,
    coverage: Coverage<S>,
    backoff: Backoff,
    spread: Spread,
    epoch: Epoch,
    /// Where to watch from: what the log holds, or one that the log is about to hold.
    cursor: Option<ResourceVersion>,
    /// The newest state of the cluster that was ever reached, whether or not the cursor was given up since.
    reached: Option<ResourceVersion>,
    /// The newest state among the objects that are recorded, where no cursor says more.
    recorded: Option<ResourceVersion>,
    /// A list showed an older state than was reached; a second one that does is believed.
    set_back: bool,
    first_run: bool,
    empty_watches: u32,
    garbage_told: bool,
    streams: Streams,
    /// The next list comes in pages, as a stream brought nothing of use.
    paged_next: bool,
    /// Whether the server is known to send bookmarks.
    bookmarks: bool,
    /// A streaming list is under way: what is told is a list until its end is told.
    listing: bool,
    /// When the list under way began: what it shows was so at least then.
    list_began: Timestamp,
    /// Whether the list under way held objects that could not be told apart.
    list_is_partial: bool,
    /// The list under way may be of a store that was set back: what it shows holds, however old it is.
    rolled_back: bool,
    /// What the list under way found that events should have reported.
    unreported: Unreported,
    /// Changes since the last confirmed time of which it is not known when they happened.
    undated: bool,
    /// The process was away, or a watch broke after a silence, until the next watch has caught up.
    resumed: Option<Resumed>,
    /// The cluster was not reached, so that its store may have been set back meanwhile: a cursor proves nothing.
    distrusted: bool,
    /// Comparisons of what is recorded with what the cluster has.
    check: Check,
    /// When the last of them, or a list, found all recorded.
    verified_at: Option<Timestamp>,
    /// What was not compared since a stream broke.
    doubt: Doubt,
    /// Told when another kind shows that the store may have been set back.
    set_back_elsewhere: SetBackReceiver,
    /// What happened after this may be missing, as the next run is to know.
    since: Option<Timestamp>,
    /// The watch that a streaming list goes over into.
    opened: Option<Reader>,
}

impl<S: Sink> ListWatch<S> {
    pub(super) fn new(
        served: &ServedKind,
        watch: WatchKey,
        settings: Arc<ClusterSettings>,
        connection: &ClusterConnection,
        coverage: Coverage<S>,
        sink: S,
        shared: Shared,
    ) -> Self {
        let limits = &settings.limits;
        let check = Check::new(settings.stats.check_of(&watch), limits.consistency);
        ListWatch {
            connection: connection.clone(),
            path: served.path(&watch.namespace),
            selector: settings.selection.query(served, &watch.namespace),
            api_version: served.api_version(),
            coverage,
            backoff: Backoff::new(limits.backoff_least, limits.backoff_most, settings.spread(&watch)),
            spread: settings.spread(&watch),
            streams: if settings.streaming_lists { Streams::Untried } else { Streams::Unknown },
            paged_next: false,
            watch,
            settings,
            sink,
            set_back_elsewhere: shared.set_back.subscribe(),
            shared,
            epoch: Epoch(0),
            cursor: None,
            reached: None,
            recorded: None,
            set_back: false,
            first_run: true,
            empty_watches: 0,
            garbage_told: false,
            bookmarks: false,
            listing: false,
            list_began: Timestamp::from_micros(0),
            list_is_partial: false,
            rolled_back: false,
            unreported: Unreported::default(),
            undated: false,
            resumed: None,
            distrusted: false,
            check,
            verified_at: None,
            doubt: Doubt::default(),
            since: None,
            opened: None,
        }
    }

    /// Runs until cancelled, superseded, or the log closes.
    pub(super) async fn run(mut self, cancel: CancellationToken) -> Ended {
        let mut state = State::Begin { fresh: false };
        let end = loop {
            if let State::Done(end) = state {
                break end;
            }
            // A step may be dropped anywhere: what it appended is durable, the rest is told again.
            state = tokio::select! {
                biased;
                () = cancel.cancelled() => State::Done(End::Cancelled),
                next = self.step(state) => next,
            };
        };
        Ended { watch: self.watch, end, last_heard: self.coverage.last_heard() }
    }

    async fn step(&mut self, state: State) -> State {
        let (activity, result) = match state {
            State::Begin { fresh } => (Activity::Listing, self.begin(fresh).await),
            State::List => (Activity::Listing, self.list().await),
            State::Watch => (Activity::Watching, self.watch().await),
            State::Pause { wait, then } => {
                sleep(wait).await;
                return *then;
            }
            State::Done(_) => return state,
        };
        let error = match result {
            Ok(next) => return next,
            Err(Stop::Failed(failure)) => match self.failed(activity, &failure).await {
                Ok(next) => return next,
                Err(error) => error,
            },
            Err(Stop::Again(next)) => return next,
            Err(Stop::Append(error)) => error,
        };
        match error {
            AppendError::Superseded(_) => State::Done(End::Superseded),
            AppendError::Closed => State::Done(End::Closed),
            error @ (AppendError::Failed(_)
            | AppendError::Unreadable(_)
            | AppendError::ReadOnly(_)
            | AppendError::Busy
            | AppendError::TooLong
            | AppendError::Contended) => {
                tracing::warn!(watch = %self.watch, %error, "writing to the log failed; retrying");
                self.pause(None, State::Begin { fresh: false })
            }
        }
    }

    fn pause(&mut self, at_least: Option<Duration>, then: State) -> State {
        let wait = self.backoff.next().max(at_least.unwrap_or_default());
        State::Pause { wait, then: Box::new(then) }
    }

    async fn failed(&mut self, activity: Activity, failure: &Failure) -> Result<State, AppendError> {
        self.opened = None;
        self.check.abandon();
        if activity == Activity::Watching {
            self.doubt().await?;
        }
        let verdict = decide(activity, failure);
        tracing::debug!(watch = %self.watch, ?activity, %failure, ?verdict, "the request failed");
        if let Some(reason) = verdict.gap {
            self.coverage.gap(reason, failure.to_string()).await?;
            self.distrusted |= reason == reason::UNREACHABLE;
        }
        if let Failure::Unauthorized(_) = failure
            && let Err(error) = self.connection.renew().await
        {
            tracing::debug!(watch = %self.watch, %error, "reloading the credentials failed");
        }
        let then = match verdict.next {
            Next::Relist => State::Begin { fresh: true },
            Next::Resume => State::Watch,
        };
        Ok(self.pause(verdict.after, then))
    }

    async fn begin(&mut self, fresh: bool) -> Result<State, Stop> {
        let begin = Begin {
            watch: self.watch.clone(),
            selector: self.selector.clone(),
            served_version: Some(self.api_version.clone()),
            definition: self.shared.definitions.settled(&self.watch.kind),
            fresh,
            since: self.since,
        };
        let session = self.sink.begin(begin).await?;
        self.epoch = session.epoch;
        self.since = None;
        match session.last_seen {
            _ if !self.first_run => self.resumed = None,
            Some(last_seen) => {
                let written = self.coverage.resumed(last_seen).await?;
                // A gap that an earlier run left open is not only of this absence.
                let resumed = Resumed { back: self.coverage.now(), late_since: None };
                self.resumed = (written && session.cursor.is_some()).then_some(resumed);
            }
            None => self.coverage.first().await?,
        }
        self.cursor = session.cursor;
        self.recorded = session.newest;
        if self.cursor.is_some() {
            self.verified_at = session.verified_at;
            self.doubt_from_before(session.unverified_since);
            let verified_at = self.verified_at;
            self.settings.stats.update(&self.watch, |status| status.verified_at = verified_at);
            if self.first_run {
                self.verify_soon();
            }
            self.reached.clone_from(&self.cursor);
        }
        self.first_run = false;
        Ok(if self.cursor.is_some() { State::Watch } else { State::List })
    }

    async fn append(
        &mut self,
        phase: Phase,
        observed: Vec<Observed>,
        cursor: Option<ResourceVersion>,
    ) -> Result<(), AppendError> {
        self.note(phase, &observed);
        if defines_kinds(&self.watch.kind) {
            self.shared.definitions.learn(&observed);
        }
        if phase != Phase::ListPage {
            return self.append_batch(phase, observed, cursor).await.map(|_| ());
        }
        let (reported, later) = self.unreported.split(observed);
        if !reported.is_empty() {
            self.unreported.found += self.append_batch(phase, reported, cursor.clone()).await?;
        }
        if !later.is_empty() {
            self.append_batch(phase, later, cursor).await?;
        }
        Ok(())
    }

    /// Hands a batch to the log and tells how many changes that made.
    async fn append_batch(
        &mut self,
        phase: Phase,
        observed: Vec<Observed>,
        cursor: Option<ResourceVersion>,
    ) -> Result<usize, AppendError> {
        let received = observed.len();
        let cursor = cursor.filter(|_| phase != Phase::ListPage || !self.rolled_back);
        let batch = Batch { watch: self.watch.clone(), epoch: self.epoch, phase, observed, cursor };
        let appended = self.sink.append(batch).await?;
        self.settings.stats.appended(received, appended);
        if appended.written > 0 && tells_kinds(&self.watch.kind) {
            self.shared.kinds_changed.notify_one();
        }
        Ok(appended.written)
    }

    fn defaults(&self) -> TypeMeta<'_> {
        TypeMeta { api_version: &self.api_version, kind: &self.watch.kind.kind }
    }

    /// Counts what cannot be read; told once for each kind, as it tends to come again and again.
    fn garbage(&mut self, reason: &str) {
        self.settings.stats.undecodable();
        if !std::mem::replace(&mut self.garbage_told, true) {
            tracing::warn!(watch = %self.watch, reason, "an object cannot be decoded; skipping it");
        }
    }
}
