//! Which watches see everything and which may not, for whoever decides which watches there are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use strandline_model::WatchKey;

/// Whether a watch may see its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It sees everything.
    Watched,
    /// It may not.
    Refused,
}

/// The newest standing of each watch that was not looked at yet; clones share it. It holds one entry for each watch at
/// most, however often they change.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings {
    changed: Arc<Mutex<BTreeMap<WatchKey, Standing>>>,
    news: Arc<Notify>,
}

impl Standings {
    pub(super) fn set(&self, watch: &WatchKey, standing: Standing) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(watch.clone(), standing);
        self.news.notify_one();
    }

    /// Waits for what changed since the last time.
    pub(super) async fn changed(&self) -> BTreeMap<WatchKey, Standing> {
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
        let standings = Standings::default();
        let watch = |cluster: &str| WatchKey::discovery(cluster, "");
        for standing in [Standing::Refused, Standing::Watched] {
            standings.set(&watch("a"), standing);
        }
        standings.set(&watch("b"), Standing::Refused);
        let expected = [(watch("a"), Standing::Watched), (watch("b"), Standing::Refused)];
        assert_eq!(standings.changed().await, expected.into());
        standings.set(&watch("a"), Standing::Refused);
        assert_eq!(standings.changed().await, [(watch("a"), Standing::Refused)].into());
    }
}
