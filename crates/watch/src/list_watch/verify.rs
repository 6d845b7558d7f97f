//! Consistency lists while the watch continues, and what follows from them.

use std::sync::Arc;

use super::error::{Loss, StepError};
use super::machine::ListWatch;
use super::state::Position;
use crate::consistency::{Comparison, ConsistencyList, Due, Listed, number};
use crate::sink::Sink;
use strandline_log::{Agreement, LivePosition};
use strandline_model::{Timestamp, reason};

/// Living objects asked of the log's writer at a time: few enough for no batch to wait behind them.
const PAGE: usize = 500;

impl<S: Sink> ListWatch<S> {
    /// A full list shows all that a consistency list could.
    pub(super) fn set_verified(&mut self, at: Timestamp) {
        self.verified_at = Some(at);
        self.doubt.settle(at);
        self.check.differed = false;
        let every = self.settings.limits.consistency;
        let wait = self.spread.between(every / 2, every);
        self.check.postpone(wait);
        self.settings.stats.update(&self.watch, |status| status.verified_at = Some(at));
    }

    /// Something may have been missed: a consistency list is due soon.
    pub(super) fn verify_soon(&mut self) {
        let limits = &self.settings.limits;
        let (soon, apart) = (limits.consistency_soon, limits.consistency_apart);
        let wait = self.spread.between(soon / 2, soon);
        self.check.hasten(wait, apart);
    }

    /// The earliest time at which the store can have been rolled back.
    pub(super) fn rolled_back_since(&self) -> Timestamp {
        let since = self.doubt.since().or(self.verified_at).or(self.coverage.confirmed_until());
        since.unwrap_or_else(|| self.coverage.now())
    }

    /// The earliest time at which a change can have been missed: an event may have been lost at any time since the last
    /// comparison.
    pub(super) fn missed_since(&self) -> Timestamp {
        let since = self.rolled_back_since();
        self.verified_at.map_or(since, |verified| verified.min(since))
    }

    /// Does what is due of a check.
    pub(super) async fn verify(&mut self, position: &Position, due: Due) -> Result<(), StepError> {
        match due {
            Due::List => {
                let list = ConsistencyList {
                    client: self.connection.client(),
                    path: self.path.clone(),
                    selector: self.selector.clone(),
                    settings: Arc::clone(&self.settings),
                    clock: self.coverage.clock(),
                    turns: Arc::clone(&self.shared.consistency),
                    cursor: number(position.cursor()),
                };
                self.check.begin(Box::pin(list.read()), self.settings.limits.consistency_apart);
            }
            Due::Listed(Ok(listed)) if listed.is_behind() => {
                let message = format!(
                    "the cluster is at {} and was at {}: its store was rolled back",
                    listed.version,
                    position.cursor()
                );
                return Err(self.rolled_back(message));
            }
            Due::Listed(Ok(listed)) => self.check.listed(listed),
            Due::Listed(Err(failure)) => {
                tracing::debug!(watch = %self.watch, %failure, "consistency list failed; retrying later");
                let apart = self.settings.limits.consistency_apart;
                let wait = self.spread.between(apart / 2, apart);
                self.check.postpone(wait);
            }
            Due::Compare => {
                if let Some(listed) = self.check.take_listed() {
                    self.compare(position, listed).await?;
                }
            }
        }
        Ok(())
    }

    async fn compare(&mut self, position: &Position, listed: Listed) -> Result<(), StepError> {
        let mut comparison = Comparison::new(listed);
        let mut next = Some(LivePosition::default());
        while let Some(after) = next {
            let page = self.sink.live_objects(&self.watch, after, PAGE).await?;
            for object in &page.objects {
                comparison.take(object, |key| self.check.ignores(key));
            }
            next = page.next;
        }
        let (differences, began) = comparison.finish(|key| self.check.ignores(key));
        if differences.count() == 0 {
            if self.doubt.is_settled_by(began) {
                self.sink.agreement(&self.watch, position.epoch, Agreement::Verified(began)).await?;
                self.set_verified(began);
            } else {
                self.verify_soon();
            }
            return Ok(());
        }
        if !std::mem::replace(&mut self.check.differed, true) {
            tracing::debug!(watch = %self.watch, %differences, "the record differs from the cluster; comparing again");
            self.check.postpone(std::time::Duration::ZERO);
            return Ok(());
        }
        self.settings.stats.missed(differences.count());
        let (cluster, kind) = (&self.watch.cluster, &self.watch.kind);
        tracing::warn!(
            cluster, %kind, namespace = self.watch.namespace,
            missing = differences.missing, extra = differences.extra,
            outdated = differences.outdated, older = differences.older,
            "the record differs from the cluster, and no event reported it; listing the kind again"
        );
        if differences.older > 0 {
            return Err(self.rolled_back(format!("the cluster's store was rolled back: {differences}")));
        }
        self.announce_loss(self.rolled_back_since(), reason::MISSED);
        let message = format!("no event reported some changes: {differences}");
        Err(StepError::Loss(Loss { since: self.missed_since(), reason: reason::MISSED, message }))
    }
}
