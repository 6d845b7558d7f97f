//! What is known of a cluster and of its watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::missing::Missing;
use super::plan::{Plan, Planned, Refused, Retirement};
use super::report::Report;
use crate::backoff::Backoff;
use crate::coverage::Coverage;
use crate::discovery::{Discovered, Unfollowed};
use crate::list_watch::{Ended, Shared};
use crate::permissions::PermissionChanges;
use crate::settings::{ClusterSettings, Watcher};
use crate::sink::Sink;
use strandline_clock::Clock;
use strandline_model::{Kind, Timestamp, WatchKey};

/// A watch that runs, or has ended for good.
pub(super) struct Running {
    pub(super) planned: Planned,
    pub(super) cancel: CancellationToken,
    pub(super) task: AbortHandle,
    /// The definition of its kind under which it began or which the log keeps with it; none while it is not known.
    pub(super) definition: Option<String>,
    /// It ended of itself, as another run took over.
    pub(super) ended: bool,
    /// Its kind is gone; until then it continues, for the last deletions to arrive.
    pub(super) until: Option<Instant>,
}

pub(super) struct Supervisor<S> {
    pub(super) settings: Arc<ClusterSettings>,
    pub(super) watchers: Vec<Watcher>,
    pub(super) sink: S,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cancel: CancellationToken,
    pub(super) shared: Shared,
    pub(super) discovery: Coverage<S>,
    /// Groups that discovery fails for.
    pub(super) failing: BTreeMap<String, Coverage<S>>,
    pub(super) backoff: Backoff,
    pub(super) known: Discovered,
    /// When the kinds were found the time before the last, and the last time.
    pub(super) discovered: (Option<Timestamp>, Option<Timestamp>),
    /// Whether the log was asked up to when earlier runs recorded the cluster.
    pub(super) recalled: bool,
    /// Whether what earlier runs left in the log has been looked through.
    pub(super) reviewed: bool,
    pub(super) plan: Plan,
    pub(super) refused: Refused,
    pub(super) permissions: PermissionChanges,
    pub(super) report: Report,
    /// Waits before watches that broke down are started again.
    pub(super) breakdowns: Backoff,
    pub(super) tasks: JoinSet<Ended>,
    pub(super) running: BTreeMap<WatchKey, Running>,
    /// Watches that this run has marked: from then on they say by themselves since when they are a gap.
    pub(super) begun: BTreeSet<WatchKey>,
    /// Up to when earlier runs recorded everything of watches that this run has not marked yet.
    pub(super) earlier: BTreeMap<WatchKey, Timestamp>,
    /// Watches that were cancelled, until they have ended.
    pub(super) stopping: BTreeSet<WatchKey>,
    /// What is still to be recorded of watches that ended.
    pub(super) retirements: BTreeMap<WatchKey, Retirement>,
    /// Watches whose kind the cluster does not show.
    pub(super) missing: BTreeMap<WatchKey, Missing>,
    /// Kinds that are not followed, as far as that is recorded.
    pub(super) recorded_unfollowed: BTreeMap<Kind, Unfollowed>,
    /// How many discoveries follow soon, as a server may not yet serve a kind that was just defined.
    pub(super) rediscover_attempts: u32,
}

/// How many discoveries follow a change of a CustomResourceDefinition or an APIService, each after twice the wait.
pub(super) const REDISCOVER_ATTEMPTS: u32 = 4;

impl<S: Sink> Supervisor<S> {
    pub(super) fn new(
        settings: ClusterSettings,
        watchers: Vec<Watcher>,
        sink: S,
        clock: Arc<dyn Clock>,
        cancel: CancellationToken,
    ) -> Self {
        let all = WatchKey::discovery(&settings.name, "");
        let (stats, limits, spread) = (Arc::clone(&settings.stats), &settings.limits, settings.spread(&all));
        let report = Report::new(&settings.name, limits);
        let breakdowns = Backoff::new(limits.backoff_least, limits.backoff_most, settings.spread(&all));
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
            discovered: (None, None),
            recalled: false,
            reviewed: false,
            plan: Plan::new(),
            refused: Refused::new(),
            permissions: PermissionChanges::default(),
            report,
            breakdowns,
            tasks: JoinSet::new(),
            running: BTreeMap::new(),
            begun: BTreeSet::new(),
            earlier: BTreeMap::new(),
            stopping: BTreeSet::new(),
            retirements: BTreeMap::new(),
            missing: BTreeMap::new(),
            recorded_unfollowed: BTreeMap::new(),
            rediscover_attempts: 0,
        }
    }
}
