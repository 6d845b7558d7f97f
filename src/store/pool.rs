//! Lends readers to queries, a bounded number at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use thiserror::Error;
use tokio::sync::Semaphore;

/// A bounded pool of readers, each used by one query at a time on a thread where blocking is allowed.
pub struct Pool<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    permits: Semaphore,
    /// Readers at rest, and the number of the generation they belong to.
    idle: Mutex<(u64, Vec<T>)>,
    open: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    /// Held for reading while a reader is opened, and for writing while its files are replaced.
    files: RwLock<()>,
}

/// Why no reader could be lent.
#[derive(Debug, Error)]
pub enum PoolError {
    /// A new reader could not be opened.
    #[error("cannot open a reader: {0}")]
    Open(String),
    /// The query panicked; its reader was thrown away.
    #[error("the query panicked")]
    Panicked,
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Pool { shared: Arc::clone(&self.shared) }
    }
}

impl<T> std::fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl<T: Send + 'static> Pool<T> {
    /// A pool of at most `size` readers, opened as they are needed.
    pub fn new(size: usize, open: impl Fn() -> Result<T, String> + Send + Sync + 'static) -> Self {
        let shared = Shared {
            permits: Semaphore::new(size.max(1)),
            idle: Mutex::new((0, Vec::with_capacity(size))),
            open: Box::new(open),
            files: RwLock::new(()),
        };
        Pool { shared: Arc::new(shared) }
    }

    /// Runs `query` with a reader on a blocking thread.
    ///
    /// # Errors
    /// When no reader can be opened, or the query panics.
    pub async fn run<R: Send + 'static>(
        &self,
        query: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Result<R, PoolError> {
        let shared = Arc::clone(&self.shared);
        // The semaphore lives as long as the pool and is never closed, so this only waits.
        let _permit = self.shared.permits.acquire().await.map_err(|_| PoolError::Panicked)?;
        let work = move || {
            let (generation, mut reader) = shared.take()?;
            let result = query(&mut reader);
            shared.give_back(generation, reader);
            Ok(result)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(PoolError::Panicked))
    }

    /// Lets `swap` replace the files, which nobody opens meanwhile, and closes all readers as [`Pool::reset`] does.
    pub fn replace<R>(&self, swap: impl FnOnce() -> R) -> R {
        let _closed = self.shared.files.write().unwrap_or_else(PoisonError::into_inner);
        let result = swap();
        self.reset();
        result
    }

    /// Closes all readers, those at work as they come back, so that later queries open the files anew.
    pub fn reset(&self) {
        let mut idle = self.shared.lock();
        idle.0 += 1;
        idle.1.clear();
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, (u64, Vec<T>)> {
        // Nothing that can panic runs under this lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<(u64, T), PoolError> {
        let (generation, reader) = {
            let mut idle = self.lock();
            (idle.0, idle.1.pop())
        };
        let reader = reader.map_or_else(|| self.open(), Ok)?;
        Ok((generation, reader))
    }

    fn open(&self) -> Result<T, PoolError> {
        let _there = self.files.read().unwrap_or_else(PoisonError::into_inner);
        (self.open)().map_err(PoolError::Open)
    }

    fn give_back(&self, generation: u64, reader: T) {
        let mut idle = self.lock();
        if idle.0 == generation {
            idle.1.push(reader);
        }
    }
}
