//! Doubts whether a cluster still has the store that was recorded.
//!
//! Whoever sets a store back to an older copy ends every stream that reads from it. So after a stream broke, and after
//! nobody watched, what is recorded is in doubt until it was compared with what the cluster has. A store is one for all
//! kinds of a cluster: where one of them shows that it was set back, no other that was in doubt can be trusted.
//!
//! Why: docs/decisions/0005-a-broken-stream-means-doubt.md.

use tokio::sync::watch;

use super::{ListWatch, Resumed, State, Stop};
use crate::Sink;
use strandline_log::{Agreement, AppendError};
use strandline_model::{Timestamp, WatchKey, reason};

/// A kind shows that the cluster's store may have been set back.
#[derive(Clone, Debug)]
pub(crate) struct SetBack {
    watch: WatchKey,
    since: Timestamp,
    reason: &'static str,
}

pub(crate) type SetBackSender = watch::Sender<Option<SetBack>>;
pub(crate) type SetBackReceiver = watch::Receiver<Option<SetBack>>;

/// What is not known to be of the store that the cluster has.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    since: Option<Timestamp>,
    /// When a stream broke last: what was asked for before that says nothing about what came after it.
    raised: Option<Timestamp>,
    /// The last doubt that was settled, from when to when it lasted.
    settled: Option<(Timestamp, Timestamp)>,
}

impl Doubt {
    /// Since when there is one.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// What came after `since` is in doubt; whether nothing was before.
    fn raise(&mut self, since: Timestamp, now: Timestamp) -> bool {
        self.raised = Some(now);
        let new = self.since.is_none();
        self.since = Some(self.since.map_or(since, |before| before.min(since)));
        new
    }

    /// Whether a comparison that began at this time covers all that is in doubt.
    pub(super) fn is_settled_by(&self, began: Timestamp) -> bool {
        self.raised.is_none_or(|raised| raised <= began)
    }

    /// What is recorded was what the cluster had at this time.
    pub(super) fn settle(&mut self, at: Timestamp) {
        if let Some(since) = self.since.take() {
            self.settled = Some((since, at));
        }
    }

    /// A gap names all that is in doubt.
    fn end(&mut self) {
        *self = Doubt::default();
    }
}

impl<S: Sink> ListWatch<S> {
    /// What an earlier run left in doubt is so still.
    pub(super) fn doubt_from_before(&mut self, since: Option<Timestamp>) {
        if let Some(since) = since {
            self.doubt.raise(since, self.coverage.now());
        }
    }

    /// A stream broke: what the cluster has now is to be compared soon.
    pub(super) async fn doubt(&mut self) -> Result<(), AppendError> {
        let now = self.coverage.now();
        let since = self.coverage.last_heard().unwrap_or(now);
        if self.doubt.raise(since, now) {
            self.sink.agreement(&self.watch, self.epoch, Agreement::InDoubt(since)).await?;
        }
        // What the next stream tells at once the broken one may have kept back.
        if self.coverage.is_watched() && !self.coverage.is_recent() {
            self.resumed.get_or_insert(Resumed { back: now, late_since: None });
        }
        self.verify_soon();
        Ok(())
    }

    /// What was found missing since then: nothing else that was in doubt meanwhile can be trusted either.
    pub(super) fn spread_doubt(&self, since: Timestamp, reason: &'static str) {
        if self.doubt.since.is_some() || reason == reason::ROLLED_BACK {
            let watch = self.watch.clone();
            self.shared.set_back.send_replace(Some(SetBack { watch, since, reason }));
        }
    }

    /// Another kind shows that the store may have been set back.
    pub(super) async fn heed_set_back(&mut self) -> Result<Option<State>, Stop> {
        let Some(SetBack { watch, since, reason }) = self.set_back_elsewhere.borrow_and_update().clone()
        else {
            return Ok(None);
        };
        if watch == self.watch {
            return Ok(None);
        }
        let message =
            format!("what is recorded of {} shows that the store may have been set back", watch.kind);
        if let Some(doubted) = self.doubt.since {
            return self.list_again(doubted, reason, message).await.map(Some);
        }
        // What there is was compared since, but not what came and went before that.
        if let Some((doubted, settled)) = self.doubt.settled.take()
            && settled >= since
        {
            self.coverage.closed_gap(doubted, settled, reason, &message).await?;
        }
        Ok(None)
    }

    /// The cluster's store was set back, which concerns all its kinds.
    pub(super) async fn was_set_back(&mut self, message: String) -> Result<State, Stop> {
        let since = self.set_back_since();
        self.spread_doubt(since, reason::ROLLED_BACK);
        self.list_again(since, reason::ROLLED_BACK, message).await
    }

    /// Gives up the cursor: what happened since then may be missing, and a list is to find it.
    pub(super) async fn list_again(
        &mut self,
        since: Timestamp,
        reason: &'static str,
        message: String,
    ) -> Result<State, Stop> {
        self.coverage.gap_since(since, reason, message).await?;
        // What the list finds happened somewhere since then.
        self.coverage.heard_at(since);
        self.since = Some(since);
        self.rolled_back = true;
        self.doubt.end();
        self.check.postpone(self.settings.limits.consistency);
        Ok(State::Begin { fresh: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_doubt_lasts_until_a_comparison_that_began_after_it_was_raised() {
        let mut doubt = Doubt::default();
        assert!(doubt.is_settled_by(at(0)));
        assert!(doubt.raise(at(10), at(14)), "the first");
        assert!(!doubt.raise(at(20), at(21)), "another while it lasts");
        assert_eq!(doubt.since(), Some(at(10)), "it goes back to the first");
        assert!(!doubt.is_settled_by(at(15)), "asked before the last stream broke");
        assert!(doubt.is_settled_by(at(21)));
        doubt.settle(at(21));
        assert_eq!((doubt.since(), doubt.settled), (None, Some((at(10), at(21)))));
    }
}
