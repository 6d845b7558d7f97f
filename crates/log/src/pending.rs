//! When requests that wait for the writer were handed over, so that what is recorded late is known even while the writer
//! is blocked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use strandline_clock::{Mark, mark};

/// The requests that are handed over and not answered yet; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    requests: Arc<Mutex<Requests>>,
}

#[derive(Debug, Default)]
struct Requests {
    next: u64,
    /// In the order of their numbers, which is that of their age.
    handed_over: BTreeMap<u64, Mark>,
}

/// One of them; it is pending until this is dropped.
#[derive(Debug)]
pub(super) struct HandedOver {
    pub(super) at: Mark,
    number: u64,
    pending: Pending,
}

impl Pending {
    /// A request is handed over now.
    pub(super) fn hand_over(&self) -> HandedOver {
        let mut requests = self.lock();
        // Under the lock, so that a later number is never an earlier time.
        let at = mark();
        let number = requests.next;
        requests.next += 1;
        requests.handed_over.insert(number, at);
        drop(requests);
        HandedOver { at, number, pending: self.clone() }
    }

    /// When the oldest of them was handed over.
    pub(super) fn oldest(&self) -> Option<Mark> {
        self.lock().handed_over.first_key_value().map(|(_, at)| *at)
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        // Each change of it is whole, so a panic elsewhere cannot have broken it.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HandedOver {
    fn drop(&mut self) {
        self.pending.lock().handed_over.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_request_is_known_until_it_is_answered() {
        let pending = Pending::default();
        assert_eq!(pending.oldest(), None);
        let first = pending.hand_over();
        tokio::time::advance(Duration::from_secs(3)).await;
        let second = pending.hand_over();
        assert_eq!((pending.oldest(), second.at - first.at), (Some(first.at), Duration::from_secs(3)));
        drop(first);
        assert_eq!(pending.oldest(), Some(second.at));
        drop(second);
        assert_eq!(pending.oldest(), None);
    }
}
