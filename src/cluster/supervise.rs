//! Keeps one watch running for each kind that a cluster has.

mod identity;
mod missing;
mod plan;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use self::missing::Missing;
use self::plan::{Farewell, Plan, Planned, Refused, farewell, plan};
use super::backoff::Backoff;
use super::coverage::{Coverage, Standing, Standings};
use super::discovery::{Discovered, Unfollowed, discover};
use super::list_watch::{End, Ended, ListWatch, Shared};
use super::outcome::{Activity, decide};
use super::request::Failure;
use super::{ClusterSettings, Sink, Watcher};
use crate::clock::Clock;
use crate::log::AppendError;
use crate::model::{Kind, WatchKey, reason};

/// Follows a cluster through its watchers until cancelled or until the log closes; by then every task of its own has
/// ended.
///
/// Being asked to end leaves no mark: whoever resumes later finds in the log when each kind was last seen.
pub async fn supervise<S: Sink>(
    settings: ClusterSettings,
    watchers: Vec<Watcher>,
    sink: S,
    clock: Arc<dyn Clock>,
    cancel: CancellationToken,
) {
    let mut supervisor = Supervisor::new(settings, watchers, sink, clock, cancel.child_token());
    // It may be dropped anywhere, even where it waits for a cluster that says nothing or for a log that takes nothing:
    // whatever it leaves undone is found by the next run.
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = supervisor.follow() => {}
    }
    supervisor.stop().await;
}

/// A watch that runs, or has ended for good.
struct Running {
    planned: Planned,
    cancel: CancellationToken,
    task: AbortHandle,
    /// The definition of its kind under which it began or which the log keeps with it; none while it is not known.
    definition: Option<String>,
    /// It ended of itself, as another run took over.
    ended: bool,
    /// Its kind is gone; until then it goes on, for the last deletions to arrive.
    until: Option<Instant>,
}

struct Supervisor<S> {
    settings: Arc<ClusterSettings>,
    watchers: Vec<Watcher>,
    sink: S,
    clock: Arc<dyn Clock>,
    cancel: CancellationToken,
    shared: Shared,
    discovery: Coverage<S>,
    /// Groups that the cluster cannot tell about.
    failing: BTreeMap<String, Coverage<S>>,
    backoff: Backoff,
    known: Discovered,
    /// Whether the log was asked when earlier runs last heard from the cluster.
    recalled: bool,
    /// Whether what earlier runs left in the log has been looked through.
    reviewed: bool,
    plan: Plan,
    refused: Refused,
    standings: (Standings, mpsc::UnboundedReceiver<(WatchKey, Standing)>),
    tasks: JoinSet<Ended>,
    running: BTreeMap<WatchKey, Running>,
    /// Watches that were cancelled, until they have ended.
    stopping: BTreeSet<WatchKey>,
    /// What the log is still to be told of watches that ended.
    farewells: BTreeMap<WatchKey, Farewell>,
    /// Watches whose kind the cluster does not show.
    missing: BTreeMap<WatchKey, Missing>,
    /// Kinds that are not followed, as far as the log was told.
    told: BTreeMap<Kind, Unfollowed>,
    /// Soon after a change of what tells the kinds the cluster is asked again and again, as it may not know yet.
    hurry: u32,
}

/// How often the cluster is asked after a change of what tells the kinds, each time after a wait twice as long.
const HURRY: u32 = 4;

impl<S: Sink> Supervisor<S> {
    fn new(
        settings: ClusterSettings,
        watchers: Vec<Watcher>,
        sink: S,
        clock: Arc<dyn Clock>,
        cancel: CancellationToken,
    ) -> Self {
        let all = WatchKey::discovery(&settings.name, "");
        let (stats, limits, spread) = (Arc::clone(&settings.stats), &settings.limits, settings.spread(&all));
        Supervisor {
            discovery: Coverage::new(all, sink.clone(), Arc::clone(&clock), stats),
            failing: BTreeMap::new(),
            backoff: Backoff::new(limits.backoff_least, limits.backoff_most, spread),
            shared: Shared::new(&settings),
            settings: Arc::new(settings),
            watchers,
            sink,
            clock,
            cancel,
            known: Discovered::default(),
            recalled: false,
            reviewed: false,
            plan: Plan::new(),
            refused: Refused::new(),
            standings: mpsc::unbounded_channel(),
            tasks: JoinSet::new(),
            running: BTreeMap::new(),
            stopping: BTreeSet::new(),
            farewells: BTreeMap::new(),
            missing: BTreeMap::new(),
            told: BTreeMap::new(),
            hurry: 0,
        }
    }

    /// Asks for the kinds; a cluster that leaves the question unanswered is not watched, even before it fails.
    async fn kinds_or_gap(&mut self) -> Result<Result<Discovered, Failure>, AppendError> {
        let mut asking = pin!(find_kinds(&self.watchers, &self.settings, &self.known));
        if let Ok(found) = timeout(self.settings.limits.patience, &mut asking).await {
            return Ok(found);
        }
        self.discovery.gap(reason::UNREACHABLE, "no answer yet".to_owned()).await?;
        Ok(asking.await)
    }

    /// Goes on until the log closes.
    async fn follow(&mut self) {
        loop {
            match self.round().await {
                Ok(()) => {}
                Err(AppendError::Closed) => return,
                Err(error) => self.rest(&error).await,
            }
        }
    }

