//! When a watch has caught up.

use super::machine::ListWatch;
use super::state::Position;
use crate::sink::Sink;
use strandline_log::AppendError;
use strandline_model::reason;

impl<S: Sink> ListWatch<S> {
    /// Whether only an event or a bookmark can show that the watch has caught up, and no silence.
    pub(super) fn needs_proof(&self) -> bool {
        self.sends_bookmarks && self.coverage.reason() == Some(reason::LATE)
    }

    /// Everything that happened so far is recorded, and from here on every change is.
    pub(super) async fn set_caught_up(&mut self, position: &mut Position) -> Result<(), AppendError> {
        let catch_up = position.catch_up.take();
        let message = match self.coverage.reason() {
            None => "changes that a broken watch had kept back were recorded afterwards",
            Some(reason::RESTARTED) if catch_up.is_some() => {
                "changes that happened while this kind was not watched were recorded afterwards"
            }
            Some(_) => return self.coverage.watched().await,
        };
        // The cluster still had every change since the cursor: none is missing, and some may be late.
        if let Some(since) = catch_up.and_then(|catch_up| catch_up.late_since) {
            self.coverage.closed_gap(since, self.coverage.now(), reason::LATE, message).await?;
        }
        self.coverage.watched_without_loss().await?;
        debug_assert!(self.coverage.is_watched(), "what has caught up is watched");
        Ok(())
    }
}
