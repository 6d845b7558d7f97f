//! Keeps one watch running for each kind that a cluster has.

mod identity;
mod missing;
mod plan;
mod record;
mod removed_kinds;
mod report;
mod supervisor;
mod tasks;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use self::plan::plan;
use self::supervisor::{REDISCOVER_ATTEMPTS, Supervisor};
use super::backoff::Backoff;
use super::connect_error::ConnectError;
use super::discovery::{Discovered, discover};
use super::outcome::{Activity, decide};
use super::permissions::WatchPermission;
use super::request::Failure;
use super::settings::{ClusterSettings, Watcher};
use super::sink::Sink;
use strandline_clock::Clock;
use strandline_log::AppendError;
use strandline_model::{CoverageMark, WatchKey, reason};
use strandline_syntax::diagnostics::panic_text;

/// Follows a cluster through its watchers until cancelled or until the log closes; by then every task of its own has
/// ended.
///
/// Cancellation leaves no mark: the next run finds in the log when each kind was last seen.
pub async fn supervise<S: Sink>(
    settings: ClusterSettings,
    watchers: Vec<Watcher>,
    sink: S,
    clock: Arc<dyn Clock>,
    cancel: CancellationToken,
) {
    let all = WatchKey::discovery(&settings.name, "");
    let mut backoff =
        Backoff::new(settings.limits.backoff_least, settings.limits.backoff_most, settings.spread(&all));
    loop {
        let (settings, watchers, clock_of) = (settings.clone(), watchers.clone(), Arc::clone(&clock));
        let run = supervise_once(settings, watchers, sink.clone(), clock_of, cancel.clone());
        // A panic is a mistake of ours, which must neither end the recording of the cluster nor stay unnoticed.
        let Err(panic) = AssertUnwindSafe(run).catch_unwind().await else { return };
        let why = panic_text(&*panic);
        tracing::error!("cluster {}: the supervisor failed: {why}; restarting it", all.cluster);
        let gap = CoverageMark::gap(
            all.clone(),
            clock.now(),
            reason::RESTARTED,
            "the cluster's supervisor failed; restarting it",
        );
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            marked = sink.mark(gap) => if let Err(AppendError::Closed) = marked { return },
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = sleep(backoff.next()) => {}
        }
    }
}

/// The same, for as long as nothing panics.
async fn supervise_once<S: Sink>(
    settings: ClusterSettings,
    watchers: Vec<Watcher>,
    sink: S,
    clock: Arc<dyn Clock>,
    cancel: CancellationToken,
) {
    let mut supervisor = Supervisor::new(settings, watchers, sink, clock, cancel.child_token());
    // It may be dropped anywhere, even where it waits for a silent cluster or for a log without room: the next run finds
    // what it leaves undone.
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = supervisor.follow() => {}
    }
    supervisor.stop().await;
}

impl<S: Sink> Supervisor<S> {
    /// Asks for the kinds; a cluster that does not answer is not watched, even before the request fails.
    async fn kinds_or_gap(&mut self) -> Result<Result<Discovered, Failure>, AppendError> {
        let mut asking = pin!(find_kinds(&self.watchers, &self.settings, &self.known));
        if let Ok(found) = timeout(self.settings.limits.patience, &mut asking).await {
            return Ok(found);
        }
        self.report.not_answering(reason::UNREACHABLE, "no answer yet");
        self.discovery.gap(reason::UNREACHABLE, "no answer yet".to_owned()).await?;
        Ok(asking.await)
    }

    /// Repeats until the log closes.
    async fn follow(&mut self) {
        loop {
            match self.round().await {
                Ok(()) => {}
                Err(AppendError::Closed) => return,
                Err(error) => self.back_off(&error).await,
            }
        }
    }

    /// Discovers once, then runs the watches until it is time to discover again.
    async fn round(&mut self) -> Result<(), AppendError> {
        self.recall().await?;
        self.record_retired().await?;
        let unread = self.connect_ways().await;
        let wait = match self.kinds_or_gap().await? {
            Ok(discovered) => {
                self.report.answered();
                self.discovery.confirm_all(self.clock.now());
                self.discovered = (self.discovered.1, Some(self.clock.now()));
                self.identify().await?;
                if unread.is_none() {
                    self.backoff.reset();
                }
                while let Some(ended) = self.tasks.try_join_next() {
                    self.ended(ended).await?;
                }
                self.reconcile(discovered).await?;
                // Not before each of its kinds is, or is a gap: else an answer would call them known.
                self.discovery.watched_again().await?;
                match unread {
                    None => self.until_next(),
                    Some(_) => self.until_next().min(self.backoff.next()),
                }
            }
            Err(failure) => {
                let reason = decide(Activity::Watching, &failure).gap().unwrap_or(reason::UNREACHABLE);
                let why = match (&failure, unread) {
                    (Failure::Credentials(why), _) => why.clone(),
                    (_, None) => failure.to_string(),
                    (_, Some(unread)) => format!("{failure}; its credentials cannot be read again: {unread}"),
                };
                self.report.attempt_failed(reason, &why);
                self.discovery.gap(reason, why).await?;
                self.backoff.next().min(self.settings.rediscover)
            }
        };
        self.run_until_next_discovery(Instant::now() + wait).await
    }

