//! How far a watch has come: what its events prove, and when it has caught up.

use super::ListWatch;
use crate::Sink;
use crate::evidence::Evidence;
use strandline_log::{AppendError, Observed, Phase};
use strandline_model::{ResourceVersion, Timestamp, reason};

impl<S: Sink> ListWatch<S> {
    /// Judges what comes from here on.
    pub(super) fn evidence(&self) -> Evidence {
        Evidence::new(self.coverage.last_heard(), self.undated, self.coverage.now())
    }

    /// Whether only an event or a bookmark can show that the watch has caught up, and no silence.
    pub(super) fn needs_proof(&self) -> bool {
        self.bookmarks && self.coverage.reason() == Some(reason::LATE)
    }

    /// Records the events of a watch, which were received at this time: being recorded may take long. A gap that they prove
    /// is there before them.
    pub(super) async fn record_judged(
        &mut self,
        phase: Phase,
        observed: Vec<Observed>,
        before: Option<ResourceVersion>,
        evidence: Evidence,
        received: Timestamp,
    ) -> Result<(), AppendError> {
        if let (Some(since), true) = (evidence.late_since, self.coverage.is_watched()) {
            let message = "changes arrive late, as the times in their objects show".to_owned();
            self.coverage.gap_since(since, reason::LATE, message).await?;
        }
        if let (Some(resumed), Some(earliest)) = (&mut self.resumed, evidence.earliest)
            && earliest < resumed.back
        {
            resumed.late_since = Some(resumed.late_since.map_or(earliest, |since| since.min(earliest)));
        }
        let confirmed = evidence.confirmed();
        let proved = match (phase, confirmed) {
            (Phase::Watch, Some(confirmed)) => Phase::Confirmed(confirmed),
            (Phase::UpToDate, _) => Phase::Confirmed(received),
            _ => phase,
        };
        self.record(proved, observed, before).await?;
        self.undated = evidence.undated;
        if let Some(confirmed) = confirmed {
            self.coverage.confirm(confirmed);
        }
        if phase == Phase::UpToDate {
            self.undated = false;
            self.coverage.heard_at(received);
        }
        Ok(())
    }

    /// All that happened so far is recorded, and from here on every change is.
    pub(super) async fn caught_up(&mut self) -> Result<(), AppendError> {
        let resumed = self.resumed.take();
        let message = match self.coverage.reason() {
            None => "changes that a broken watch had kept back were recorded afterwards",
            Some(reason::RESTARTED) if resumed.is_some() => {
                "changes that happened while this kind was not watched were recorded afterwards"
            }
            Some(_) => return self.coverage.watched().await,
        };
        // The cluster still had every change since the cursor: none is missing, and some may be late.
        if let Some(since) = resumed.and_then(|resumed| resumed.late_since) {
            let until: Timestamp = self.coverage.now();
            self.coverage.closed_gap(since, until, reason::LATE, message).await?;
        }
        self.coverage.watched_without_loss().await
    }
}
