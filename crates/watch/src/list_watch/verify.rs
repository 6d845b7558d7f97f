//! Consistency lists while the watch goes on, and what follows from them.

use std::sync::Arc;

use super::{ListWatch, State, Stop};
use crate::Sink;
use crate::consistency::{Comparison, Due, Listed, Question, number};
use strandline_log::{Agreement, LivePosition, Observed, Phase};
use strandline_model::{Timestamp, reason};

/// Living objects asked of the log's writer at a time: few enough for nobody to wait behind them.
const PAGE: usize = 500;

impl<S: Sink> ListWatch<S> {
    /// Notes objects whose state in a consistency list says nothing.
    pub(super) fn note(&mut self, phase: Phase, observed: &[Observed]) {
        let listing = matches!(phase, Phase::ListPage | Phase::ListEnd | Phase::PartialListEnd);
        for seen in observed {
            match seen {
                Observed::Unreadable { namespace, name, uid } => {
                    self.check.unreadable(namespace, name, uid.as_str());
                }
                _ if listing => {}
                Observed::Applied(seen) => self.check.touch(&seen.namespace, &seen.name, seen.uid.as_str()),
                Observed::Deleted { namespace, name, uid, .. } => {
                    self.check.touch(namespace, name, uid.as_str());
                }
            }
        }
    }

    /// A full list shows all that a consistency list could.
    pub(super) fn verified_by_list(&mut self, at: Timestamp) {
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

    /// The earliest time at which the store can have been set back.
    pub(super) fn set_back_since(&self) -> Timestamp {
        let since = self.doubt.since().or(self.verified_at).or(self.coverage.last_heard());
        since.unwrap_or_else(|| self.coverage.now())
    }

    /// The earliest time at which a change can have been missed: an event may have been lost at any time since the last
    /// comparison.
    pub(super) fn missed_since(&self) -> Timestamp {
        let since = self.set_back_since();
        self.verified_at.map_or(since, |verified| verified.min(since))
    }

    /// Does what is due of a check; a state where the watch cannot go on.
    pub(super) async fn verify(&mut self, due: Due) -> Result<Option<State>, Stop> {
        match due {
            Due::List => {
                let question = Question {
                    client: self.connection.client(),
                    path: self.path.clone(),
                    selector: self.selector.clone(),
                    settings: Arc::clone(&self.settings),
                    clock: self.coverage.clock(),
                    turns: Arc::clone(&self.shared.consistency),
                    cursor: self.cursor.as_ref().and_then(number),
                };
                self.check.begin(Box::pin(question.ask()), self.settings.limits.consistency_apart);
            }
            Due::Listed(Ok(listed)) if listed.is_behind() => {
                let message = format!(
                    "the cluster is at {} and was at {}: its store was rolled back",
                    listed.version,
                    self.cursor.as_ref().map_or("", |cursor| cursor.as_str())
                );
                return self.was_set_back(message).await.map(Some);
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
                    return self.compare(listed).await;
                }
            }
        }
        Ok(None)
    }

    async fn compare(&mut self, listed: Listed) -> Result<Option<State>, Stop> {
        let mut comparison = Comparison::new(listed);
        let mut position = Some(LivePosition::default());
        while let Some(after) = position {
            let page = self.sink.live_objects(&self.watch, after, PAGE).await?;
            for object in &page.objects {
                comparison.take(object, |key| self.check.ignores(key));
            }
            position = page.next;
        }
        let (differences, began) = comparison.finish(|key| self.check.ignores(key));
        if differences.count() == 0 {
            if self.doubt.is_settled_by(began) {
                self.sink.agreement(&self.watch, self.epoch, Agreement::Verified(began)).await?;
                self.verified_by_list(began);
            } else {
                self.verify_soon();
            }
            return Ok(None);
        }
        if !std::mem::replace(&mut self.check.differed, true) {
            tracing::debug!(watch = %self.watch, %differences, "the record differs from the cluster; comparing again");
            self.check.postpone(std::time::Duration::ZERO);
            return Ok(None);
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
            return self
                .was_set_back(format!("the cluster's store was rolled back: {differences}"))
                .await
                .map(Some);
        }
        self.spread_doubt(self.set_back_since(), reason::MISSED);
        let message = format!("no event reported some changes: {differences}");
        self.list_again(self.missed_since(), reason::MISSED, message).await.map(Some)
    }
}
