//! What is not recorded now, and up to when the rest is known to be.
//!
//! Labels name kinds and reasons: there are some hundred kinds in a cluster, and a dozen reasons. What is in a gap in
//! several namespaces counts several times.

use std::collections::BTreeMap;
use std::fmt;

use crate::format::kind_name;
use crate::service::clusters::RecordedCluster;
use crate::service::metric_writer::{MetricWriter, age_seconds};
use strandline_model::{CoverageState, Timestamp, WatchKey};
use strandline_watch::WatchStatus;

pub(super) fn encode(
    out: &mut MetricWriter<'_, '_>,
    clusters: &[RecordedCluster],
    now: Timestamp,
) -> fmt::Result {
    let statuses: Vec<_> =
        clusters.iter().map(|one| (one.name.as_str(), one.stats.statuses(), &one.stats)).collect();
    let mut gaps: BTreeMap<(&str, String, &str), i64> = BTreeMap::new();
    for (cluster, statuses, _) in &statuses {
        for (watch, status) in statuses.iter().filter(|(_, status)| is_gap(status)) {
            *gaps.entry((cluster, kind_name(&watch.kind), status.reason)).or_default() += 1;
        }
    }
    let gaps = gaps.into_iter().map(|((cluster, kind, reason), count)| {
        ([("cluster", cluster.to_owned()), ("kind", kind), ("reason", reason.to_owned())], count)
    });
    let help =
        "Watches currently in a gap, by kind (* is the whole cluster, *.group one API group) and reason";
    out.gauges("coverage_gaps", help, gaps)?;
    let oldest = statuses.iter().map(|(cluster, statuses, _)| {
        let since = statuses.iter().filter_map(|(_, status)| status.gap_since).min();
        ([("cluster", *cluster)], since.map_or(0, |since| age_seconds(since, now)))
    });
    let help = "Age of a cluster's oldest open gap; 0 if none is open";
    out.gauges("coverage_oldest_gap_seconds", help, oldest)?;
    let bookmarks = statuses.iter().filter_map(|(cluster, statuses, _)| {
        let oldest = statuses.iter().filter(is_watched).filter_map(|(_, s)| s.bookmark_at).min()?;
        Some(([("cluster", *cluster)], age_seconds(oldest, now)))
    });
    let help = "Age of the last bookmark, of the kind whose last bookmark is the oldest";
    out.gauges("cluster_bookmark_age_seconds", help, bookmarks)?;
    let confirmed = statuses.iter().filter_map(|(cluster, _, stats)| {
        Some(([("cluster", *cluster)], age_seconds(stats.confirmed_until()?, now)))
    });
    let help = "Age of the time up to which everything is recorded, of the kinds that are in no gap";
    out.gauges("cluster_confirmed_age_seconds", help, confirmed)
}

fn is_gap(status: &WatchStatus) -> bool {
    status.state == Some(CoverageState::Gap)
}

fn is_watched((watch, status): &&(WatchKey, WatchStatus)) -> bool {
    !watch.kind.kind.is_empty() && status.state == Some(CoverageState::Watched)
}
