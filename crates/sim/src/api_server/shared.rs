//! What connections share with the simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::faults::Faults;
use super::kinds::ServedKind;
use super::reviews::Reviews;
use super::state::State;
use strandline_model::Kind;

/// How many requests of each type were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Lists begun.
    pub lists: u64,
    /// Pages of lists, the first ones included.
    pub pages: u64,
    /// Watches, streaming lists included.
    pub watches: u64,
    /// Watches that asked for initial events.
    pub streaming_lists: u64,
    /// Single objects.
    pub gets: u64,
    /// Discovery, version and probes.
    pub discovery: u64,
    /// Refused by the fault script.
    pub refused: u64,
}

/// What connections share with the simulation.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) faults: Faults,
    /// Carries the newest resourceVersion to watches.
    pub(super) wake: watch::Sender<u64>,
    requests: Mutex<BTreeMap<Option<Kind>, Requests>>,
    stale: Mutex<BTreeSet<String>>,
    reviews: Mutex<Reviews>,
    bookmark_millis: AtomicU64,
    /// Whether ways without a network are refused.
    pub(super) away: watch::Sender<bool>,
}

impl Shared {
    /// State without objects.
    pub(super) fn new(name: &str, kinds: Vec<ServedKind>) -> Self {
        let mut state = State::new(name);
        for kind in kinds {
            state.add_kind(kind);
        }
        let wake = watch::Sender::new(0);
        Shared {
            state: Mutex::new(state),
            faults: Faults::new(wake.clone()),
            wake,
            requests: Mutex::default(),
            stale: Mutex::default(),
            reviews: Mutex::default(),
            bookmark_millis: AtomicU64::new(2_000),
            away: watch::Sender::new(false),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn requests(&self) -> MutexGuard<'_, BTreeMap<Option<Kind>, Requests>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reviews(&self) -> MutexGuard<'_, Reviews> {
        self.reviews.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a change of the state and wakes the watches.
    pub(super) fn publish(&self, state: MutexGuard<'_, State>) {
        let version = state.version;
        drop(state);
        self.wake.send_replace(version);
    }

    pub(super) fn count(&self, kind: Option<&ServedKind>, add: impl FnOnce(&mut Requests)) {
        add(self.requests().entry(kind.map(|kind| kind.kind.clone())).or_default());
    }

    pub(super) fn stale_groups(&self) -> BTreeSet<String> {
        self.stale.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn bookmark_every(&self) -> Duration {
        Duration::from_millis(self.bookmark_millis.load(Ordering::Relaxed))
    }

    pub(super) fn set_stale(&self, group: &str, stale: bool) {
        let mut groups = self.stale.lock().unwrap_or_else(PoisonError::into_inner);
        if stale {
            groups.insert(group.to_owned());
        } else {
            groups.remove(group);
        }
    }

    pub(super) fn set_bookmark_every(&self, every: Duration) {
        let millis = u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(1);
        self.bookmark_millis.store(millis, Ordering::Relaxed);
    }
}
