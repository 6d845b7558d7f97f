//! Follows one kind: a list in pages, then one watch after the other from where the log stands.
//!
//! The cursor is written with the changes it covers, so every path through the states below ends where the
//! log ends: what was not appended is told again by the cluster.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::backoff::{Backoff, between};
use super::coverage::{Coverage, reason};
use super::document::{Line, Page, applied, line, unreadable};
use super::lines::Lines;
use super::outcome::{Activity, Close, Next, after_close, decide};
use super::request::{Failure, Pieces, get};
use super::{ClusterConnection, ClusterSettings, Limits, ServedKind, Sink};
use crate::clock::Clock;
use crate::log::{AppendError, Batch, Epoch, Observed, Phase};
use crate::model::{ResourceVersion, Timestamp, WatchKey};
use crate::redact::TypeMeta;

mod fetch;
mod reader;

use fetch::{Fetch, encode};
use reader::{Read, Reader};

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

/// Objects cleaned before other tasks get their turn: about a millisecond of work.
const TURN: usize = 32;

/// Follows one kind, everywhere or in one namespace.
pub(super) struct ListWatch<S> {
    connection: ClusterConnection,
    watch: WatchKey,
    path: String,
    api_version: String,
    settings: Arc<ClusterSettings>,
    sink: S,
    lists: Arc<Semaphore>,
    coverage: Coverage<S>,
    backoff: Backoff,
    epoch: Epoch,
    /// Where to watch from: what the log holds, or one that the log is about to hold.
    cursor: Option<ResourceVersion>,
    first_run: bool,
    empty_watches: u32,
    garbage_told: bool,
    /// Whether the list under way held objects that could not be told apart.
    list_is_partial: bool,
}

impl<S: Sink> ListWatch<S> {
    pub(super) fn new(
        served: &ServedKind,
        watch: WatchKey,
        settings: Arc<ClusterSettings>,
        connection: &ClusterConnection,
        sink: S,
        clock: Arc<dyn Clock>,
        lists: Arc<Semaphore>,
    ) -> Self {
        let limits = &settings.limits;
        ListWatch {
            connection: connection.clone(),
            path: served.path(&watch.namespace),
            api_version: served.api_version(),
            coverage: Coverage::new(watch.clone(), sink.clone(), clock, Arc::clone(&settings.stats)),
            backoff: Backoff::new(limits.backoff_least, limits.backoff_most),
            watch,
            settings,
            sink,
            lists,
            epoch: Epoch(0),
            cursor: None,
            first_run: true,
            empty_watches: 0,
            garbage_told: false,
            list_is_partial: false,
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
            Err(Stop::Append(error)) => error,
        };
        match error {
            AppendError::Superseded(_) => State::Done(End::Superseded),
            AppendError::Closed => State::Done(End::Closed),
            AppendError::Failed(message) => {
                tracing::warn!(watch = %self.watch, message, "the log takes nothing");
                self.pause(None, State::Begin { fresh: false })
            }
        }
    }

    fn pause(&mut self, at_least: Option<Duration>, then: State) -> State {
        let wait = self.backoff.next().max(at_least.unwrap_or_default());
        State::Pause { wait, then: Box::new(then) }
    }

    async fn failed(&mut self, activity: Activity, failure: &Failure) -> Result<State, AppendError> {
        let verdict = decide(activity, failure);
        tracing::debug!(watch = %self.watch, ?activity, %failure, ?verdict, "failed");
        if let Some(reason) = verdict.gap {
            self.coverage.gap(reason, failure.to_string()).await?;
        }
        let then = match verdict.next {
            Next::Relist => State::Begin { fresh: true },
            Next::Resume => State::Watch,
        };
        Ok(self.pause(verdict.after, then))
    }

    async fn begin(&mut self, fresh: bool) -> Result<State, Stop> {
        let session = self.sink.begin(&self.watch, fresh).await?;
        self.epoch = session.epoch;
        if self.first_run
            && let Some(last_seen) = session.last_seen
        {
            self.coverage.resumed(last_seen).await?;
        }
        self.first_run = false;
        self.cursor = session.cursor;
        Ok(if self.cursor.is_some() { State::Watch } else { State::List })
    }

