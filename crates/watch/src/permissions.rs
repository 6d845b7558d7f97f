//! Which watches see everything and which may not, for the supervisor, which decides which watches there are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use strandline_model::WatchKey;

/// Whether a watch may see its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchPermission {
    /// It sees everything.
    Granted,
    /// It may not.
    Refused,
}

/// The newest permission of each watch that was not processed yet; clones share it. It has one entry for each watch at
/// most, however often they change.
#[derive(Clone, Debug, Default)]
pub(super) struct PermissionChanges {
    changed: Arc<Mutex<BTreeMap<WatchKey, WatchPermission>>>,
    news: Arc<Notify>,
}

impl PermissionChanges {
    pub(super) fn set(&self, watch: &WatchKey, permission: WatchPermission) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(watch.clone(), permission);
        self.news.notify_one();
    }

    /// Waits for what changed since the last time.
    pub(super) async fn changed(&self) -> BTreeMap<WatchKey, WatchPermission> {
        loop {
            let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if !changed.is_empty() {
                return changed;
            }
            self.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_newest_standing_of_a_watch_is_kept() {
        let permissions = PermissionChanges::default();
        let watch = |cluster: &str| WatchKey::discovery(cluster, "");
        for permission in [WatchPermission::Refused, WatchPermission::Granted] {
            permissions.set(&watch("a"), permission);
        }
        permissions.set(&watch("b"), WatchPermission::Refused);
        let expected = [(watch("a"), WatchPermission::Granted), (watch("b"), WatchPermission::Refused)];
        assert_eq!(permissions.changed().await, expected.into());
        permissions.set(&watch("a"), WatchPermission::Refused);
        assert_eq!(permissions.changed().await, [(watch("a"), WatchPermission::Refused)].into());
    }
}
