//! How the machine's clock compares with the time in use and with the clusters'.

use std::fmt;

use crate::service::metric_writer::MetricWriter;
use strandline_clock::ClockStatus;

const SECOND: i64 = 1_000_000;

pub(super) fn encode(out: &mut MetricWriter<'_, '_>, status: &ClockStatus) -> fmt::Result {
    let none: &[(&str, &str)] = &[];
    out.counters("clock_jumps", "Jumps of this machine's clock", [(none, status.jumps)])?;
    let help = "Seconds by which this machine's clock is ahead of the recorded time; negative if behind";
    out.gauges("clock_deviation_seconds", help, [(none, status.deviation_micros / SECOND)])?;
    let skews = status.skews.iter().map(|skew| ([("cluster", &*skew.cluster)], skew.ahead_micros / SECOND));
    let help = "Seconds by which a cluster's clock is ahead of the recorded time; negative if behind";
    out.gauges("cluster_clock_skew_seconds", help, skews)
}
