//! Records from when to when a kind was watched.

use std::sync::Arc;

use super::evidence::Evidence;
use super::permissions::{PermissionChanges, WatchPermission};
use super::sink::Sink;
use super::stats::ClusterStats;
use strandline_clock::Clock;
use strandline_log::AppendError;
use strandline_model::{CoverageMark, CoverageState, LATE_BOUND, Timestamp, WatchKey, reason};

/// The last mark of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    Nothing,
    Watched,
    /// A gap for this reason.
    Gap(&'static str),
}

/// Whether one watch sees everything, as far as that is recorded.
pub(super) struct Coverage<S> {
    watch: WatchKey,
    sink: S,
    clock: Arc<dyn Clock>,
    stats: Arc<ClusterStats>,
    recorded: Recorded,
    /// Up to then everything that happened is recorded.
    confirmed_until: Option<Timestamp>,
    /// Changes since then are recorded of which it is not known when they happened.
    has_undated: bool,
    /// The gap that is open, where it is the absence before this run and no earlier one that goes on.
    is_absence: bool,
    permissions: Option<PermissionChanges>,
}

impl<S: Sink> Coverage<S> {
    pub(super) fn new(watch: WatchKey, sink: S, clock: Arc<dyn Clock>, stats: Arc<ClusterStats>) -> Self {
        Coverage {
            watch,
            sink,
            clock,
            stats,
            recorded: Recorded::Nothing,
            confirmed_until: None,
            has_undated: false,
            is_absence: false,
            permissions: None,
        }
    }

    /// Reports whether the watch may see its kind.
    pub(super) fn with_permissions(self, permissions: PermissionChanges) -> Self {
        Coverage { permissions: Some(permissions), ..self }
    }

    fn report_permission(&self, permission: WatchPermission) {
        if let Some(permissions) = &self.permissions {
            permissions.set(&self.watch, permission);
        }
    }

    /// Everything that happened up to then is recorded.
    pub(super) fn confirm_all(&mut self, then: Timestamp) {
        self.has_undated = false;
        self.set_confirmed(then);
    }

    fn set_confirmed(&mut self, then: Timestamp) {
        self.confirmed_until = Some(then);
        self.stats.record_confirmed(then);
        self.stats
            .update(&self.watch, |status| status.confirmed_until = status.confirmed_until.max(Some(then)));
    }

    /// The server sent a bookmark.
    pub(super) fn record_bookmark(&self) {
        let now = self.clock.now();
        self.stats.update(&self.watch, |status| status.bookmark_at = Some(now));
    }

    /// Judges what comes from here on.
    pub(super) fn evidence(&self) -> Evidence {
        Evidence::new(self.confirmed_until, self.has_undated, self.clock.now())
    }

    /// The events that were judged are recorded.
    pub(super) fn confirm(&mut self, evidence: &Evidence) {
        self.has_undated = evidence.undated;
        if let Some(then) = evidence.confirmed() {
            debug_assert!(Some(then) > self.confirmed_until, "an event confirms more than was known");
            self.set_confirmed(
                self.confirmed_until.map_or(then, |before| before.max(then)).min(self.clock.now()),
            );
        }
    }

    /// Whether no change can have waited for longer than a moment; true where nothing was ever recorded.
    pub(super) fn is_recent(&self) -> bool {
        self.confirmed_until.is_none_or(|then| then.plus(LATE_BOUND) >= self.clock.now())
    }

