//! What following one kind needs in every state, and how its batches reach the log.

use std::sync::Arc;
use std::time::Duration;

use super::doubt::{Doubt, RollbackReceiver};
use super::shared::Shared;
use super::state::{End, Ended, Listing, Position, Run, State};
use crate::backoff::{Backoff, Spread};
use crate::connect::ClusterConnection;
use crate::consistency::Check;
use crate::coverage::Coverage;
use crate::discovery::{ServedKind, defines_kinds, determines_kinds};
use crate::settings::ClusterSettings;
use crate::sink::Sink;
use strandline_log::{AppendError, Batch, Epoch, Observed, Phase};
use strandline_model::{ResourceVersion, Timestamp, WatchKey};
use strandline_redact::TypeMeta;

/// Objects cleaned before other tasks get their turn: about a millisecond of work.
pub(super) const TURN: usize = 32;

/// Whether the server supports streaming lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamingLists {
    Untried,
    /// One came to its end.
    Supported,
    /// It refused one, or never ended its first; or the configuration wants none.
    Unsupported,
}

/// Follows one kind, everywhere or in one namespace.
pub(crate) struct ListWatch<S> {
    pub(super) connection: ClusterConnection,
    pub(super) watch: WatchKey,
    pub(super) path: String,
    /// Which objects are asked for, as parameters of a query.
    pub(super) selector: String,
    pub(super) api_version: String,
    pub(super) settings: Arc<ClusterSettings>,
    pub(super) sink: S,
    pub(super) shared: Shared,
    pub(super) coverage: Coverage<S>,
    pub(super) backoff: Backoff,
    pub(super) spread: Spread,
    /// Watches in a row that closed at once and sent nothing.
    pub(super) empty_watches: u32,
    pub(super) streaming_lists: StreamingLists,
    /// Whether the server is known to send bookmarks.
    pub(super) sends_bookmarks: bool,
    /// Comparisons of what is recorded with what the cluster has.
    pub(super) check: Check,
    /// When the last of them, or a list, found everything recorded.
    pub(super) verified_at: Option<Timestamp>,
    /// What was not compared since a stream broke.
    pub(super) doubt: Doubt,
    /// Notified when another kind shows that the store may have been rolled back.
    pub(super) rollbacks: RollbackReceiver,
    /// Whether an object that cannot be read was logged.
    undecodable_logged: bool,
}

impl<S: Sink> ListWatch<S> {
    pub(crate) fn new(
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
            empty_watches: 0,
            streaming_lists: match settings.streaming_lists {
                true => StreamingLists::Untried,
                false => StreamingLists::Unsupported,
            },
            sends_bookmarks: false,
            check,
            verified_at: None,
            doubt: Doubt::default(),
            rollbacks: shared.rollbacks.subscribe(),
            undecodable_logged: false,
            watch,
            settings,
            sink,
            shared,
        }
    }

    pub(super) fn into_ended(self, end: End) -> Ended {
        Ended { watch: self.watch, end, confirmed_until: self.coverage.confirmed_until() }
    }

    /// How long to wait after a failure.
    pub(super) fn next_wait(&mut self, at_least: Option<Duration>) -> Duration {
        self.backoff.next().max(at_least.unwrap_or_default())
    }

    pub(super) fn back_off(&mut self, at_least: Option<Duration>, then: State) -> State {
        State::BackOff { wait: self.next_wait(at_least), then: Box::new(then) }
    }

    /// What follows where the log took nothing.
    pub(super) fn after_append_error(&mut self, error: &AppendError, retry: Run) -> State {
        match error {
            AppendError::Superseded(_) => State::Ended(End::Superseded),
            AppendError::Closed => State::Ended(End::Closed),
            AppendError::Failed(_)
            | AppendError::Unreadable(_)
            | AppendError::ReadOnly(_)
            | AppendError::Busy
            | AppendError::TooLong
            | AppendError::Contended => {
                let wait = self.next_wait(None);
                tracing::warn!(watch = %self.watch, %error, ?wait, "writing to the log failed; retrying");
                State::BackOff { wait, then: Box::new(State::Begin(retry)) }
            }
        }
    }

    /// Records objects of a list, which shows this state where that is known by now.
    pub(super) async fn append_page(
        &mut self,
        listing: &mut Listing,
        observed: Vec<Observed>,
        shown: Option<ResourceVersion>,
    ) -> Result<(), AppendError> {
        self.prepare(Phase::ListPage, &observed);
        // The state of an older store would not be the newest of what is recorded.
        let shown = shown.filter(|_| !listing.is_of_older_store());
        let (reported, later) = listing.unreported.split(observed);
        if !reported.is_empty() {
            let batch = self.batch(listing.epoch(), Phase::ListPage, reported, shown.clone());
            listing.unreported.found += self.append_batch(batch).await?;
        }
        if !later.is_empty() {
            self.append_batch(self.batch(listing.epoch(), Phase::ListPage, later, shown)).await?;
        }
        Ok(())
    }

    /// Records changes of a watch with the cursor behind them.
    pub(super) async fn append_changes(
        &mut self,
        position: &mut Position,
        phase: Phase,
        observed: Vec<Observed>,
        cursor: ResourceVersion,
    ) -> Result<(), AppendError> {
        self.prepare(phase, &observed);
        self.append_batch(self.batch(position.epoch, phase, observed, Some(cursor.clone()))).await?;
        position.set_recorded(cursor);
        Ok(())
    }

    /// Takes from objects what others need of them.
    fn prepare(&mut self, phase: Phase, observed: &[Observed]) {
        self.check.note(phase, observed);
        if defines_kinds(&self.watch.kind) {
            self.shared.definitions.update(observed);
        }
    }

    pub(super) fn batch(
        &self,
        epoch: Epoch,
        phase: Phase,
        observed: Vec<Observed>,
        cursor: Option<ResourceVersion>,
    ) -> Batch {
        Batch { watch: self.watch.clone(), epoch, phase, observed, cursor }
    }

    /// Appends a batch; returns how many changes that made.
    pub(super) async fn append_batch(&mut self, batch: Batch) -> Result<usize, AppendError> {
        // Without a cursor the next run would resume from before these changes, or list for ever.
        let is_page = batch.phase == Phase::ListPage;
        assert!(is_page || batch.cursor.is_some(), "only a page of a list comes without a cursor");
        let received = batch.observed.len();
        let appended = self.sink.append(batch).await?;
        self.settings.stats.appended(received, appended);
        if appended.written > 0 && determines_kinds(&self.watch.kind) {
            self.shared.kinds_changed.notify_one();
        }
        Ok(appended.written)
    }

    pub(super) fn defaults(&self) -> TypeMeta<'_> {
        TypeMeta { api_version: &self.api_version, kind: &self.watch.kind.kind }
    }

    /// Counts what cannot be read; logged once for each kind, as it tends to come again and again.
    pub(super) fn count_undecodable(&mut self, reason: &str) {
        self.settings.stats.undecodable();
        if !std::mem::replace(&mut self.undecodable_logged, true) {
            tracing::warn!(watch = %self.watch, reason, "an object cannot be decoded; skipping it");
        }
    }
}
