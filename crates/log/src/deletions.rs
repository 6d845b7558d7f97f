//! Ends of incarnations: seen by a watch, or concluded from what a list did not show.

use super::append::Epoch;
use super::draft::Draft;
use super::error::LogError;
use super::json::to_json;
use super::live::{Live, key_of};
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::{DeletionCause, ResourceKey, Timestamp, WatchKey};

type Result<T> = std::result::Result<T, LogError>;

impl Write<'_> {
    /// Ends an incarnation and returns how many changes that took: none for an Event, whose end means nothing since
    /// clusters drop each of them after an hour.
    pub(super) fn deleted(&mut self, live: &Live, key: &ResourceKey, cause: DeletionCause) -> Result<usize> {
        self.close(&live.group)?;
        if key.kind.is_event() {
            self.mark_ended(live.subject)?;
            return Ok(0);
        }
        let body = to_json(&cause)?;
        let packed = self.state.bodies.fact(&body)?;
        self.write(Draft {
            r#type: ChangeType::Deleted,
            subject: live.subject,
            key,
            uid: &live.uid,
            resource_version: "",
            changed_by: None,
            body: &body,
            packed: Some(packed),
        })?;
        self.mark_ended(live.subject)?;
        Ok(1)
    }

    /// Ends what is alive of a kind, everywhere or in a namespace, and was not seen since an epoch began: it vanished
    /// some time after it was last seen, which becomes the cause of its end.
    pub(super) fn end_unseen(
        &mut self,
        watch: &WatchKey,
        kind: i64,
        since: Epoch,
        cause: fn(Timestamp) -> DeletionCause,
    ) -> Result<usize> {
        let mut written = 0;
        for (live, namespace, name) in self.live_before(kind, &watch.namespace, since)? {
            let last_seen = self.last_seen(kind, &namespace)?;
            written += self.deleted(&live, &key_of(watch, &namespace, &name), cause(last_seen))?;
        }
        Ok(written)
    }
}
