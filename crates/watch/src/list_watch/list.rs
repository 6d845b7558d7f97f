//! What lists have in common, however they are read.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::error::StepError;
use super::machine::ListWatch;
use super::state::{ListRun, Listing, OlderState, Position, Restart, State};
use crate::outcome::Activity;
use crate::request::Failure;
use crate::sink::Sink;
use strandline_log::AppendError;
use strandline_model::{ResourceVersion, reason};

impl<S: Sink> ListWatch<S> {
    /// Waits for one of the cluster's lists to be allowed, and begins it.
    pub(super) async fn start_list(&mut self, run: ListRun) -> (Listing, Option<OwnedSemaphorePermit>) {
        let permit = Arc::clone(&self.shared.lists).acquire_owned().await.ok();
        self.settings.stats.relist();
        (run.begin(self.coverage.now()), permit)
    }

    /// What follows from a list that was broken off.
    pub(super) async fn leave_list(&mut self, restart: Restart, error: StepError) -> State {
        let result = match error {
            StepError::Request(failure) => {
                self.check.abandon();
                let relist = State::Begin(restart.clone().with_list());
                self.recover(Activity::Listing, &failure, relist, &restart).await
            }
            StepError::Loss(loss) => self.relist_after(loss, &restart).await,
            StepError::Append(error) => Err(error),
        };
        result.unwrap_or_else(|error| self.after_append_error(&error, restart.resume()))
    }

    /// A list that shows less than was seen already comes from a server that lags or from a cluster whose store was
    /// rolled back. The first is asked again; the second time it counts as a rollback.
    pub(super) fn reject_rollback(
        &mut self,
        listing: &mut Listing,
        shown: &ResourceVersion,
    ) -> Result<(), StepError> {
        if shown.is_empty() || shown.as_str() == "0" {
            return Err(Failure::Invalid("a list without resourceVersion".to_owned()).into());
        }
        match listing.judge(shown) {
            Ok(()) => Ok(()),
            Err(OlderState::First) => {
                let message = "the list is older than what was seen already".to_owned();
                Err(Failure::Invalid(message).into())
            }
            Err(OlderState::Confirmed) => {
                let was = listing.newest().map_or("", ResourceVersion::as_str);
                let message =
                    format!("the cluster is at {shown} and was at {was}: its store was rolled back");
                Err(self.rolled_back(message))
            }
        }
    }

    /// What this list has not shown is gone; from here on the watch reports.
    pub(super) async fn end_list(
        &mut self,
        listing: &Listing,
        cursor: ResourceVersion,
    ) -> Result<Position, AppendError> {
        // A watch from either would begin anywhere and skip changes.
        assert!(!cursor.is_empty() && cursor.as_str() != "0", "a list ends at a state of the cluster");
        let end = self.batch(listing.epoch(), listing.end_phase(), Vec::new(), Some(cursor.clone()));
        let ended = self.append_batch(end).await?;
        self.mark_unreported(listing.unreported.found, ended).await?;
        self.coverage.confirm_all(listing.began());
        self.set_verified(listing.began());
        Ok(listing.end(cursor))
    }

    /// Whatever events should have reported and did not may have been so since the record was last known to agree with
    /// the cluster.
    async fn mark_unreported(&mut self, found: usize, ended: usize) -> Result<(), AppendError> {
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
        self.announce_loss(self.doubt.since().unwrap_or(since), reason::MISSED);
        Ok(())
    }

    /// What a list no longer holds may be gone since the record was in doubt first, which may be before the gap that the
    /// list is for.
    async fn mark_ended(&mut self, ended: usize) -> Result<(), AppendError> {
        let Some(doubted) = self.doubt.since().filter(|_| ended > 0) else { return Ok(()) };
        if self.coverage.confirmed_until().is_none_or(|confirmed| confirmed <= doubted) {
            return Ok(());
        }
        let message = format!("{ended} objects are gone, perhaps since what is recorded was last compared");
        self.coverage.closed_gap(doubted, self.coverage.now(), reason::MISSED, &message).await
    }
}
