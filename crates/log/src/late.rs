//! Records what waited for the writer for too long as gaps: when it happened is not known any more from when it was
//! recorded.

use std::collections::BTreeMap;

use super::append::AppendError;
use super::error::LogError;
use super::health::{WriterHealth, WriterProblem, late_message};
use super::request::{Queued, Reply};
use super::transaction::Write;
use strandline_clock::Mark;
use strandline_model::{CoverageMark, LATE_BOUND, WatchKey};

/// Records a gap, which is over, for each cluster of which the group holds changes that were handed over before the
/// bound; returns the longest of them.
pub(super) fn record(
    write: &mut Write<'_>,
    group: &[Queued],
    replies: &[Result<Reply, AppendError>],
    health: &WriterHealth,
) -> Result<Option<WriterProblem>, LogError> {
    let mut oldest: BTreeMap<&str, Mark> = BTreeMap::new();
    for (queued, reply) in group.iter().zip(replies) {
        let (Some(cluster), Some(handed_over)) = (queued.request.cluster(), &queued.handed_over) else {
            continue;
        };
        if reply.is_ok() && handed_over.at.elapsed() > LATE_BOUND {
            let oldest = oldest.entry(cluster).or_insert(handed_over.at);
            *oldest = handed_over.at.min(*oldest);
        }
    }
    let mut longest: Option<WriterProblem> = None;
    for (cluster, handed_over) in oldest {
        let (waited, reason) = (handed_over.elapsed(), health.reason_since(handed_over));
        let (since, message) = (write.now.minus(waited), late_message(reason, waited));
        let gap = CoverageMark::gap(WatchKey::discovery(cluster, ""), since, reason, message.clone());
        write.mark(&gap.closed(write.now))?;
        if longest.as_ref().is_none_or(|problem| since < problem.since) {
            longest = Some(WriterProblem { reason, since, message });
        }
    }
    Ok(longest)
}
