//! What retention has done, for monitoring.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::sizes::Sizes;
use crate::service::metrics::{Teller, signed};
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

    /// Whether the data directory holds more than it may, and nothing can be let go; true when that is new.
    pub(super) fn over_limit(&self, over: bool) -> bool {
        let before = std::mem::replace(&mut self.lock().over_limit, over);
        over && !before
    }

    pub(in crate::service) fn measured(&self, sizes: &Sizes) {
        self.lock().sizes = sizes.clone();
    }

    /// Tells them; `view_rows` are those that the view has let go.
    pub(in crate::service) fn tell(&self, tell: &mut Teller<'_, '_>, view_rows: u64) -> fmt::Result {
        let counts = self.lock().clone();
        let none: &[(&str, &str)] = &[];
        let compacted = counts.compacted;
        let help = "Oldest offset that can be asked for; zero while nothing was let go";
        tell.gauges("log_compacted_offset", help, [(none, compacted.offset.as_i64())])?;
        let seconds = |time: Timestamp| time.as_micros() / 1_000_000;
        let help =
            "When the change at the oldest offset that can be asked for was observed, in seconds since 1970";
        tell.gauges(
            "log_compacted_timestamp_seconds",
            help,
            compacted.observed_at.map(|at| (none, seconds(at))),
        )?;
        let files = counts.sizes.files.map(|(file, bytes)| ([("file", file)], signed(bytes)));
        tell.gauges(
            "data_file_bytes",
            "Bytes of the files of the data directory when last looked at",
            files,
        )?;
        let help = "Bytes of all that lies in the data directory when last looked at";
        tell.gauges("data_bytes", help, [(none, signed(counts.sizes.total))])?;
        let (at, took) = counts.last_run.unzip();
        let help = "When retention ran to its end last, in seconds since 1970";
        tell.gauges("retention_last_run_timestamp_seconds", help, at.map(|at| (none, seconds(at))))?;
        let took = took.map(|took| (none, took.as_secs_f64()));
        tell.durations("retention_last_run_duration_seconds", "How long that run took", took)?;
        let help = "1 while the data directory holds more than it may and all of it is too young to go";
        tell.gauges("retention_over_limit", help, [(none, i64::from(counts.over_limit))])?;
        tell.counters("retention_changes", "Changes that the log has let go", [(none, counts.changes)])?;
        let help = "Changes of kinds kept for less long that the log has let go but for their rows";
        tell.counters("retention_thinned_changes", help, [(none, counts.thinned)])?;
        let help = "Deployments that ended long ago and were withdrawn";
        tell.counters("retention_deployments", help, [(none, counts.retired)])?;
        tell.counters(
            "retention_bytes",
            "Bytes of their bodies, as they were stored",
            [(none, counts.bytes)],
        )?;
        tell.counters("retention_view_rows", "Rows that the view has let go", [(none, view_rows)])?;
        tell.counters("retention_failures", "Runs that did not come to their end", [(none, counts.failures)])
    }
}