    /// Discovers once, then attends to the watches until it is time to discover again.
    async fn round(&mut self) -> Result<(), AppendError> {
        self.recall().await?;
        self.say_farewells().await?;
        let connected = self.connect_ways().await;
        let wait = match self.kinds_or_gap().await? {
            Ok(discovered) => {
                self.discovery.heard();
                self.identify().await?;
                self.discovery.watched().await?;
                if connected {
                    self.backoff.reset();
                }
                while let Some(ended) = self.tasks.try_join_next() {
                    self.ended(ended).await?;
                }
                self.learn(discovered).await?;
                match connected {
                    true => self.until_next(),
                    false => self.until_next().min(self.backoff.next()),
                }
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
        self.attend(Instant::now() + wait).await
    }

    /// How long to wait before asking again.
    fn until_next(&mut self) -> Duration {
        let farewells = self.running.values().filter_map(|running| running.until);
        let farewell = farewells.min().map(|until| until.saturating_duration_since(Instant::now()));
        let mut wait = self.settings.rediscover.min(farewell.unwrap_or(Duration::MAX));
        if !self.missing.is_empty() {
            wait = wait.min(self.settings.limits.removal);
        }
        if self.hurry > 0 {
            wait = wait.min(self.settings.limits.gather * 2_u32.pow(HURRY + 1 - self.hurry));
            self.hurry -= 1;
        }
        wait
    }

    /// Looks after the watches until a moment, or until the kinds may have changed.
    async fn attend(&mut self, mut until: Instant) -> Result<(), AppendError> {
        let changed = Arc::clone(&self.shared.kinds_changed);
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.tasks.join_next() => self.ended(ended).await?,
                Some((watch, standing)) = self.standings.1.recv() => self.stands(watch, standing),
                () = changed.notified() => {
                    self.hurry = HURRY;
                    until = until.min(Instant::now() + self.settings.limits.gather);
                }
                () = sleep_until(until) => return Ok(()),
            }
        }
    }

    /// Takes over what the cluster has, and tells the log what of it is not followed.
    async fn learn(&mut self, discovered: Discovered) -> Result<(), AppendError> {
        self.tell_groups(&discovered.failed).await?;
        self.tell_unfollowed(&discovered).await?;
        self.known = discovered;
        self.plan = plan(&self.settings, &self.watchers, &self.known, &self.refused);
        if !self.reviewed {
            self.review().await?;
            self.reviewed = true;
        }
        self.retire_removed_kinds().await?;
        self.compare_definitions().await?;
        self.apply();
        Ok(())
    }

    /// A watch fares well or may not see its kind: another way may have to take its place.
    fn stands(&mut self, watch: WatchKey, standing: Standing) {
        if !watch.namespace.is_empty() {
            return;
        }
        let Some(running) = self.running.get(&watch) else { return };
        let place = (watch.kind, running.planned.way);
        let changed = match standing {
            Standing::Watched => self.refused.remove(&place),
            Standing::Refused => self.refused.insert(place),
        };
        if changed {
            self.plan = plan(&self.settings, &self.watchers, &self.known, &self.refused);
            self.apply();
        }
    }

    /// Starts what is new, stops what is gone, and restarts what is served differently.
    fn apply(&mut self) {
        let (now, patience) = (Instant::now(), self.settings.limits.farewell);
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
        for (watch, planned) in self.plan.clone() {
            // One that is still stopping is started when it has stopped.
            if !self.running.contains_key(&watch) && !self.stopping.contains(&watch) {
                self.start(watch, planned);
            }
        }
        self.settings.stats.set_watches(self.tasks.len());
    }

    fn start(&mut self, watch: WatchKey, planned: Planned) {
        let Some(watcher) = self.watchers.get(planned.way) else { return };
        let (settings, sink) = (Arc::clone(&self.settings), self.sink.clone());
        let stats = Arc::clone(&settings.stats);
        // Known before its first mark, so that nobody takes it for listed meanwhile.
        stats.update(&watch, |_| {});
        let coverage = Coverage::new(watch.clone(), sink.clone(), Arc::clone(&self.clock), stats);
        let coverage = coverage.telling(self.standings.0.clone());
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
        self.running.insert(watch, running);
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
                if let Some(planned) = self.plan.get(&ended.watch).cloned() {
                    self.start(ended.watch, planned);
                    return Ok(());
                }
                let now = self.clock.now();
                let Ended { watch, last_heard, .. } = ended;
                let goodbye = farewell(&self.settings, &watch, &self.known, &self.plan, last_heard, now);
                self.farewells.insert(watch, goodbye);
                self.say_farewells().await
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

    /// Reads the credentials of the ways that have none yet; false where some cannot be read.
    async fn connect_ways(&self) -> bool {
        let mut connected = true;
        for watcher in &self.watchers {
            connected &= watcher.connection.ensure_connected().await;
        }
        connected
    }

    /// Credentials may have been replaced where they were read from.
    async fn renew(&self) {
        for watcher in &self.watchers {
            if let Err(error) = watcher.connection.renew().await {
                tracing::warn!(cluster = self.settings.name, %error, "the credentials cannot be read again");
            }
        }
    }

    /// The log takes nothing for now: waits before trying again.
    async fn rest(&mut self, error: &AppendError) {
        tracing::warn!(cluster = self.settings.name, %error, "the log takes nothing");
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

/// Asks for the kinds, through each way until one answers; `known` are those of the last time. Each way is asked once
/// more where a connection broke, for one that lay idle may have been closed just then, and that is no reason to call
/// the cluster unwatched.
async fn find_kinds(
    ways: &[Watcher],
    settings: &ClusterSettings,
    known: &Discovered,
) -> Result<Discovered, Failure> {
    let mut last = Failure::Invalid("there is no way into the cluster".to_owned());
    for way in ways {
        let client = way.connection.client();
        let ask = || discover(&client, &settings.selection, &settings.limits, known);
        let found = match ask().await {
            Err(Failure::Unreachable(_)) => ask().await,
            found => found,
        };
        match found {
            Ok(discovered) => return Ok(discovered),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}
