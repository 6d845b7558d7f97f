//! Pods that are more than are wanted.

use crate::finding::Finding;

/// What there is to say of more Pods than are wanted, which are to go: the work is not done while they are there.
pub(super) fn surplus(waiting: &str, wanted: Option<i64>, pods: i64) -> Option<Finding> {
    let more = pods.saturating_sub(wanted?);
    let message = format!("{waiting}: {more} pods are pending termination...");
    (more > 0).then(|| Finding::progressing("TooManyPods", message))
}
