//! What `/readyz` reports: whether changes are recorded and questions can be answered.

mod lists;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::clusters::{Clusters, RecordedCluster};
use super::rebuild::Rebuild;
use crate::app::{ClusterLists, Readiness, Rebuilding};
use crate::http::Authenticator;
use strandline_clock::SteadyClock;
use strandline_log::WriterHealth;
use strandline_protocol::{Check, RebuildState};
use strandline_view::ViewStatus;

/// A view further behind than this is not ready to be asked.
const LAG_MAX: u64 = 100_000;

/// A writer that is at one thing for longer than this does not get on.
const STUCK: Duration = Duration::from_secs(10);

/// The checks of a service.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    status: ViewStatus,
    writer: WriterHealth,
    rebuild: Rebuild,
    /// Set while a history is still being made up.
    preparing: Arc<AtomicBool>,
    stopping: CancellationToken,
    clusters: Clusters,
    clock: Option<Arc<SteadyClock>>,
    access: Option<Arc<Authenticator>>,
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
        let clusters = Clusters::default();
        Checks { status, writer, rebuild, preparing, stopping, clusters, clock: None, access: None }
    }

    /// With what the watches of these clusters do.
    pub(super) fn with_clusters(self, clusters: &Clusters) -> Self {
        Checks { clusters: clusters.clone(), ..self }
    }

    /// With a check of the machine's clock.
    pub(super) fn with_clock(self, clock: Arc<SteadyClock>) -> Self {
        Checks { clock: Some(clock), ..self }
    }

    /// With whether who may ask could be read again.
    pub(super) fn with_access(self, access: Arc<Authenticator>) -> Self {
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
        let stuck = self.writer.turning_for().filter(|turning| *turning > STUCK);
        let stuck = stuck.map(|turning| {
            let seconds = turning.as_secs();
            format!("writer_stuck: the writer of the log has not finished what it is at for {seconds} s")
        });
        let problem = stuck.or_else(|| self.writer.problem().map(|problem| problem.message));
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
                format!("rebuilding beside the serving view: {} of {head} changes", beside.checkpoint)
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
        let of = |cluster: &RecordedCluster| lists::of_cluster(&cluster.name, &cluster.stats.statuses());
        self.clusters.all().iter().map(of).collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use strandline_clock::SystemClock;
    use strandline_log::{LogWriter, Queue};
    use strandline_model::Source;
    use strandline_sqlite::Watermark;
    use strandline_view::ruleset::RuleSet;

    fn checks(writer: WriterHealth) -> Checks {
        let (status, stopping) = (ViewStatus::new(Watermark::default()), CancellationToken::new());
        let clock = Arc::new(SystemClock);
        let rebuild =
            Rebuild::new("nowhere".into(), RuleSet::default(), status.clone(), clock, stopping.clone());
        Checks::new(status, writer, &rebuild, false, stopping)
    }

    #[tokio::test(start_paused = true)]
    async fn a_writer_that_is_held_for_ten_seconds_is_not_ready() {
        let dir = tempfile::tempdir().unwrap();
        let (began, beginning) = mpsc::channel();
        let (go_on, held) = mpsc::channel::<()>();
        let (writer, appender) = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap();
        let checks = checks(writer.health());
        let writer = writer.with_room(move || {
            began.send(()).unwrap();
            held.recv().unwrap();
            true
        });
        let thread = std::thread::spawn(move || writer.run());
        let asking = tokio::spawn(async move { appender.declare(Source::Config, Vec::new()).await });
        while beginning.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        assert!(checks.log().ok, "it has only begun");
        tokio::time::advance(STUCK + Duration::from_secs(1)).await;
        let told = checks.log();
        assert!(!told.ok && told.detail.starts_with("writer_stuck: "), "{told:?}");
        go_on.send(()).unwrap();
        asking.await.unwrap().unwrap();
        thread.join().unwrap().unwrap();
        assert!(checks.log().ok, "it is over");
    }

    #[tokio::test(start_paused = true)]
    async fn a_writer_without_work_is_ready_however_long_it_waits() {
        let (queue, _appender) = Queue::new(Arc::new(SystemClock));
        let checks = checks(queue.health());
        tokio::time::advance(100 * STUCK).await;
        assert!(checks.log().ok);
    }
}
