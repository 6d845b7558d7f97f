//! What retention has done, for monitoring.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::sizes::Sizes;
use crate::service::metric_writer::{MetricWriter, signed};
use strandline_log::{Compacted, Swept, Thinned};
use strandline_model::Timestamp;

/// What retention has done; clones share it.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct Numbers {
    shared: Arc<Mutex<Counts>>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    last_run: Option<(Timestamp, Duration)>,
    running: bool,
    every: Duration,
    compacted: Compacted,
    changes: u64,
    thinned: u64,
    retired: u64,
    bytes: u64,
    failures: u64,
    over_limit: bool,
    sizes: Sizes,
}

impl Numbers {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Plain numbers, each of which is whole at any time.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begun(&self, every: Duration) {
        let mut counts = self.lock();
        (counts.running, counts.every) = (true, every);
    }

    pub(super) fn ended(&self) {
        self.lock().running = false;
    }

    pub(super) fn ran(&self, at: Timestamp, took: Duration) {
        self.lock().last_run = Some((at, took));
    }

    pub(super) fn failed(&self) {
        self.lock().failures += 1;
    }

    pub(super) fn compacted(&self, compacted: Compacted) {
        self.lock().compacted = compacted;
    }

    pub(super) fn swept(&self, swept: Swept) {
        let mut counts = self.lock();
        counts.changes += swept.changes;
        counts.bytes += swept.bytes;
    }

    pub(super) fn thinned(&self, thinned: Thinned) {
        let mut counts = self.lock();
        counts.thinned += thinned.changes;
        counts.bytes += thinned.bytes;
    }

    pub(super) fn retired(&self, deployments: u64) {
        self.lock().retired += deployments;
    }

    /// Whether the data directory holds more than it may, and nothing can be pruned; true when that is new.
    pub(super) fn over_limit(&self, over: bool) -> bool {
        let before = std::mem::replace(&mut self.lock().over_limit, over);
        over && !before
    }

    pub(in crate::service) fn measured(&self, sizes: &Sizes) {
        self.lock().sizes = sizes.clone();
    }

    /// Reports them; `view_rows` are those that the view has pruned.
    pub(in crate::service) fn encode(&self, out: &mut MetricWriter<'_, '_>, view_rows: u64) -> fmt::Result {
        let counts = self.lock().clone();
        let none: &[(&str, &str)] = &[];
        let compacted = counts.compacted;
        let help = "Oldest available offset; zero before anything was pruned";
        out.gauges("log_compacted_offset", help, [(none, compacted.offset.as_i64())])?;
        let seconds = |time: Timestamp| time.as_micros() / 1_000_000;
        let help =
            "Time at which the change at the oldest available offset was observed, in seconds since 1970";
        out.gauges(
            "log_compacted_timestamp_seconds",
            help,
            compacted.observed_at.map(|at| (none, seconds(at))),
        )?;
        let files = counts.sizes.files.map(|(file, bytes)| ([("file", file)], signed(bytes)));
        out.gauges("data_file_bytes", "Size of the files of the data directory when last measured", files)?;
        let help = "Size of the whole data directory when last measured";
        out.gauges("data_bytes", help, [(none, signed(counts.sizes.total))])?;
        let (at, took) = counts.last_run.unzip();
        let help = "End of the last successful retention run, in seconds since 1970";
        out.gauges("retention_last_run_timestamp_seconds", help, at.map(|at| (none, seconds(at))))?;
        let help = "1 while a retention run is in progress, else 0";
        out.gauges("retention_running", help, [(none, i64::from(counts.running))])?;
        let every = counts.every.as_secs();
        let every = (every > 0).then_some((none, signed(every)));
        out.gauges("retention_interval_seconds", "Configured time between two retention runs", every)?;
        let took = took.map(|took| (none, took.as_secs_f64()));
        out.durations(
            "retention_last_run_duration_seconds",
            "Duration of the last successful retention run",
            took,
        )?;
        let help = "1 while the data directory exceeds its size limit and all records are within the minimum retention period";
        out.gauges("retention_over_limit", help, [(none, i64::from(counts.over_limit))])?;
        out.counters("retention_changes", "Changes pruned from the log", [(none, counts.changes)])?;
        let help = "Changes of kinds with a shorter retention, pruned from the log except for their rows";
        out.counters("retention_thinned_changes", help, [(none, counts.thinned)])?;
        let help = "Finished deployments withdrawn after their retention period";
        out.counters("retention_deployments", help, [(none, counts.retired)])?;
        out.counters(
            "retention_bytes",
            "Stored bytes of the bodies of pruned changes",
            [(none, counts.bytes)],
        )?;
        out.counters("retention_view_rows", "Rows pruned from the view", [(none, view_rows)])?;
        out.counters("retention_failures", "Failed retention runs", [(none, counts.failures)])
    }
}
