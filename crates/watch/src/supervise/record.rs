//! Records groups, kinds and watches that are not followed.

use std::sync::Arc;

use super::missing::Missing;
use super::plan::{Retirement, retire};
use super::supervisor::Supervisor;
use crate::coverage::Coverage;
use crate::discovery::{Discovered, FailedGroup};
use crate::sink::Sink;
use strandline_log::{AppendError, Begin};
use strandline_model::{CoverageMark, WatchKey, reason};

impl<S: Sink> Supervisor<S> {
    /// Marks the groups that discovery fails for, and those that it succeeds for again.
    pub(super) async fn record_failing_groups(&mut self, failed: &[FailedGroup]) -> Result<(), AppendError> {
        for FailedGroup { group, message } in failed {
            let watch = WatchKey::discovery(&self.settings.name, group);
            if !self.failing.contains_key(group) {
                // Its cursor, which is never moved, lets a later run know that the group was failing.
                self.sink.begin(Begin::new(&watch, false)).await?;
                let (clock, stats) = (Arc::clone(&self.clock), Arc::clone(&self.settings.stats));
                let coverage = Coverage::new(watch, self.sink.clone(), clock, stats);
                self.failing.insert(group.clone(), coverage);
            }
            if let Some(coverage) = self.failing.get_mut(group) {
                coverage.gap(reason::UNAVAILABLE, message.clone()).await?;
            }
        }
        let recovered = |group: &&String| failed.iter().all(|failed| failed.group != **group);
        let recovered: Vec<String> = self.failing.keys().filter(recovered).cloned().collect();
        for group in recovered {
            self.group_recovered(WatchKey::discovery(&self.settings.name, &group)).await?;
            self.failing.remove(&group);
        }
        Ok(())
    }

    async fn group_recovered(&self, watch: WatchKey) -> Result<(), AppendError> {
        self.sink.dismiss(CoverageMark::watched(watch.clone(), self.clock.now()), false).await?;
        self.settings.stats.forget(&watch);
        Ok(())
    }

    pub(super) async fn record_unfollowed(&mut self, discovered: &Discovered) -> Result<(), AppendError> {
        for (kind, unfollowed) in &discovered.unfollowed {
            if self.recorded_unfollowed.get(kind) == Some(unfollowed) {
                continue;
            }
            let watch = WatchKey {
                cluster: self.settings.name.clone(),
                kind: kind.clone(),
                namespace: String::new(),
            };
            let (reason, message) = (unfollowed.code(), unfollowed.to_string());
            self.sink.mark(CoverageMark::excluded(watch, self.clock.now(), reason, message)).await?;
            self.recorded_unfollowed.insert(kind.clone(), unfollowed.clone());
        }
        self.recorded_unfollowed.retain(|kind, _| discovered.unfollowed.contains_key(kind));
        Ok(())
    }

    /// Reads from the log up to when earlier runs recorded everything that happened in the cluster: a gap of the whole
    /// cluster begins there, until it answers again and each of its watches is a gap of its own.
    pub(super) async fn recall(&mut self) -> Result<(), AppendError> {
        if self.recalled {
            return Ok(());
        }
        let limits = &self.settings.limits;
        // A watch that was confirmed less recently than every healthy one is in a gap of its own.
        let recent = limits.watch + limits.watch / 4 + limits.idle;
        let watches = self.sink.watches(&self.settings.name).await?;
        self.earlier = watches.iter().filter_map(|(watch, seen)| Some((watch.clone(), (*seen)?))).collect();
        let seen = || watches.iter().filter_map(|(_, seen)| *seen);
        if let Some(newest) = seen().max() {
            let recent = i64::try_from(recent.as_micros()).unwrap_or(i64::MAX);
            let least = newest.as_micros().saturating_sub(recent);
            let since = seen().filter(|seen| seen.as_micros() >= least).min();
            let since = since.unwrap_or(newest);
            self.discovery.resumed(since).await?;
            // What the cluster did not show then and shows now came in between.
            self.discovered.1 = Some(since);
        } else {
            self.discovery.gap(reason::LISTING, "its kinds are not known yet".to_owned()).await?;
            // Nothing of any kind is known of the time since then either.
            self.discovered.1 = Some(self.clock.now());
        }
        self.recalled = true;
        Ok(())
    }

    /// Reviews what earlier runs left: kinds, namespaces and groups that are gone or no longer configured would
    /// otherwise count as watched for ever.
    pub(super) async fn review(&mut self) -> Result<(), AppendError> {
        let now = self.clock.now();
        for (watch, last_seen) in self.sink.watches(&self.settings.name).await? {
            if watch.kind.kind.is_empty() {
                if !self.failing.contains_key(&watch.kind.group) {
                    self.group_recovered(watch).await?;
                }
            } else if !self.plan.contains_key(&watch) {
                let retirement = retire(&self.settings, &watch, &self.known, &self.plan, last_seen, now);
                self.retirements.insert(watch, retirement);
            }
        }
        self.record_retired().await
    }

    /// Compares definitions that became known with those under which the kinds were last listed: a watch whose kind is
    /// defined otherwise since then begins anew.
    pub(super) async fn compare_definitions(&mut self) -> Result<(), AppendError> {
        for (watch, running) in self.running.iter_mut().filter(|(_, running)| running.definition.is_none()) {
            let Some(definition) = self.shared.definitions.settled(&watch.kind) else { continue };
            running.definition = match self.sink.define(watch.clone(), definition.clone()).await? {
                true => Some(definition),
                // No definition is empty, so that the watch counts as one that began under another.
                false => Some(String::new()),
            };
        }
        Ok(())
    }

    /// Records the watches that ended; what the log refuses now is recorded later.
    pub(super) async fn record_retired(&mut self) -> Result<(), AppendError> {
        let mut retired = Vec::new();
        while let Some(next) = self.retirements.first_entry() {
            match next.get().clone() {
                Retirement::Dismissed { mark, unfollow } => {
                    let watch = mark.watch.clone();
                    self.sink.dismiss(mark, unfollow).await?;
                    self.settings.stats.forget(&watch);
                    self.missing.remove(&watch);
                    self.begun.remove(&watch);
                    self.earlier.remove(&watch);
                }
                Retirement::Vanished(mark) => {
                    self.sink.mark(mark.clone()).await?;
                    self.missing.insert(mark.watch.clone(), Missing::new(mark));
                }
            };
            retired.push(next.remove_entry().0);
        }
        self.report.retired(&retired);
        Ok(())
    }
}
