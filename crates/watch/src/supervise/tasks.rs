//! Starts the watches of what is planned, and takes in how they end.

use std::sync::Arc;

use futures_util::future::try_join_all;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::plan::{Planned, retire};
use super::supervisor::{Running, Supervisor};
use crate::coverage::Coverage;
use crate::list_watch::{End, Ended, ListWatch};
use crate::sink::Sink;
use strandline_log::{AppendError, Begin};
use strandline_model::{CoverageMark, WatchKey, reason};

impl<S: Sink> Supervisor<S> {
    /// Starts what is new, stops what is gone, and restarts what is served differently.
    pub(super) async fn apply(&mut self) -> Result<(), AppendError> {
        let (now, patience) = (Instant::now(), self.settings.limits.retirement_delay);
        let definitions = self.shared.definitions.clone();
        let Supervisor { running, stopping, plan, known, .. } = self;
        running.retain(|watch, running| {
            let broke_down = running.task.is_finished() && !running.ended;
            let stays = match plan.get(watch) {
                Some(planned) => {
                    let definition = definitions.settled(&watch.kind);
                    let same = definition.is_none()
                        || running.definition.is_none()
                        || definition == running.definition;
                    *planned == running.planned && same && !broke_down
                }
                None if known.kinds.contains_key(&watch.kind) => false,
                None => *running.until.get_or_insert(now + patience) > now && !running.task.is_finished(),
            };
            if plan.contains_key(watch) {
                running.until = None;
            }
            if !stays {
                running.cancel.cancel();
                if !running.task.is_finished() {
                    stopping.insert(watch.clone());
                }
            }
            stays
        });
        // One that is still stopping is started when it has stopped.
        let waits = |watch: &WatchKey| !running.contains_key(watch) && !stopping.contains(watch);
        let new: Vec<_> =
            plan.iter().filter(|(watch, _)| waits(watch)).map(|(w, p)| (w.clone(), p.clone())).collect();
        let mut coverages: Vec<_> = new.iter().map(|(watch, _)| self.coverage(watch)).collect();
        let first = coverages.iter_mut().zip(&new).filter(|(_, (watch, _))| !self.begun.contains(watch));
        // All at once, as each waits for the log.
        let marked = first.map(|(coverage, (watch, _))| {
            let (sink, last_seen) = (&self.sink, self.earlier.get(watch));
            async move {
                if let Some(last_seen) = last_seen {
                    return coverage.resumed(*last_seen).await.map(|_| ());
                }
                // Its cursor lets a later run know of the gap, should this one not come to the watch itself.
                sink.begin(Begin::new(watch, false)).await?;
                coverage.first().await
            }
        });
        try_join_all(marked).await?;
        for ((watch, planned), coverage) in new.into_iter().zip(coverages) {
            self.begun.insert(watch.clone());
            self.earlier.remove(&watch);
            self.start(watch, planned, coverage);
        }
        self.settings.stats.set_watches(self.tasks.len());
        Ok(())
    }

    fn coverage(&self, watch: &WatchKey) -> Coverage<S> {
        let stats = Arc::clone(&self.settings.stats);
        // Known before its first mark, so that it does not count as listed meanwhile.
        stats.update(watch, |_| {});
        let coverage = Coverage::new(watch.clone(), self.sink.clone(), Arc::clone(&self.clock), stats);
        coverage.with_permissions(self.permissions.clone()).absent_until(self.discovered.0)
    }

    fn start(&mut self, watch: WatchKey, planned: Planned, coverage: Coverage<S>) {
        let Some(watcher) = self.watchers.get(planned.way) else { return };
        let (settings, sink) = (Arc::clone(&self.settings), self.sink.clone());
        let shared = self.shared.clone();
        let definition = shared.definitions.settled(&watch.kind);
        let follow = ListWatch::new(
            &planned.served,
            watch.clone(),
            settings,
            &watcher.connection,
            coverage,
            sink,
            shared,
        );
        let cancel = self.cancel.child_token();
        let task = self.tasks.spawn(follow.run(cancel.clone()));
        let running = Running { planned, cancel, task, definition, ended: false, until: None };
        let other = self.running.insert(watch, running);
        debug_assert!(other.is_none(), "a watch has one task at a time");
    }

    pub(super) async fn ended(&mut self, ended: Result<Ended, JoinError>) -> Result<(), AppendError> {
        self.settings.stats.set_watches(self.tasks.len());
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => return self.broke_down(&error).await,
        };
        match ended.end {
            End::Closed => Err(AppendError::Closed),
            End::Cancelled if self.stopping.remove(&ended.watch) => {
                // Served differently, or back already: it starts again.
                if let Some(planned) = self.plan.get(&ended.watch).cloned() {
                    let coverage = self.coverage(&ended.watch);
                    self.start(ended.watch, planned, coverage);
                    return Ok(());
                }
                let now = self.clock.now();
                let Ended { watch, confirmed_until, .. } = ended;
                let retirement =
                    retire(&self.settings, &watch, &self.known, &self.plan, confirmed_until, now);
                self.retirements.insert(watch, retirement);
                self.record_retired().await
            }
            // Another run has taken over: this one must not fight it.
            End::Superseded | End::Cancelled => {
                self.stopping.remove(&ended.watch);
                if let Some(running) = self.running.get_mut(&ended.watch) {
                    running.ended = true;
                }
                Ok(())
            }
        }
    }

    /// The task of a watch ended by a mistake of ours: a gap of its kind, until it was started again.
    async fn broke_down(&self, error: &JoinError) -> Result<(), AppendError> {
        let failed = self.running.iter().find(|(_, running)| running.task.id() == error.id());
        let Some((watch, _)) = failed else { return Ok(()) };
        tracing::error!(
            "cluster {}: the watch task of {} failed: {error}; restarting it",
            watch.cluster,
            watch.kind
        );
        let seen = self.settings.stats.statuses().into_iter().find(|(known, _)| known == watch);
        let since = seen.and_then(|(_, status)| status.confirmed_until).unwrap_or_else(|| self.clock.now());
        let message = "the watch task failed; restarting it";
        self.sink.mark(CoverageMark::gap(watch.clone(), since, reason::RESTARTED, message)).await?;
        Ok(())
    }
}
