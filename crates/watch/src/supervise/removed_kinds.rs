//! Kinds that a cluster no longer shows: a gap at first, for it may be about to show them again, and removed once complete
//! discoveries keep being without them.
//!
//! A kind that is gone is watched a little longer: clusters delete the objects of a custom kind before the kind, but
//! report the two through different APIs.

use tokio::time::Instant;

use super::plan::Retirement;
use super::supervisor::Supervisor;
use crate::sink::Sink;
use strandline_log::AppendError;
use strandline_model::{CoverageMark, Kind, reason};

impl<S: Sink> Supervisor<S> {
    /// After a discovery: a kind that is back is watched again, one that stays away for long enough was removed. A
    /// group whose discovery fails proves nothing about its kinds.
    pub(super) async fn retire_removed_kinds(&mut self) -> Result<(), AppendError> {
        let (now, removal) = (Instant::now(), self.settings.limits.removal);
        let (known, clock) = (&self.known, &self.clock);
        let shown = |kind: &Kind| known.kinds.contains_key(kind) || known.unfollowed.contains_key(kind);
        self.missing.retain(|watch, _| !shown(&watch.kind));
        for (watch, missing) in &mut self.missing {
            if known.failed.iter().any(|failed| failed.group == watch.kind.group) {
                missing.absent_since = None;
                continue;
            }
            let absent_since = *missing.absent_since.get_or_insert(now);
            if absent_since == now && missing.gap.reason != reason::NOT_SERVED {
                missing.gap.reason = reason::NOT_SERVED.to_owned();
                "the cluster no longer has this kind".clone_into(&mut missing.gap.message);
                self.retirements.insert(watch.clone(), Retirement::Vanished(missing.gap.clone()));
            }
            if absent_since != now && now.duration_since(absent_since) >= removal {
                let message = "the cluster no longer has this kind: complete discoveries are without it";
                let mark = CoverageMark::excluded(watch.clone(), clock.now(), reason::REMOVED, message);
                self.retirements.insert(watch.clone(), Retirement::Dismissed { mark, unfollow: true });
            }
        }
        self.record_retired().await
    }
}
