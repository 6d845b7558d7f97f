//! What `/metrics` shows, in the text of OpenMetrics: numbers that are there already, read when they are asked for.

mod access;
mod clock;
mod coverage;
mod process;
mod requests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::clusters::Clusters;
use super::disk::Disk;
use super::environment_health::EnvironmentHealth;
use super::metric_writer::{MetricWriter, age_seconds, signed};
use super::rebuild::Rebuild;
use super::reload::ReloadStatus;
use super::retention;
use super::traces::SpanCounts;
use crate::app::{Metrics, Rebuilding};
use crate::build_info::BuildInfo;
use crate::http::tls::Tls;
use crate::http::{Authenticator, Load, RequestStats};
use strandline_clock::{Clock, SteadyClock};
use strandline_log::{WeakAppender, WriterHealth};
use strandline_protocol::RebuildState;
use strandline_query::Queries;
use strandline_view::ViewStatus;
use strandline_watch::ClusterCounts;

/// Where the numbers come from.
pub(super) struct Sources {
    /// The state of the view.
    pub(super) status: ViewStatus,
    /// Whether the log takes changes.
    pub(super) writer: WriterHealth,
    /// The state of the last build of the view.
    pub(super) rebuild: Rebuild,
    /// What retention has done.
    pub(super) retention: retention::Numbers,
    /// The clusters with what their watches have done. Labels name clusters and never objects, so their number stays
    /// small.
    pub(super) clusters: Clusters,
    /// The way into the log; it must not keep the writer running.
    pub(super) queue: WeakAppender,
    /// The disk of the data directory.
    pub(super) disk: Disk,
    /// What was answered.
    pub(super) requests: RequestStats,
    /// What is under way.
    pub(super) load: Load,
    /// Who reads.
    pub(super) queries: Queries,
    /// How environments are.
    pub(super) environments: EnvironmentHealth,
    /// By which ages are computed.
    pub(super) clock: Arc<dyn Clock>,
    /// The same, where it is compared with the machine's.
    pub(super) steady: Option<Arc<SteadyClock>>,
    /// Who may ask.
    pub(super) access: Arc<Authenticator>,
    /// The certificate, where there is TLS.
    pub(super) tls: Option<Tls>,
    /// How the configuration was read again.
    pub(super) reloads: ReloadStatus,
    /// None where no traces are sent.
    pub(super) spans: Option<SpanCounts>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("clusters", &self.clusters).finish_non_exhaustive()
    }
}

/// The numbers, ready to be asked for.
pub(super) struct Exposition(Registry);

impl Exposition {
    pub(super) fn new(sources: Sources) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(process::Process { started: sources.clock.now() }));
        registry.sub_registry_with_prefix("strandline").register_collector(Box::new(sources));
        Exposition(registry)
    }
}

impl Metrics for Exposition {
    fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0)?;
        Ok(text)
    }
}

impl Collector for Sources {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = MetricWriter { encoder: &mut encoder };
        let build = BuildInfo::current();
        let labels = [
            ("version", build.version),
            ("commit", build.commit),
            ("build_date", build.build_date.as_str()),
            ("target", build.target),
        ];
        let help = "Version, commit and build date of the running server, as labels; always 1";
        out.gauges("build_info", help, [(labels, 1)])?;
        let (head, checkpoint) = self.status.progress();
        let none: &[(&str, &str)] = &[];
        out.gauges("log_head_offset", "Newest offset of the log", [(none, head.as_i64())])?;
        out.gauges(
            "view_checkpoint_offset",
            "Last offset that the view includes",
            [(none, checkpoint.as_i64())],
        )?;
        let rebuild = self.rebuild.report();
        let building = i64::from(rebuild.state == RebuildState::Building);
        out.gauges(
            "view_building",
            "1 while a view is being built from the log, else 0",
            [(none, building)],
        )?;
        let help = "Last offset that the most recently built view includes";
        out.gauges("view_built_offset", help, [(none, rebuild.checkpoint.as_i64())])?;
        let writable = i64::from(self.writer.problem().is_none());
        out.gauges("log_writable", "1 while the log is writable, else 0", [(none, writable)])?;
        self.log(&mut out)?;
        self.retention.encode(&mut out, self.status.pruning().rows())?;
        self.disk.encode(&mut out)?;
        self.clusters(&mut out)?;
        if let Some(steady) = &self.steady {
            clock::encode(&mut out, &steady.status())?;
        }
        coverage::encode(&mut out, &self.clusters.all(), self.clock.now())?;
        self.reloads.encode(&mut out)?;
        if let Some(spans) = &self.spans {
            spans.encode(&mut out)?;
        }
        access::encode(&mut out, &self.access)?;
        access::encode_tls(&mut out, self.tls.as_ref())?;
        self.environments.encode(&mut out)?;
        requests::encode(&mut out, &self.requests)?;
        requests::queries(&mut out, &self.queries)?;
        requests::under_way(&mut out, self.load.counts())
    }
}