    /// Lists everything, one page being recorded while the next is fetched, so that the token of the next
    /// page does not grow old behind a slow disk.
    async fn list(&mut self) -> Result<State, Stop> {
        let lists = Arc::clone(&self.lists);
        let permit = lists.acquire().await;
        self.settings.stats.relist();
        let mut fetch = Fetch {
            client: self.connection.client(),
            path: self.path.clone(),
            settings: Arc::clone(&self.settings),
            objects: self.settings.limits.page_objects,
        };
        self.list_is_partial = false;
        let mut text = fetch.page("").await?;
        let mut cursor = None;
        loop {
            let page = Page::parse(&text)?;
            self.coverage.heard();
            // All pages show the state of the first; where a server differs, the earlier is the safe one.
            cursor.get_or_insert_with(|| ResourceVersion::new(page.metadata.resource_version.clone()));
            if page.metadata.token.is_empty() {
                self.take_page(&page).await?;
                break;
            }
            let (taken, next) = tokio::join!(self.take_page(&page), fetch.page(&page.metadata.token));
            taken?;
            text = next?;
        }
        drop(permit);
        let cursor = cursor.filter(|cursor| !cursor.is_empty() && cursor.as_str() != "0");
        let cursor = cursor.ok_or_else(|| Failure::Invalid("a list without resourceVersion".to_owned()))?;
        let end = if self.list_is_partial { Phase::PartialListEnd } else { Phase::ListEnd };
        self.append(end, Vec::new(), Some(cursor.clone())).await?;
        self.cursor = Some(cursor);
        Ok(State::Watch)
    }

