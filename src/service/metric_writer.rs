//! How single numbers are written.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;

use strandline_model::Timestamp;

/// Whole seconds from then to now; none below zero, whatever the clock does.
pub(super) fn age_seconds(then: Timestamp, now: Timestamp) -> i64 {
    (now.as_micros().saturating_sub(then.as_micros()) / 1_000_000).max(0)
}

pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Writes families of numbers.
pub(super) struct MetricWriter<'a, 'e> {
    pub(super) encoder: &'a mut DescriptorEncoder<'e>,
}

impl MetricWriter<'_, '_> {
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

    /// Gauges of seconds that are not whole.
    pub(super) fn durations<L: AsRef<[(&'static str, V)]>, V>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result
    where
        V: AsRef<str>,
    {
        self.family(name, help, values.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value))))
    }

    /// A counter of seconds that are not whole.
    pub(super) fn seconds_total<L: AsRef<[(&'static str, V)]>, V>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result
    where
        V: AsRef<str>,
    {
        self.family(name, help, values.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value))))
    }

    pub(super) fn histograms<L: AsRef<[(&'static str, V)]>, V>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, Histogram)>,
    ) -> fmt::Result
    where
        V: AsRef<str>,
    {
        self.family(name, help, values)
    }

    fn family<L: AsRef<[(&'static str, V)]>, V: AsRef<str>, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        metrics: impl IntoIterator<Item = (L, M)>,
    ) -> fmt::Result {
        let mut metrics = metrics.into_iter().peekable();
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
