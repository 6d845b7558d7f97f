//! How long commits of the log take.

use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

/// Upper ends of the buckets in seconds: from a fast SSD to a disk that hangs.
const BUCKETS: [f64; 12] = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// How long each commit took that wrote something; clones share it.
#[derive(Clone, Debug)]
pub struct CommitTimes(Histogram);

impl Default for CommitTimes {
    fn default() -> Self {
        CommitTimes(Histogram::new(BUCKETS))
    }
}

impl CommitTimes {
    pub(super) fn observe(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }

    /// All of them, as monitoring reads them.
    pub fn histogram(&self) -> Histogram {
        self.0.clone()
    }
}