type Count = fn(&ClusterCounts) -> u64;

/// What became of something that a cluster reported.
const OUTCOMES: [(&str, Count); 5] = [
    ("written", |counts| counts.written),
    ("repeated", |counts| counts.unchanged.saturating_sub(counts.noise)),
    ("noise", |counts| counts.noise),
    ("stale", |counts| counts.stale),
    ("undecodable", |counts| counts.undecodable),
];

impl Sources {
    fn log(&self, out: &mut MetricWriter<'_, '_>) -> fmt::Result {
        let none: &[(&str, &str)] = &[];
        let now = self.clock.now();
        let problem = self.writer.problem();
        let since = problem.map(|problem| ([("reason", problem.reason)], age_seconds(problem.since, now)));
        let help = "Seconds since the log became unwritable, by reason; absent while it is writable";
        out.gauges("log_not_writable_seconds", help, since)?;
        let load = self.queue.queue_load();
        let (waiting, capacity) = load.map(|load| (load.waiting, load.capacity)).unzip();
        let help = "Requests in the queue of the log writer";
        out.gauges("log_queue_requests", help, waiting.map(|waiting| (none, signed(waiting as u64))))?;
        let help = "Capacity of the queue of the log writer; further requests wait outside it";
        out.gauges("log_queue_capacity", help, capacity.map(|capacity| (none, signed(capacity as u64))))?;
        let help = "Duration of the log's commits that wrote something; each waits for one fsync of the WAL";
        out.histograms("log_commit_duration_seconds", help, [(none, self.writer.commits().histogram())])
    }

    fn clusters(&self, out: &mut MetricWriter<'_, '_>) -> fmt::Result {
        let clusters = self.clusters.all();
        let counts: Vec<(&str, ClusterCounts)> =
            clusters.iter().map(|cluster| (cluster.name.as_str(), cluster.stats.counts())).collect();
        let of =
            |value: Count| counts.iter().map(move |(name, counts)| ([("cluster", *name)], value(counts)));
        let outcomes = counts.iter().flat_map(|(name, counts)| {
            OUTCOMES.map(|(outcome, value)| ([("cluster", *name), ("outcome", outcome)], value(counts)))
        });
        let help = "Observations received from clusters, by outcome";
        out.counters("cluster_observations", help, outcomes)?;
        out.counters("cluster_lists", "List requests started", of(|counts| counts.relists))?;
        let help = "Differences from clusters that a consistency list found and no event reported";
        out.counters("cluster_missed", help, of(|counts| counts.missed))?;
        out.counters(
            "cluster_requests",
            "List and watch requests sent to clusters",
            of(|counts| counts.requests),
        )?;
        let watches = of(|counts| counts.watches).map(|(labels, value)| (labels, signed(value)));
        out.gauges("cluster_watches", "Watches currently running", watches)?;
        let heard = counts.iter().filter_map(|(name, counts)| {
            let heard = counts.last_confirmed?;
            Some(([("cluster", *name)], heard.as_micros() / 1_000_000))
        });
        let help = "Time at which everything received from a cluster was last known to be recorded, in seconds since 1970";
        out.gauges("cluster_last_heard_timestamp_seconds", help, heard)
    }
}
