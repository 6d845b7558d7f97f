//! Keeps one watch running for each kind that a cluster has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::coverage::{Coverage, reason};
use super::discovery::{Discovered, discover};
use super::list_watch::{End, Ended, ListWatch};
use super::outcome::{Activity, decide};
use super::request::Failure;
use super::{ClusterConnection, ClusterSettings, ServedKind, Sink};
use crate::clock::Clock;
use crate::log::AppendError;
use crate::model::{CoverageMark, CoverageState, Kind, Timestamp, WatchKey};

/// Follows a cluster until cancelled or until the log closes; by then every task of its own has ended.
///
/// Being asked to end leaves no mark: whoever resumes later finds in the log when each kind was last seen.
pub async fn supervise<S: Sink>(
    settings: ClusterSettings,
    connection: ClusterConnection,
    sink: S,
    clock: Arc<dyn Clock>,
    cancel: CancellationToken,
) {
    let mut supervisor = Supervisor::new(settings, connection, sink, clock, cancel.child_token());
    while !cancel.is_cancelled() {
        match supervisor.round().await {
            Ok(()) => {}
            Err(AppendError::Closed) => break,
            Err(error) => supervisor.rest(&error).await,
        }
    }
    supervisor.stop().await;
}

/// A watch that runs, or has ended for good.
struct Running {
    served: ServedKind,
    cancel: CancellationToken,
    task: AbortHandle,
    /// It ended of itself, as another run took over.
    ended: bool,
}

struct Supervisor<S> {
    settings: Arc<ClusterSettings>,
    connection: ClusterConnection,
    sink: S,
    clock: Arc<dyn Clock>,
    cancel: CancellationToken,
    lists: Arc<Semaphore>,
    discovery: Coverage<S>,
    backoff: Backoff,
    known: Discovered,
    tasks: JoinSet<Ended>,
    running: BTreeMap<WatchKey, Running>,
    /// Watches that were cancelled because their kind is gone, until they have ended.
    stopping: BTreeSet<WatchKey>,
    /// Watches of kinds that are gone, with when they were last heard, until the log knows.
    gone: BTreeMap<WatchKey, Timestamp>,
}

impl<S: Sink> Supervisor<S> {
    fn new(
        settings: ClusterSettings,
        connection: ClusterConnection,
        sink: S,
        clock: Arc<dyn Clock>,
        cancel: CancellationToken,
    ) -> Self {
        let all =
            WatchKey { cluster: settings.name.clone(), kind: Kind::new("", ""), namespace: String::new() };
        let (stats, limits) = (Arc::clone(&settings.stats), &settings.limits);
        Supervisor {
            discovery: Coverage::new(all, sink.clone(), Arc::clone(&clock), stats),
            backoff: Backoff::new(limits.backoff_least, limits.backoff_most),
            lists: Arc::new(Semaphore::new(settings.concurrent_lists.max(1))),
            settings: Arc::new(settings),
            connection,
            sink,
            clock,
            cancel,
            known: Discovered::default(),
            tasks: JoinSet::new(),
            running: BTreeMap::new(),
            stopping: BTreeSet::new(),
            gone: BTreeMap::new(),
        }
    }

    /// Asks for the kinds; once more where a connection broke, for one that lay idle may have been closed just
    /// then, and that is no reason to call the cluster unwatched.
    async fn find_kinds(&self) -> Result<Discovered, Failure> {
        let (client, settings) = (self.connection.client(), &self.settings);
        let ask = || discover(&client, &settings.selection, &settings.limits, &self.known);
        match ask().await {
            Err(Failure::Unreachable(_)) => ask().await,
            found => found,
        }
    }

