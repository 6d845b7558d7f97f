//! Watchers, the log's writer and the projector, put together as the service does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use strandline::config;
use strandline_clock::{Clock, SystemClock};
use strandline_log::{LogError, LogWriter};
use strandline_model::{CatalogFact, Source};
use strandline_redact::Rules;
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{NextDue, Projector, ProjectorError, Pruning};
use strandline_watch::{
    ClusterAccess, ClusterSettings, ClusterStats, ConnectSettings, Watcher, connect, supervise,
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::Result;

/// Namespaces of the cluster that are environments.
const ENVIRONMENTS: usize = 500;
/// How often to look, which costs next to nothing.
const TICK: Duration = Duration::from_millis(2);
/// A bound on hanging.
const PATIENCE: Duration = Duration::from_secs(1800);

/// What follows the cluster.
pub(crate) struct Follower {
    runtime: Runtime,
    stats: Arc<ClusterStats>,
    head: Watermark,
    checkpoint: Watermark,
    watching: CancellationToken,
    stopping: Arc<AtomicBool>,
    supervisor: tokio::task::JoinHandle<()>,
    writer: JoinHandle<Result<(), LogError>>,
    projector: JoinHandle<Result<(), ProjectorError>>,
}

/// As the service does it.
const COMMITS_APART: Duration = Duration::from_millis(5);

impl Follower {
    /// Begins to follow a cluster.
    pub(crate) fn start(directory: &Path, url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let clock = Arc::new(SystemClock);
        let (writer, appender) = LogWriter::open(directory, clock.clone())?;
        let writer = writer.with_commits_apart(COMMITS_APART);
        let (head, checkpoint) = (writer.head(), Watermark::default());
        let writer = std::thread::spawn(move || writer.run());
        let stopping = Arc::new(AtomicBool::new(false));
        let projector = project(directory.to_owned(), &head, &checkpoint, &stopping);
        let rules = Arc::new(Rules::new([7; 32]));
        let (settings, watching) = (ClusterSettings::new("bench", rules), CancellationToken::new());
        let stats = Arc::clone(&settings.stats);
        runtime.block_on(appender.declare(Source::Config, catalog(url)?))?;
        let connection =
            runtime.block_on(connect(&ConnectSettings::new(ClusterAccess::Url(url.to_owned()))))?;
        let watcher = Watcher { connection, namespaces: Vec::new() };
        let supervisor = runtime.spawn(supervise(settings, vec![watcher], appender, clock, watching.clone()));
        Ok(Follower { runtime, stats, head, checkpoint, watching, stopping, supervisor, writer, projector })
    }

    /// Changes that the log has taken from the cluster.
    pub(crate) fn taken(&self) -> u64 {
        self.stats.counts().written
    }

    pub(crate) fn until_durable(&self, changes: u64) -> Result<()> {
        self.until("durable", || self.taken() >= changes)
    }

    /// Waits until the view holds all that the log holds now.
    pub(crate) fn until_queryable(&self) -> Result<()> {
        let head = self.head.get();
        self.until("queryable", || self.checkpoint.get() >= head)
    }

    /// Compares all that is recorded with what the cluster has, which differs in nothing.
    pub(crate) fn until_compared(&self) -> Result<()> {
        let asked = SystemClock.now();
        self.stats.request_checks(None);
        self.until("compared", || {
            let statuses = self.stats.statuses();
            let mut watched = statuses.iter().filter(|(_, status)| status.verified_at.is_some());
            watched.all(|(_, status)| status.verified_at >= Some(asked))
        })
    }

    fn until(&self, what: &str, reached: impl Fn() -> bool) -> Result<()> {
        let started = Instant::now();
        while !reached() {
            let ended =
                self.supervisor.is_finished() || self.writer.is_finished() || self.projector.is_finished();
            if ended || started.elapsed() > PATIENCE {
                return Err(format!("not {what} at {:?}, a part ended: {ended}", self.stats.counts()).into());
            }
            sleep(TICK);
        }
        Ok(())
    }

    /// Ends all of it and tells what went wrong.
    pub(crate) fn stop(self) -> Result<()> {
        self.watching.cancel();
        self.runtime.block_on(self.supervisor)?;
        self.stopping.store(true, Ordering::Relaxed);
        self.writer.join().map_err(|_| "the writer panicked")??;
        Ok(self.projector.join().map_err(|_| "the projector panicked")??)
    }
}

fn project(
    directory: PathBuf,
    head: &Watermark,
    checkpoint: &Watermark,
    stopping: &Arc<AtomicBool>,
) -> JoinHandle<Result<(), ProjectorError>> {
    let (head, checkpoint, stopping) = (head.clone(), checkpoint.clone(), Arc::clone(stopping));
    std::thread::spawn(move || {
        Projector::open(&directory, RuleSet::default())?.run(
            &head,
            &checkpoint,
            (&Pruning::default(), &NextDue::default()),
            || stopping.load(Ordering::Relaxed),
        )
    })
}

/// Every namespace is an environment, so that the view has to settle what belongs where.
fn catalog(url: &str) -> Result<Vec<CatalogFact>> {
    let mut text = format!("clusters: [{{name: bench, url: \"{url}\"}}]\nenvironments:\n");
    for n in 0..ENVIRONMENTS {
        text.push_str(&format!(
            "- {{project: shop/p{n}, name: production, cluster: bench, namespace: shop-{n}}}\n"
        ));
    }
    let config = config::parse(&text, Path::new("bench.yaml"))?;
    Ok(config.catalog())
}
