//! A kind that a cluster does not show, until it does again or is known to be removed.

use tokio::time::Instant;

use strandline_model::CoverageMark;

/// A watch whose kind the cluster does not show.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    /// The gap that is recorded for it.
    pub(super) gap: CoverageMark,
    /// The first of the discoveries in a row that show its group without it.
    pub(super) absent_since: Option<Instant>,
}

impl Missing {
    pub(super) fn new(gap: CoverageMark) -> Self {
        Missing { gap, absent_since: None }
    }
}
