//! What is known of a cluster and of its watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::missing::Missing;
use super::plan::{Farewell, Plan, Planned, Refused};
use super::report::Report;
use crate::backoff::Backoff;
use crate::coverage::Coverage;
use crate::discovery::{Discovered, Unfollowed};
use crate::list_watch::{Ended, Shared};
use crate::settings::{ClusterSettings, Watcher};
use crate::sink::Sink;
use crate::standings::Standings;
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
    /// Its kind is gone; until then it goes on, for the last deletions to arrive.
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
    /// Groups that the cluster cannot tell about.
    pub(super) failing: BTreeMap<String, Coverage<S>>,
    pub(super) backoff: Backoff,
    pub(super) known: Discovered,
    /// When the kinds were found the time before the last, and the last time.
    pub(super) discovered: (Option<Timestamp>, Option<Timestamp>),
    /// Whether the log was asked when earlier runs last heard from the cluster.
    pub(super) recalled: bool,
    /// Whether what earlier runs left in the log has been looked through.
    pub(super) reviewed: bool,
    pub(super) plan: Plan,
    pub(super) refused: Refused,
    pub(super) standings: Standings,
    pub(super) report: Report,
    /// Waits before watches that broke down are started again.
    pub(super) breakdowns: Backoff,
    pub(super) tasks: JoinSet<Ended>,
    pub(super) running: BTreeMap<WatchKey, Running>,
    /// Watches that were cancelled, until they have ended.
    pub(super) stopping: BTreeSet<WatchKey>,
    /// What the log is still to be told of watches that ended.
    pub(super) farewells: BTreeMap<WatchKey, Farewell>,
    /// Watches whose kind the cluster does not show.
    pub(super) missing: BTreeMap<WatchKey, Missing>,
    /// Kinds that are not followed, as far as the log was told.
    pub(super) told: BTreeMap<Kind, Unfollowed>,
    /// Soon after a change of what tells the kinds the cluster is asked again and again, as it may not know yet.
    pub(super) hurry: u32,
}

/// How often the cluster is asked after a change of what tells the kinds, each time after a wait twice as long.
pub(super) const HURRY: u32 = 4;

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
            standings: Standings::default(),
            report,
            breakdowns,
            tasks: JoinSet::new(),
            running: BTreeMap::new(),
            stopping: BTreeSet::new(),
            farewells: BTreeMap::new(),
            missing: BTreeMap::new(),
            told: BTreeMap::new(),
            hurry: 0,
        }
    }
}
