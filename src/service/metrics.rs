//! What `/metrics` tells, in the text of OpenMetrics: numbers that are there already, read when they are asked for.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::rebuild::Rebuild;
use super::retention;
use crate::api::{Metrics, RebuildState, Rebuilding};
use crate::cluster::{ClusterCounts, ClusterStats};
use crate::log::WriterHealth;
use crate::projection::ViewStatus;

/// Where the numbers come from.
#[derive(Debug)]
pub(super) struct Sources {
    /// How the view stands.
    pub(super) status: ViewStatus,
    /// Whether the log takes changes.
    pub(super) writer: WriterHealth,
    /// How the last building of a view stands.
    pub(super) rebuild: Rebuild,
    /// What retention has done.
    pub(super) retention: retention::Numbers,
    /// The clusters with what their watches have done. Labels name clusters and never objects, so their number stays
    /// small.
    pub(super) clusters: Vec<(String, Arc<ClusterStats>)>,
}

/// The numbers, ready to be asked for.
pub(super) struct Exposition(Registry);

impl Exposition {
    pub(super) fn new(sources: Sources) -> Self {
        let mut registry = Registry::with_prefix("strandline");
        registry.register_collector(Box::new(sources));
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
        let mut tell = Teller { encoder: &mut encoder };
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        tell.gauges("build_info", "The version that runs", [(&version[..], 1)])?;
        let (head, checkpoint) = self.status.progress();
        let none: &[(&str, &str)] = &[];
        tell.gauges("log_head_offset", "Newest offset of the log", [(none, head.as_i64())])?;
        tell.gauges("view_checkpoint_offset", "Last offset in the view", [(none, checkpoint.as_i64())])?;
        let rebuild = self.rebuild.report();
        let building = i64::from(rebuild.state == RebuildState::Building);
        tell.gauges("view_building", "1 while a view is built from the log, else 0", [(none, building)])?;
        let help = "Last offset in the view that was built last";
        tell.gauges("view_built_offset", help, [(none, rebuild.checkpoint.as_i64())])?;
        let writable = i64::from(self.writer.problem().is_none());
        tell.gauges("log_writable", "1 while the log takes changes, else 0", [(none, writable)])?;
        self.retention.tell(&mut tell, self.status.pruning().rows())?;
        self.clusters(&mut tell)
    }
}

type Count = fn(&ClusterCounts) -> u64;

/// What became of something that a cluster told.
const OUTCOMES: [(&str, Count); 5] = [
    ("written", |counts| counts.written),
    ("repeated", |counts| counts.unchanged.saturating_sub(counts.noise)),
    ("noise", |counts| counts.noise),
    ("stale", |counts| counts.stale),
    ("undecodable", |counts| counts.undecodable),
];

impl Sources {
    fn clusters(&self, tell: &mut Teller<'_, '_>) -> fmt::Result {
        let counts: Vec<(&str, ClusterCounts)> =
            self.clusters.iter().map(|(name, stats)| (name.as_str(), stats.counts())).collect();
        let of =
            |value: Count| counts.iter().map(move |(name, counts)| ([("cluster", *name)], value(counts)));
        let outcomes = counts.iter().flat_map(|(name, counts)| {
            OUTCOMES.map(|(outcome, value)| ([("cluster", *name), ("outcome", outcome)], value(counts)))
        });
        let help = "What clusters told, by what became of it";
        tell.counters("cluster_observations", help, outcomes)?;
        tell.counters("cluster_lists", "Lists that were begun", of(|counts| counts.relists))?;
        tell.counters("cluster_requests", "Lists and watches asked for", of(|counts| counts.requests))?;
        let watches = of(|counts| counts.watches).map(|(labels, value)| (labels, signed(value)));
        tell.gauges("cluster_watches", "Watches that run now", watches)?;
        let heard = counts.iter().filter_map(|(name, counts)| {
            let heard = counts.last_heard?;
            Some(([("cluster", *name)], heard.as_micros() / 1_000_000))
        });
        let help = "When all that a cluster had to tell was last known to be recorded, in seconds since 1970";
        tell.gauges("cluster_last_heard_timestamp_seconds", help, heard)
    }
}

pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Writes families of numbers.
pub(super) struct Teller<'a, 'e> {
    encoder: &'a mut DescriptorEncoder<'e>,
}

impl Teller<'_, '_> {
    pub(super) fn gauges<L: AsRef<[(&'static str, V)]>, V>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, i64)>,
    ) -> fmt::Result
    where
        V: AsRef<str>,
    {
        self.family(name, help, values.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value))))
    }

    pub(super) fn counters<L: AsRef<[(&'static str, V)]>, V>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result
    where
        V: AsRef<str>,
    {
        self.family(name, help, values.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value))))
    }

    fn family<L: AsRef<[(&'static str, V)]>, V: AsRef<str>, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        metrics: impl Iterator<Item = (L, M)>,
    ) -> fmt::Result {
        let mut metrics = metrics.peekable();
        let Some((_, first)) = metrics.peek() else { return Ok(()) };
        let mut family = self.encoder.encode_descriptor(name, help, None, first.metric_type())?;
        for (labels, metric) in metrics {
            let labels: Vec<(&str, &str)> =
                labels.as_ref().iter().map(|(name, value)| (*name, value.as_ref())).collect();
            if labels.is_empty() {
                return metric.encode(family);
            }
            metric.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::model::Offset;
    use crate::ruleset::RuleSet;
    use crate::store::Watermark;
    use tokio_util::sync::CancellationToken;

    #[test]
    fn numbers_are_told_with_their_clusters() {
        let status = ViewStatus::new(Watermark::new(Offset::new(7)));
        let sources = Sources {
            rebuild: Rebuild::new(
                "nowhere".into(),
                RuleSet::default(),
                status.clone(),
                Arc::new(SystemClock),
                CancellationToken::new(),
            ),
            status,
            writer: WriterHealth::default(),
            retention: retention::Numbers::default(),
            clusters: vec![("a \"quoted\"\nname".to_owned(), Arc::default())],
        };
        let text = Exposition::new(sources).text().unwrap();
        let cluster = r#"cluster="a \"quoted\"\nname""#;
        for line in [
            "strandline_log_head_offset 7".to_owned(),
            "strandline_log_writable 1".to_owned(),
            "strandline_log_compacted_offset 0".to_owned(),
            "strandline_data_file_bytes{file=\"log.db-wal\"} 0".to_owned(),
            "strandline_retention_failures_total 0".to_owned(),
            format!("strandline_cluster_observations_total{{{cluster},outcome=\"noise\"}} 0"),
            format!("strandline_cluster_watches{{{cluster}}} 0"),
            "# TYPE strandline_cluster_lists counter".to_owned(),
            "# EOF".to_owned(),
        ] {
            assert!(text.lines().any(|told| told == line), "no {line} in\n{text}");
        }
        assert!(!text.contains("last_heard_timestamp_seconds{"), "it was never heard:\n{text}");
    }
}
