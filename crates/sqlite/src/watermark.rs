//! A position that only grows, with waiting for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use strandline_model::Offset;
use tokio::sync::Notify;

/// A position that one thread publishes and others read or wait for.
#[derive(Clone, Debug, Default)]
pub struct Watermark {
    shared: Arc<(Mutex<Offset>, Condvar, Notify)>,
}

impl Watermark {
    /// Starts at a position.
    pub fn new(offset: Offset) -> Self {
        Watermark { shared: Arc::new((Mutex::new(offset), Condvar::new(), Notify::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, Offset> {
        // The value is a plain number, whole at any time, so a panic elsewhere cannot have broken it.
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The position.
    pub fn get(&self) -> Offset {
        *self.lock()
    }

    /// Publishes a position and wakes who waits.
    pub fn set(&self, offset: Offset) {
        *self.lock() = offset;
        self.shared.1.notify_all();
        self.shared.2.notify_waiters();
    }

    /// Waits without a thread until the position has passed `offset`; returns where it is then.
    pub async fn passed(&self, offset: Offset) -> Offset {
        loop {
            let mut moved = std::pin::pin!(self.shared.2.notified());
            // From here on no move is missed.
            moved.as_mut().enable();
            let current = self.get();
            if current > offset {
                return current;
            }
            moved.await;
        }
    }

    /// Waits until the position has passed `offset`, or for `timeout`; returns where it is then.
    pub fn wait_past(&self, offset: Offset, timeout: Duration) -> Offset {
        let (guard, _) = self
            .shared
            .1
            .wait_timeout_while(self.lock(), timeout, |current| *current <= offset)
            .unwrap_or_else(PoisonError::into_inner);
        *guard
    }
}
