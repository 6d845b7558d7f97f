//! Tells the log from when to when a kind was watched.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{ClusterStats, Sink};
use crate::clock::Clock;
use crate::log::AppendError;
use crate::model::{CoverageMark, CoverageState, Timestamp, WatchKey, reason};

/// How a watch fares, for whoever decides which watches there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It sees everything.
    Watched,
    /// It may not.
    Refused,
}

/// Where watches tell how they fare.
pub(super) type Standings = mpsc::UnboundedSender<(WatchKey, Standing)>;

/// Whether one watch sees everything, as far as the log was told.
pub(super) struct Coverage<S> {
    watch: WatchKey,
    sink: S,
    clock: Arc<dyn Clock>,
    stats: Arc<ClusterStats>,
    /// The last mark: a gap's reason, or none while watched; nothing before the first mark.
    told: Option<Option<&'static str>>,
    last_heard: Option<Timestamp>,
    standings: Option<Standings>,
}

impl<S: Sink> Coverage<S> {
    pub(super) fn new(watch: WatchKey, sink: S, clock: Arc<dyn Clock>, stats: Arc<ClusterStats>) -> Self {
        Coverage { watch, sink, clock, stats, told: None, last_heard: None, standings: None }
    }

    /// Lets others know how the watch fares.
    pub(super) fn telling(self, standings: Standings) -> Self {
        Coverage { standings: Some(standings), ..self }
    }

    fn stands(&self, standing: Standing) {
        if let Some(standings) = &self.standings {
            // Nobody left to listen is about to end this watch as well.
            let _ = standings.send((self.watch.clone(), standing));
        }
    }

    /// The server told everything up to now.
    pub(super) fn heard(&mut self) {
        self.heard_at(self.clock.now());
    }

    /// The server told everything up to then.
    pub(super) fn heard_at(&mut self, then: Timestamp) {
        self.last_heard = Some(then);
        self.stats.heard(then);
        self.stats
            .update(&self.watch, |status| status.confirmed_until = status.confirmed_until.max(Some(then)));
    }

    /// The server sent a bookmark.
    pub(super) fn record_bookmark(&self) {
        let now = self.clock.now();
        self.stats.update(&self.watch, |status| status.bookmark_at = Some(now));
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn last_heard(&self) -> Option<Timestamp> {
        self.last_heard
    }

    pub(super) fn is_watched(&self) -> bool {
        self.told == Some(None)
    }

    /// From here on every change reaches the log.
    pub(super) async fn watched(&mut self) -> Result<(), AppendError> {
        if self.is_watched() {
            return Ok(());
        }
        if self.watch.is_discovery() {
            tracing::info!(cluster = self.watch.cluster, "watched");
        } else {
            tracing::debug!(watch = %self.watch, "watched");
        }
        self.mark(CoverageState::Watched, self.clock.now(), "", String::new()).await?;
        self.told = Some(None);
        self.stands(Standing::Watched);
        Ok(())
    }

    /// Nobody watched since the server was last heard.
    pub(super) async fn gap(&mut self, reason: &'static str, message: String) -> Result<(), AppendError> {
        if self.told == Some(Some(reason)) {
            return Ok(());
        }
        // A cluster that is away is away for all its kinds at once, and that is told once.
        if self.watch.is_discovery() {
            tracing::warn!(cluster = self.watch.cluster, reason, message, "not watched");
        } else if matches!(reason, reason::RESTARTED | reason::LISTING | reason::UNREACHABLE) {
            tracing::debug!(watch = %self.watch, reason, message, "not watched");
        } else {
            tracing::warn!(watch = %self.watch, reason, message, "not watched");
        }
        let since = self.last_heard.unwrap_or_else(|| self.clock.now());
        self.mark(CoverageState::Gap, since, reason, message).await?;
        self.told = Some(Some(reason));
        if matches!(reason, reason::FORBIDDEN | reason::UNAUTHORIZED) {
            self.stands(Standing::Refused);
        }
        Ok(())
    }

    /// The log has marked by itself that another cluster answers.
    pub(super) fn replaced(&mut self) {
        self.told = Some(Some(reason::REPLACED));
    }

    /// An earlier run last heard from the cluster at that time, and nobody watched since.
    pub(super) async fn resumed(&mut self, last_seen: Timestamp) -> Result<(), AppendError> {
        self.last_heard = Some(last_seen);
        // A first list was complete already, and the changes up to then are recorded.
        self.stats.update(&self.watch, |status| {
            status.confirmed_until = status.confirmed_until.max(Some(last_seen));
        });
        self.gap(reason::RESTARTED, "nobody followed this kind".to_owned()).await
    }

    /// Nobody ever watched this kind to the end of a list.
    pub(super) async fn first(&mut self) -> Result<(), AppendError> {
        self.gap(reason::LISTING, "its first list is not complete".to_owned()).await
    }

    async fn mark(
        &self,
        state: CoverageState,
        since: Timestamp,
        reason: &'static str,
        message: String,
    ) -> Result<(), AppendError> {
        let mark = CoverageMark::new(self.watch.clone(), state, since, reason, message);
        self.sink.mark(mark).await?;
        self.stats.update(&self.watch, |status| {
            status.state = Some(state);
            status.reason = reason;
            status.gap_since = (state == CoverageState::Gap).then_some(since);
        });
        Ok(())
    }
}