    /// The reason of the gap that is open.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self.recorded {
            Recorded::Gap(reason) => Some(reason),
            Recorded::Nothing | Recorded::Watched => None,
        }
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn confirmed_until(&self) -> Option<Timestamp> {
        self.confirmed_until
    }

    /// Whether it is a gap for one of these reasons.
    pub(super) fn is_gap(&self, reasons: &[&str]) -> bool {
        self.reason().is_some_and(|reason| reasons.contains(&reason))
    }

    pub(super) fn is_watched(&self) -> bool {
        self.recorded == Recorded::Watched
    }

    /// From here on every change reaches the log.
    pub(super) async fn watched(&mut self) -> Result<(), AppendError> {
        self.watched_after(false).await
    }

    /// The same of what is asked anew and not followed: where only this process was away, nothing of it was missed.
    pub(super) async fn watched_again(&mut self) -> Result<(), AppendError> {
        self.watched_after(self.is_absence && self.is_gap(&[reason::RESTARTED])).await
    }

    /// The same, and nothing was missed in the gap that ends here.
    pub(super) async fn watched_without_loss(&mut self) -> Result<(), AppendError> {
        self.watched_after(true).await
    }

    async fn watched_after(&mut self, nothing_missed: bool) -> Result<(), AppendError> {
        if self.is_watched() {
            return Ok(());
        }
        if self.watch.is_discovery() {
            tracing::debug!(cluster = self.watch.cluster, "watched");
        } else {
            tracing::debug!(watch = %self.watch, "watched");
        }
        let mark = CoverageMark::watched(self.watch.clone(), self.clock.now());
        self.mark(CoverageMark { nothing_missed, ..mark }, "").await?;
        self.recorded = Recorded::Watched;
        self.report_permission(WatchPermission::Granted);
        Ok(())
    }

    /// Not watched since everything was last recorded.
    pub(super) async fn gap(&mut self, reason: &'static str, message: String) -> Result<(), AppendError> {
        let since = self.confirmed_until.unwrap_or_else(|| self.clock.now());
        self.gap_since(since, reason, message).await.map(|_| ())
    }

    /// What happened since then may be missing, or late; returns whether the log wrote that.
    pub(super) async fn gap_since(
        &mut self,
        since: Timestamp,
        reason: &'static str,
        message: String,
    ) -> Result<bool, AppendError> {
        if self.recorded == Recorded::Gap(reason) {
            return Ok(false);
        }
        // People read the lines of the cluster, which fold what its watches have in common.
        if self.watch.is_discovery() {
            tracing::debug!(cluster = self.watch.cluster, reason, message, "not watched");
        } else {
            tracing::debug!(watch = %self.watch, reason, message, "not watched");
        }
        let mark = CoverageMark::gap(self.watch.clone(), since, reason, message);
        let written = self.mark(mark, reason).await?;
        self.recorded = Recorded::Gap(reason);
        if matches!(reason, reason::FORBIDDEN | reason::UNAUTHORIZED) {
            self.report_permission(WatchPermission::Refused);
        }
        Ok(written)
    }

    /// A gap that is over: its changes are recorded by now.
    pub(super) async fn closed_gap(
        &self,
        since: Timestamp,
        until: Timestamp,
        reason: &'static str,
        message: &str,
    ) -> Result<(), AppendError> {
        let mark = CoverageMark::gap(self.watch.clone(), since, reason, message).closed(until);
        self.sink.mark(mark).await.map(|_| ())
    }

    /// The log has marked by itself that another cluster answers.
    pub(super) fn replaced(&mut self) {
        self.recorded = Recorded::Gap(reason::REPLACED);
    }

    /// An earlier run recorded everything up to that time, and nobody watched since.
    /// Returns whether that is a gap of its own in the log.
    pub(super) async fn resumed(&mut self, last_seen: Timestamp) -> Result<bool, AppendError> {
        self.confirmed_until = Some(last_seen);
        // A first list was complete already, and the changes up to then are recorded.
        self.stats.update(&self.watch, |status| {
            status.confirmed_until = status.confirmed_until.max(Some(last_seen));
        });
        if !self.is_gap(&[reason::RESTARTED]) {
            let message = "no watch was running".to_owned();
            self.is_absence = self.gap_since(last_seen, reason::RESTARTED, message).await?;
        }
        Ok(self.is_absence)
    }

    /// The cluster did not show the kind then, so that nothing of it can have been missed before.
    pub(super) fn absent_until(self, then: Option<Timestamp>) -> Self {
        Coverage { confirmed_until: then, ..self }
    }

    /// No list of this kind ever came to its end.
    pub(super) async fn first(&mut self) -> Result<(), AppendError> {
        self.gap(reason::LISTING, "its first list is not complete".to_owned()).await
    }

    /// Appends a mark; returns whether the log wrote it.
    async fn mark(&self, mark: CoverageMark, reason: &'static str) -> Result<bool, AppendError> {
        let (state, since) = (mark.state, mark.since);
        let appended = self.sink.mark(mark).await?;
        self.stats.update(&self.watch, |status| {
            status.state = Some(state);
            status.reason = reason;
            status.gap_since = (state == CoverageState::Gap).then_some(since);
        });
        Ok(appended.written > 0)
    }
}
