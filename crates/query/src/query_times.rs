//! How long questions took to answer, by their names, for monitoring.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

/// Upper ends of the buckets, in seconds. No question reads for longer than half a minute.
const BUCKETS: [f64; 11] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// How long questions took, with their waiting for a reader; clones share it. Names are those of the program, so that
/// nobody can make the numbers of monitoring grow without bound.
#[derive(Clone, Debug, Default)]
pub struct QueryTimes {
    shared: Arc<Mutex<BTreeMap<&'static str, Histogram>>>,
}

impl QueryTimes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Histogram>> {
        // Plain numbers, each of which is whole at any time.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn observe(&self, question: &'static str, took: Duration) {
        let mut all = self.lock();
        all.entry(question).or_insert_with(|| Histogram::new(BUCKETS)).observe(took.as_secs_f64());
    }

    /// All of them, by the name of the question.
    pub fn histograms(&self) -> Vec<(&'static str, Histogram)> {
        self.lock().iter().map(|(name, took)| (*name, took.clone())).collect()
    }
}
