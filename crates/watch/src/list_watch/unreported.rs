//! What a list finds although events had reported everything up to a state that is as new.

use super::ListWatch;
use crate::Sink;
use strandline_log::{AppendError, Observed};
use strandline_model::{ResourceVersion, reason};

/// What the list under way found that events should have reported.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    /// Up to here events had reported every change.
    reported: Option<ResourceVersion>,
    /// Changes of versions up to there that the log did not hold.
    pub(super) found: usize,
}

impl Unreported {
    pub(super) fn after(reported: Option<ResourceVersion>) -> Self {
        Unreported { reported, ..Unreported::default() }
    }

    /// Parts what must be in the log already from what may be new.
    pub(super) fn split(&self, observed: Vec<Observed>) -> (Vec<Observed>, Vec<Observed>) {
        let Some(reported) = &self.reported else { return (Vec::new(), observed) };
        observed.into_iter().partition(|seen| {
            let version = seen.resource_version();
            version.and_then(|version| version.compare(reported)).is_some_and(std::cmp::Ordering::is_le)
        })
    }
}

impl<S: Sink> ListWatch<S> {
    /// At the end of a list, which ended so many objects: whatever events should have reported and did not may have been so
    /// since the record was last known to agree with the cluster.
    pub(super) async fn mark_unreported(&mut self, ended: usize) -> Result<(), AppendError> {
        let found = self.unreported.found;
        if self.coverage.is_gap(&[reason::MISSED, reason::ROLLED_BACK]) {
            return Ok(());
        }
        if found == 0 {
            return self.mark_ended(ended).await;
        }
        if self.verified_at.is_none() {
            return Ok(());
        }
        let since = self.missed_since();
        self.settings.stats.missed(found as u64);
        let (cluster, kind) = (&self.watch.cluster, &self.watch.kind);
        tracing::warn!(
            cluster, %kind, namespace = self.watch.namespace, found,
            "a list found changes that no event reported"
        );
        let message = format!("a list found {found} changes that no event reported");
        self.coverage.closed_gap(since, self.coverage.now(), reason::MISSED, &message).await?;
        self.spread_doubt(self.doubt.since().unwrap_or(since), reason::MISSED);
        Ok(())
    }

    /// What a list no longer holds may be gone since the record was in doubt first, which may be before the gap that the
    /// list is for.
    async fn mark_ended(&mut self, ended: usize) -> Result<(), AppendError> {
        let Some(doubted) = self.doubt.since().filter(|_| ended > 0) else { return Ok(()) };
        if self.coverage.last_heard().is_none_or(|heard| heard <= doubted) {
            return Ok(());
        }
        let message = format!("{ended} objects are gone, perhaps since what is recorded was last compared");
        self.coverage.closed_gap(doubted, self.coverage.now(), reason::MISSED, &message).await
    }
}
