//! What follows where a cluster's store may not be the one that was recorded.
//!
//! Why: docs/decisions/0005-a-broken-stream-means-doubt.md.

use super::doubt::RollbackNotice;
use super::error::{Loss, StepError};
use super::machine::ListWatch;
use super::state::{CatchUp, Position, Restart, Rollback, State};
use crate::sink::Sink;
use strandline_log::{Agreement, AppendError};
use strandline_model::{Timestamp, reason};

impl<S: Sink> ListWatch<S> {
    /// What an earlier run left in doubt is so still.
    pub(super) fn doubt_from_before(&mut self, since: Option<Timestamp>) {
        if let Some(since) = since {
            self.doubt.raise(since, self.coverage.now());
        }
    }

    /// A stream broke: what the cluster has now is to be compared soon.
    pub(super) async fn raise_doubt(&mut self, position: &mut Position) -> Result<(), AppendError> {
        let now = self.coverage.now();
        let since = self.coverage.confirmed_until().unwrap_or(now);
        if self.doubt.raise(since, now) {
            self.sink.agreement(&self.watch, position.epoch, Agreement::InDoubt(since)).await?;
        }
        // What the next stream sends at once the broken one may have kept back.
        if self.coverage.is_watched() && !self.coverage.is_recent() {
            position.catch_up.get_or_insert(CatchUp::new(now));
        }
        self.verify_soon();
        Ok(())
    }

    /// Changes since then were found missing: nothing else that was in doubt meanwhile can be trusted either.
    pub(super) fn announce_loss(&self, since: Timestamp, reason: &'static str) {
        if self.doubt.since().is_some() || reason == reason::ROLLED_BACK {
            let watch = self.watch.clone();
            self.shared.rollbacks.send_replace(Some(RollbackNotice { watch, since, reason }));
        }
    }

    /// Another kind shows that the store may have been rolled back.
    pub(super) async fn check_rollback_elsewhere(&mut self) -> Result<(), StepError> {
        let notice = self.rollbacks.borrow_and_update().clone();
        let Some(RollbackNotice { watch, since, reason }) = notice else { return Ok(()) };
        if watch == self.watch {
            return Ok(());
        }
        let message =
            format!("what is recorded of {} shows that the store may have been set back", watch.kind);
        if let Some(doubted) = self.doubt.since() {
            return Err(StepError::Loss(Loss { since: doubted, reason, message }));
        }
        // What there is was compared since, but not what came and went before that.
        if let Some((doubted, settled)) = self.doubt.take_settled()
            && settled >= since
        {
            self.coverage.closed_gap(doubted, settled, reason, &message).await?;
        }
        Ok(())
    }

    /// The cluster's store was rolled back, which concerns all its kinds.
    pub(super) fn rolled_back(&self, message: String) -> StepError {
        let since = self.rolled_back_since();
        self.announce_loss(since, reason::ROLLED_BACK);
        StepError::Loss(Loss { since, reason: reason::ROLLED_BACK, message })
    }

    /// Gives up the cursor: changes may be missing, and a list is to find them.
    pub(super) async fn relist_after(&mut self, loss: Loss, restart: &Restart) -> Result<State, AppendError> {
        let Loss { since, reason, message } = loss;
        self.coverage.gap_since(since, reason, message).await?;
        // What the list finds happened somewhere since then.
        self.coverage.confirm_all(since);
        self.doubt.end();
        self.check.postpone(self.settings.limits.consistency);
        let restart = Restart { since: Some(since), rollback: Rollback::Accepted, ..restart.clone() };
        Ok(State::Begin(restart.with_list()))
    }
}
