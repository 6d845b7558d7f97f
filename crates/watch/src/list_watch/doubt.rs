//! Doubts whether a cluster still has the store that was recorded.
//!
//! To roll a store back to an older copy is to end every stream that reads from it. So after a stream broke, and after
//! an absence, what is recorded is in doubt until it was compared with what the cluster has. A store is one for all
//! kinds of a cluster: where one of them shows that it was rolled back, no other that was in doubt can be trusted.
//!
//! Why: docs/decisions/0005-a-broken-stream-means-doubt.md.

use tokio::sync::watch;

use strandline_model::{Timestamp, WatchKey};

/// A kind shows that the cluster's store may have been rolled back.
#[derive(Clone, Debug)]
pub(crate) struct RollbackNotice {
    pub(super) watch: WatchKey,
    pub(super) since: Timestamp,
    pub(super) reason: &'static str,
}

pub(crate) type RollbackSender = watch::Sender<Option<RollbackNotice>>;
pub(crate) type RollbackReceiver = watch::Receiver<Option<RollbackNotice>>;

/// What is not known to be of the store that the cluster has.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    since: Option<Timestamp>,
    /// When a stream broke last: a comparison that began before that proves nothing about what came after it.
    raised: Option<Timestamp>,
    /// The last doubt that was settled, from when to when it lasted.
    settled: Option<(Timestamp, Timestamp)>,
}

impl Doubt {
    /// Since when there is one.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// What came after `since` is in doubt; returns whether nothing was before.
    pub(super) fn raise(&mut self, since: Timestamp, now: Timestamp) -> bool {
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

    /// The last doubt that was settled, from when to when it lasted.
    pub(super) fn take_settled(&mut self) -> Option<(Timestamp, Timestamp)> {
        self.settled.take()
    }

    /// A gap names everything that is in doubt.
    pub(super) fn end(&mut self) {
        *self = Doubt::default();
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
