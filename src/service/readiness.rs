//! What `/readyz` tells: whether changes are recorded and questions can be answered.

mod lists;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use super::rebuild::Rebuild;
use crate::api::{Access, Check, ClusterLists, Readiness, RebuildState, Rebuilding};
use crate::clock::SteadyClock;
use crate::cluster::ClusterStats;
use crate::log::WriterHealth;
use crate::projection::ViewStatus;

/// A view further behind than this is not ready to be asked.
const LAG_MAX: u64 = 100_000;

/// The checks of a service.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    status: ViewStatus,
    writer: WriterHealth,
    rebuild: Rebuild,
    /// Set while a history is still being made up.
    preparing: Arc<AtomicBool>,
    stopping: CancellationToken,
    clusters: Arc<[(String, Arc<ClusterStats>)]>,
    clock: Option<Arc<SteadyClock>>,
    access: Option<Arc<Access>>,
}

impl Checks {
    pub(super) fn new(
        status: ViewStatus,
        writer: WriterHealth,
        rebuild: &Rebuild,
        preparing: bool,
        stopping: CancellationToken,
    ) -> Self {
        let (rebuild, preparing) = (rebuild.clone(), Arc::new(AtomicBool::new(preparing)));
        let clusters = Arc::default();
        Checks { status, writer, rebuild, preparing, stopping, clusters, clock: None, access: None }
    }

    /// With what the watches of these clusters do.
    pub(super) fn with_clusters(self, clusters: &[(String, Arc<ClusterStats>)]) -> Self {
        Checks { clusters: clusters.into(), ..self }
    }

    /// With a check of the machine's clock.
    pub(super) fn with_clock(self, clock: Arc<SteadyClock>) -> Self {
        Checks { clock: Some(clock), ..self }
    }

    /// With whether who may ask could be read again.
    pub(super) fn with_access(self, access: Arc<Access>) -> Self {
        Checks { access: Some(access), ..self }
    }

    /// Questions are answered all the same, so it counts as ready.
    fn access(&self) -> Option<Check> {
        let problem = self.access.as_ref()?.problem();
        Some(Check { name: "access".into(), ok: true, detail: problem.unwrap_or_default().to_owned() })
    }

    /// Recorded time goes on through a jump; what lasts is for somebody to set right.
    fn clock(&self) -> Option<Check> {
        let status = self.clock.as_ref()?.status();
        let problem = status.problem();
        let (ok, detail) = (problem.is_none(), problem.unwrap_or_else(|| status.detail()));
        Some(Check { name: "clock".into(), ok, detail })
    }

    /// Says whether the service is still being prepared.
    pub(super) fn set_preparing(&self, preparing: bool) {
        self.preparing.store(preparing, Ordering::Release);
    }

    fn log(&self) -> Check {
        let problem = self.writer.problem().map(|problem| problem.message);
        Check { name: "log".into(), ok: problem.is_none(), detail: problem.unwrap_or_default() }
    }

    fn view(&self) -> Check {
        let (head, checkpoint) = self.status.progress();
        let (usable, lag) = (self.status.is_usable(), self.status.lag());
        let beside = self.rebuild.report();
        let building = usable && beside.state == RebuildState::Building;
        let detail = match (usable, lag) {
            (false, _) => format!("being built: {checkpoint} of {head} changes"),
            (true, 0) if building => {
                format!("being built anew beside: {} of {head} changes", beside.checkpoint)
            }
            (true, 0) => String::new(),
            (true, lag) => format!("{lag} changes behind"),
        };
        Check { name: "view".into(), ok: usable && lag <= LAG_MAX, detail }
    }
}

impl Readiness for Checks {
    fn checks(&self) -> Vec<Check> {
        let preparing = self.preparing.load(Ordering::Acquire);
        let prepared = Check {
            name: "prepared".into(),
            ok: !preparing,
            detail: if preparing { "the simulated history is being played".into() } else { String::new() },
        };
        let stopping = self.stopping.is_cancelled();
        let detail = if stopping { "it was asked to end".into() } else { String::new() };
        let staying = Check { name: "staying".into(), ok: !stopping, detail };
        let always = [self.log(), self.view(), prepared, staying];
        always.into_iter().chain(self.clock()).chain(self.access()).collect()
    }

    fn clusters(&self) -> Vec<ClusterLists> {
        self.clusters.iter().map(|(name, stats)| lists::of_cluster(name, &stats.statuses())).collect()
    }
}