    /// How long to wait before asking again.
    fn until_next(&mut self) -> Duration {
        let ends = self.running.values().filter_map(|running| running.until);
        let next_end = ends.min().map(|until| until.saturating_duration_since(Instant::now()));
        let mut wait = self.settings.rediscover.min(next_end.unwrap_or(Duration::MAX));
        if !self.missing.is_empty() {
            wait = wait.min(self.settings.limits.removal);
        }
        if self.rediscover_attempts > 0 {
            wait = wait.min(
                self.settings.limits.gather * 2_u32.pow(REDISCOVER_ATTEMPTS + 1 - self.rediscover_attempts),
            );
            self.rediscover_attempts -= 1;
        }
        wait
    }

    /// Runs the watches until a time, or until the kinds may have changed.
    async fn run_until_next_discovery(&mut self, mut until: Instant) -> Result<(), AppendError> {
        let (changed, permissions) = (Arc::clone(&self.shared.kinds_changed), self.permissions.clone());
        let mut look_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.tasks.join_next() => {
                    if ended.is_err() {
                        until = until.min(Instant::now() + self.breakdowns.next());
                    }
                    self.ended(ended).await?;
                }
                changed = permissions.changed() => {
                    for (watch, permission) in changed {
                        self.update_refused(watch, permission).await?;
                    }
                }
                () = sleep_until(look_at) => {
                    self.report.look(&self.settings.stats.statuses());
                    look_at = Instant::now() + self.settings.limits.patience;
                }
                () = changed.notified() => {
                    self.rediscover_attempts = REDISCOVER_ATTEMPTS;
                    until = until.min(Instant::now() + self.settings.limits.gather);
                }
                () = sleep_until(until) => return Ok(()),
            }
        }
    }

    /// Brings the watches in line with the kinds that the cluster has, and records which are not followed.
    async fn reconcile(&mut self, discovered: Discovered) -> Result<(), AppendError> {
        self.record_failing_groups(&discovered.failed).await?;
        self.record_unfollowed(&discovered).await?;
        self.known = discovered;
        self.plan = plan(&self.settings, &self.watchers, &self.known, &self.refused);
        if !self.reviewed {
            self.review().await?;
            self.reviewed = true;
        }
        self.retire_removed_kinds().await?;
        self.compare_definitions().await?;
        self.apply().await
    }

    /// A watch sees its kind or may not: another way may have to take its place.
    async fn update_refused(
        &mut self,
        watch: WatchKey,
        permission: WatchPermission,
    ) -> Result<(), AppendError> {
        if !watch.namespace.is_empty() {
            return Ok(());
        }
        let Some(running) = self.running.get(&watch) else { return Ok(()) };
        let refusal = (watch.kind, running.planned.way);
        let changed = match permission {
            WatchPermission::Granted => self.refused.remove(&refusal),
            WatchPermission::Refused => self.refused.insert(refusal),
        };
        if changed {
            self.plan = plan(&self.settings, &self.watchers, &self.known, &self.refused);
            self.apply().await?;
        }
        Ok(())
    }

    /// Reads the credentials of the ways that have none yet, or failed with those that they have. Where some cannot be
    /// read, returns why.
    async fn connect_ways(&mut self) -> Option<ConnectError> {
        let mut unread = None;
        for watcher in &self.watchers {
            if let Err(error) = watcher.connection.ensure_connected().await {
                unread.get_or_insert(error);
            }
        }
        let unverified = self.watchers.iter().any(|watcher| watcher.connection.skips_verification());
        self.report.unverified(unverified);
        unread
    }

    /// Waits after an append that failed.
    async fn back_off(&mut self, error: &AppendError) {
        tracing::warn!(cluster = self.settings.name, %error, "writing to the log failed; retrying");
        sleep(self.backoff.next()).await;
    }

    /// Ends every watch and waits for it.
    async fn end_all(&mut self) {
        for running in self.running.values() {
            running.cancel.cancel();
        }
        while self.tasks.join_next().await.is_some() {}
        self.running.clear();
        self.stopping.clear();
    }

    async fn stop(mut self) {
        self.cancel.cancel();
        self.end_all().await;
        self.settings.stats.set_watches(0);
    }
}

/// Discovers the kinds, through each connection until one answers; `known` are those of the last time. Each is tried
/// once more where it broke, for an idle connection may have been closed just then, and that is no reason to call the
/// cluster unwatched.
async fn find_kinds(
    ways: &[Watcher],
    settings: &ClusterSettings,
    known: &Discovered,
) -> Result<Discovered, Failure> {
    let mut last = Failure::Invalid("no connection to the cluster is configured".to_owned());
    for way in ways {
        let client = way.connection.client();
        let ask = || discover(&client, &settings.selection, &settings.limits, known);
        let found = match ask().await {
            Err(Failure::Unreachable(_)) => ask().await,
            found => found,
        };
        match found {
            Ok(discovered) => return Ok(discovered),
            Err(failure) => {
                // A wrong server may answer anything.
                way.connection.mark_stale();
                last = failure;
            }
        }
    }
    Err(last)
}