    /// Discovers once, then attends to the watches until it is time to discover again.
    async fn round(&mut self) -> Result<(), AppendError> {
        let cancel = self.cancel.clone();
        self.tell_gone().await?;
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(()),
            found = self.find_kinds() => found,
        };
        let wait = match found {
            Ok(discovered) => {
                self.discovery.heard();
                self.discovery.watched().await?;
                self.backoff.reset();
                while let Some(ended) = self.tasks.try_join_next() {
                    self.ended(ended).await?;
                }
                self.apply(discovered);
                self.settings.rediscover
            }
            Err(failure) => {
                let reason = decide(Activity::Watching, &failure).gap.unwrap_or(reason::UNREACHABLE);
                self.discovery.gap(reason, failure.to_string()).await?;
                if let Failure::Unauthorized(_) = failure {
                    self.renew().await;
                }
                self.backoff.next().min(self.settings.rediscover)
            }
        };
        let next = tokio::time::sleep(wait);
        tokio::pin!(next);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(()),
                Some(ended) = self.tasks.join_next() => self.ended(ended).await?,
                () = &mut next => return Ok(()),
            }
        }
    }

    /// Starts what is new, stops what is gone, and restarts what is served differently.
    fn apply(&mut self, discovered: Discovered) {
        for failed in &discovered.failed {
            if !self.known.failed.contains(failed) {
                let cluster = &self.settings.name;
                tracing::warn!(%cluster, group = failed.group, message = failed.message, "a group cannot be discovered");
            }
        }
        let wanted = wanted(&self.settings, &discovered);
        self.running.retain(|watch, running| {
            let broke_down = running.task.is_finished() && !running.ended;
            let stays = wanted.get(watch) == Some(&running.served) && !broke_down;
            if !stays {
                running.cancel.cancel();
                if !running.task.is_finished() {
                    self.stopping.insert(watch.clone());
                }
            }
            stays
        });
        for (watch, served) in wanted {
            // One that is still stopping is started when it has stopped.
            if !self.running.contains_key(&watch) && !self.stopping.contains(&watch) {
                self.start(watch, served);
            }
        }
        self.known = discovered;
        self.settings.stats.set_watches(self.tasks.len());
    }

    fn start(&mut self, watch: WatchKey, served: ServedKind) {
        let cancel = self.cancel.child_token();
        let follow = ListWatch::new(
            &served,
            watch.clone(),
            Arc::clone(&self.settings),
            &self.connection,
            self.sink.clone(),
            Arc::clone(&self.clock),
            Arc::clone(&self.lists),
        );
        let task = self.tasks.spawn(follow.run(cancel.clone()));
        self.running.insert(watch, Running { served, cancel, task, ended: false });
    }

    async fn ended(&mut self, ended: Result<Ended, JoinError>) -> Result<(), AppendError> {
        self.settings.stats.set_watches(self.tasks.len());
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(cluster = self.settings.name, %error, "a watch broke down");
                return Ok(());
            }
        };
        match ended.end {
            End::Closed => Err(AppendError::Closed),
            End::Cancelled if self.stopping.remove(&ended.watch) => {
                // Served differently, or back already: it starts again.
                if let Some(served) = self.known.kinds.get(&ended.watch.kind) {
                    let served = served.clone();
                    self.start(ended.watch, served);
                    return Ok(());
                }
                let since = ended.last_heard.unwrap_or_else(|| self.clock.now());
                self.gone.insert(ended.watch, since);
                self.tell_gone().await
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

    async fn tell_gone(&mut self) -> Result<(), AppendError> {
        while let Some((watch, &since)) = self.gone.first_key_value() {
            let mark = CoverageMark {
                watch: watch.clone(),
                state: CoverageState::Gap,
                since,
                reason: reason::NOT_SERVED.to_owned(),
                message: "the cluster no longer has this kind".to_owned(),
            };
            self.sink.mark(mark).await?;
            if let Some((watch, _)) = self.gone.pop_first() {
                tracing::info!(%watch, "the cluster no longer has this kind");
            }
        }
        Ok(())
    }

    /// Credentials may have been replaced where they were read from.
    async fn renew(&self) {
        if let Err(error) = self.connection.renew().await {
            tracing::warn!(cluster = self.settings.name, %error, "the credentials cannot be read again");
        }
    }

    /// The log takes nothing for now: waits before trying again.
    async fn rest(&mut self, error: &AppendError) {
        tracing::warn!(cluster = self.settings.name, %error, "the log takes nothing");
        let wait = self.backoff.next();
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    async fn stop(mut self) {
        self.cancel.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.settings.stats.set_watches(0);
    }
}

/// One watch for each kind, or for each kind and namespace.
fn wanted(settings: &ClusterSettings, discovered: &Discovered) -> BTreeMap<WatchKey, ServedKind> {
    let everywhere = [String::new()];
    let namespaces = if settings.namespaces.is_empty() { &everywhere[..] } else { &settings.namespaces };
    let kinds =
        discovered.kinds.values().filter(|served| served.namespaced || settings.namespaces.is_empty());
    kinds
        .flat_map(|served| {
            namespaces.iter().map(|namespace| {
                let (cluster, kind) = (settings.name.clone(), served.kind.clone());
                (WatchKey { cluster, kind, namespace: namespace.clone() }, served.clone())
            })
        })
        .collect()
}