    async fn take_page(&mut self, page: &Page<'_>) -> Result<(), AppendError> {
        let items = page.items.as_deref().unwrap_or_default();
        let mut observed = Vec::with_capacity(items.len());
        for turn in items.chunks(TURN) {
            for item in turn {
                let result = if item.get().len() > self.settings.limits.line_bytes {
                    Err("too_large")
                } else {
                    applied(item.get(), self.defaults(), &self.settings.rules).map_err(|error| error.code())
                };
                match result {
                    Ok(object) => observed.push(object),
                    Err(reason) => {
                        self.garbage(reason);
                        match unreadable(item.get()) {
                            Some(object) => observed.push(object),
                            None => self.list_is_partial = true,
                        }
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        if observed.is_empty() { Ok(()) } else { self.append(Phase::ListPage, observed, None).await }
    }

    async fn watch(&mut self) -> Result<State, Stop> {
        let Some(from) = self.cursor.clone() else { return Ok(State::Begin { fresh: true }) };
        let opened = Instant::now();
        let body = self.open(&from).await?;
        self.coverage.heard();
        // After watches that closed at once, an answer alone proves nothing.
        if self.empty_watches == 0 {
            self.coverage.watched().await?;
        }
        let mut reader = Reader::new(body, &self.settings.limits);
        let mut heard = false;
        let why = loop {
            let read = if self.coverage.is_watched() {
                reader.next().await
            } else if let Ok(read) = timeout(self.settings.limits.pace * 2, reader.next()).await {
                read
            } else {
                self.coverage.watched().await?;
                continue;
            };
            match read {
                Read::Lines(lines) => heard |= self.take_lines(lines).await?,
                Read::TooLong => {
                    let most = self.settings.limits.line_bytes;
                    return Err(Failure::TooLarge(format!("a watch line of more than {most} bytes")).into());
                }
                Read::Ended(why) => break why,
            }
        };
        tracing::debug!(watch = %self.watch, why, heard, "the watch ended");
        self.closed(opened.elapsed(), heard).await
    }

    async fn closed(&mut self, lasted: Duration, heard: bool) -> Result<State, Stop> {
        let limits = &self.settings.limits;
        let rest = limits.pace.saturating_sub(lasted);
        match after_close(lasted, heard, &mut self.empty_watches, limits) {
            Close::Now => {
                self.backoff.reset();
                Ok(State::Watch)
            }
            Close::Later => {
                let patience = limits.patience;
                let pause = self.pause(Some(rest), State::Watch);
                if matches!(pause, State::Pause { wait, .. } if wait > patience) {
                    self.coverage
                        .gap(reason::INVALID, "the server closes every watch at once".to_owned())
                        .await?;
                }
                Ok(pause)
            }
            Close::Relist => {
                let message = "the server closes every watch at once".to_owned();
                self.coverage.gap(reason::INVALID, message).await?;
                Ok(self.pause(Some(rest), State::Begin { fresh: true }))
            }
        }
    }

    /// Opens a watch; having no connection for longer than a moment is a gap even before it fails.
    async fn open(&mut self, from: &ResourceVersion) -> Result<Pieces, Stop> {
        let limits = &self.settings.limits;
        let seconds = between(limits.watch, limits.watch + limits.watch / 4).as_secs().max(1);
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={seconds}",
            self.path,
            encode(from.as_str())
        );
        self.settings.stats.request();
        let client = self.connection.client();
        let mut request = std::pin::pin!(get(&client, &path, "application/json", limits));
        if let Ok(answer) = timeout(limits.patience, &mut request).await {
            return Ok(answer?);
        }
        self.coverage.gap(reason::UNREACHABLE, "no answer yet".to_owned()).await?;
        Ok(request.await?)
    }

    /// Records what lines tell; whether any of them could be read.
    async fn take_lines(&mut self, lines: Vec<bytes::Bytes>) -> Result<bool, Stop> {
        self.coverage.heard();
        let before = self.cursor.clone();
        let mut observed = Vec::with_capacity(lines.len());
        let mut heard = false;
        let mut failure = None;
        for (at, bytes) in lines.iter().enumerate() {
            if at % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            match line(bytes, self.defaults(), &self.settings.rules) {
                Line::Observed(object) => {
                    if let Some(version) = object.resource_version() {
                        self.advance(version);
                    }
                    observed.push(*object);
                    heard = true;
                }
                Line::Bookmark(version) => {
                    if !self.advance(&version) {
                        // Time does not run backwards in one cluster: it was restored or replaced.
                        failure = Some(Failure::Gone);
                        break;
                    }
                    heard = true;
                }
                Line::Undecodable { reason, resource_version } => {
                    self.garbage(reason);
                    if let Some(version) = resource_version {
                        self.advance(&version);
                    }
                }
                Line::Failed(failed) => {
                    failure = Some(failed);
                    break;
                }
            }
        }
        if !observed.is_empty() || self.cursor != before {
            self.append(Phase::Watch, observed, self.cursor.clone()).await?;
        }
        if heard {
            self.empty_watches = 0;
            self.backoff.reset();
            self.coverage.watched().await?;
        }
        failure.map_or(Ok(heard), |failure| Err(failure.into()))
    }

    /// Moves the cursor unless that would move it back; false when it would.
    fn advance(&mut self, to: &ResourceVersion) -> bool {
        let back =
            self.cursor.as_ref().and_then(|cursor| to.compare(cursor)).is_some_and(|order| order.is_lt());
        if !back {
            self.cursor = Some(to.clone());
        }
        !back
    }

    async fn append(
        &mut self,
        phase: Phase,
        observed: Vec<Observed>,
        cursor: Option<ResourceVersion>,
    ) -> Result<(), AppendError> {
        let received = observed.len();
        let batch = Batch { watch: self.watch.clone(), epoch: self.epoch, phase, observed, cursor };
        let appended = self.sink.append(batch).await?;
        self.settings.stats.appended(received, appended);
        Ok(())
    }

    fn defaults(&self) -> TypeMeta<'_> {
        TypeMeta { api_version: &self.api_version, kind: &self.watch.kind.kind }
    }

    /// Counts what cannot be read; told once for each kind, as it tends to come again and again.
    fn garbage(&mut self, reason: &str) {
        self.settings.stats.undecodable();
        if !std::mem::replace(&mut self.garbage_told, true) {
            tracing::warn!(watch = %self.watch, reason, "an object that cannot be read is left out");
        }
    }
}
