//! Lends readers to queries, a bounded number at a time, by turns among those who ask.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::turns::{Asker, Crowd, Turns};

/// A bounded pool of readers, each used by one query at a time on a thread where blocking is allowed.
pub struct Pool<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    turns: Turns,
    /// Readers at rest, and the number of the generation they belong to.
    idle: Mutex<(u64, Vec<T>)>,
    open: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    /// Held for reading while a reader is opened, and for writing while its files are replaced.
    files: RwLock<()>,
    /// The workers of the runtime that may read at a time: all but one, which is left for everything else.
    workers: OnceLock<Semaphore>,
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
    /// Nobody waits for the answer, so that nothing was read.
    #[error("the caller is gone")]
    Abandoned,
}

/// Whether nobody waits for an answer any more; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Whether it is so.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Lives in the future that waits for an answer.
struct Waiting(Abandoned);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
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
            turns: Turns::new(size),
            idle: Mutex::new((0, Vec::with_capacity(size))),
            open: Box::new(open),
            files: RwLock::new(()),
            workers: OnceLock::new(),
        };
        Pool { shared: Arc::new(shared) }
    }

    /// Runs `query` for somebody, with a reader on a blocking thread. It learns when nobody waits for its answer any more,
    /// and is to end soon then: until it does, the reader and the turn are its own.
    ///
    /// # Errors
    /// When no reader can be opened, or the query panics.
    pub async fn run<R: Send + 'static>(
        &self,
        asker: &Asker,
        query: impl FnOnce(&mut T, &Abandoned) -> R + Send + 'static,
    ) -> Result<R, PoolError> {
        let turn = self.shared.turns.take(asker).await.ok_or(PoolError::Abandoned)?;
        let (shared, abandoned) = (Arc::clone(&self.shared), Abandoned::default());
        let _waiting = Waiting(abandoned.clone());
        let work = move || {
            // Dropped last, after the reader: the turn belongs to the work and not to who waits for it.
            let _turn = turn;
            if abandoned.get() {
                return Err(PoolError::Abandoned);
            }
            let (generation, mut reader) = shared.take()?;
            let result = query(&mut reader, &abandoned);
            shared.put_back(generation, reader);
            Ok(result)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(PoolError::Panicked))
    }

    /// Runs `query` for somebody on the worker that asks, which saves handing it over: for queries of far less than a
    /// millisecond, that end by themselves where they take longer. None where it would have to wait, be it for a turn or for a
    /// reader to be opened, or where too few workers are left.
    pub fn run_here<R>(
        &self,
        asker: &Asker,
        query: impl FnOnce(&mut T) -> R,
    ) -> Option<Result<R, PoolError>> {
        let workers = || Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers());
        let workers = self.shared.workers.get_or_init(|| Semaphore::new(workers() - 1));
        let _worker = workers.try_acquire().ok()?;
        let _turn = self.shared.turns.take_free(asker)?;
        let (generation, idle) = self.shared.take_idle();
        let mut reader = idle?;
        // A reader that a panic leaves behind is dropped here, within its turn.
        let result = catch_unwind(AssertUnwindSafe(move || {
            let result = query(&mut reader);
            (result, reader)
        }));
        Some(match result {
            Ok((result, reader)) => {
                self.shared.put_back(generation, reader);
                Ok(result)
            }
            Err(_) => Err(PoolError::Panicked),
        })
    }

    /// The generation of the readers: another after [`Pool::reset`] and [`Pool::replace`].
    pub fn generation(&self) -> u64 {
        self.shared.lock().0
    }

    /// Who is at work, and who waits.
    pub fn crowd(&self) -> Crowd {
        self.shared.turns.crowd()
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

    /// A reader at rest, if there is one, with the generation that there is.
    fn take_idle(&self) -> (u64, Option<T>) {
        let mut idle = self.lock();
        (idle.0, idle.1.pop())
    }

    fn take(&self) -> Result<(u64, T), PoolError> {
        let (generation, reader) = self.take_idle();
        let reader = reader.map_or_else(|| self.open(), Ok)?;
        Ok((generation, reader))
    }

    fn open(&self) -> Result<T, PoolError> {
        let _there = self.files.read().unwrap_or_else(PoisonError::into_inner);
        (self.open)().map_err(PoolError::Open)
    }

    fn put_back(&self, generation: u64, reader: T) {
        let mut idle = self.lock();
        if idle.0 == generation {
            idle.1.push(reader);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::{Duration, Instant};

    use super::*;

    const LONGEST: Duration = Duration::from_secs(120);

    /// A reader that counts how many of its kind are open, and how many were at most.
    struct Counted(Arc<(AtomicUsize, AtomicUsize)>);

    impl Counted {
        fn open(counts: &Arc<(AtomicUsize, AtomicUsize)>) -> Self {
            let open = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
            counts.1.fetch_max(open, Ordering::SeqCst);
            Counted(Arc::clone(counts))
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_hangs_up_frees_no_reader_while_their_question_is_read() {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let of_pool = Arc::clone(&counts);
        let pool = Pool::new(4, move || Ok(Counted::open(&of_pool)));
        let (began, begins) = std::sync::mpsc::channel();
        let (go_on, waits) = std::sync::mpsc::channel::<()>();
        let waits = Arc::new(Mutex::new(waits));
        for n in 0..200 {
            let (began, waits, pool) = (began.clone(), Arc::clone(&waits), pool.clone());
            let asker: Asker = Arc::from(format!("{}", n % 5));
            let asked = tokio::spawn(async move {
                let query = move |_: &mut Counted, _: &Abandoned| {
                    let _ = began.send(());
                    // Reads on though nobody waits, as a statement does between two looks.
                    drop(waits.lock().map(|waits| waits.recv()));
                };
                pool.run(&asker, query).await
            });
            if n < 4 {
                begins.recv_timeout(Duration::from_secs(60)).expect("it begins");
            } else {
                tokio::task::yield_now().await;
            }
            asked.abort();
            assert!(asked.await.is_err());
        }
        assert_eq!(pool.crowd(), Crowd { under_way: 4, waiting: 0 });
        assert_eq!(counts.1.load(Ordering::SeqCst), 4, "as many were open as the pool has");
        drop(go_on);
        let answer = pool.run(&Arc::from("late"), |_, _| 7).await;
        assert_eq!(answer.ok(), Some(7), "whoever comes later is answered");
        assert!(counts.0.load(Ordering::SeqCst) <= 4);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_worker_reads_only_what_it_need_not_wait_for_and_while_another_is_left() {
        let (pool, asker): (_, Asker) = (Pool::new(8, || Ok(7)), Arc::from("one"));
        assert!(pool.run_here(&asker, |_| ()).is_none(), "a reader would have to be opened");
        let opened = pool.run(&asker, |reader, _| std::mem::replace(reader, 8)).await;
        assert_eq!(opened.ok(), Some(7));
        let others = [pool.clone(), pool.clone()];
        let read = pool.run_here(&asker, |reader| {
            assert_eq!(others[0].crowd(), Crowd { under_way: 1, waiting: 0 });
            (*reader, others[1].run_here(&Arc::from("two"), |_| ()).is_none())
        });
        let (read, is_alone) = read.and_then(Result::ok).expect("there is a reader now");
        assert_eq!((read, is_alone), (8, true), "one of two workers is left");
        assert_eq!(pool.crowd(), Crowd::default());
    }

    #[tokio::test]
    async fn the_only_worker_reads_nothing() {
        let (pool, asker): (_, Asker) = (Pool::new(8, || Ok(())), Arc::from("one"));
        assert!(pool.run(&asker, |(), _| ()).await.is_ok());
        assert!(pool.run_here(&asker, |()| ()).is_none());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_panic_on_a_worker_costs_its_reader_and_no_turn() {
        let (pool, asker): (_, Asker) = (Pool::new(1, || Ok(())), Arc::from("one"));
        assert!(pool.run(&asker, |(), _| ()).await.is_ok());
        let panicked = pool.run_here(&asker, |()| panic!("as the test wants"));
        assert!(matches!(panicked, Some(Err::<(), _>(PoolError::Panicked))));
        assert!(pool.run_here(&asker, |()| ()).is_none(), "its reader is gone");
        assert!(pool.run(&asker, |(), _| ()).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_query_learns_that_nobody_waits_for_it() {
        let pool = Pool::new(1, || Ok(()));
        let (began, begins) = tokio::sync::oneshot::channel();
        let asker: Asker = Arc::from("gone");
        let of_task = pool.clone();
        let asked = tokio::spawn(async move {
            let query = move |(): &mut (), abandoned: &Abandoned| {
                let _ = began.send(());
                // It ends by itself long after the test has failed.
                let started = Instant::now();
                while !abandoned.get() && started.elapsed() < LONGEST {
                    std::thread::yield_now();
                }
            };
            of_task.run(&asker, query).await
        });
        begins.await.expect("it begins");
        asked.abort();
        let next: Asker = Arc::from("next");
        let answered = tokio::time::timeout(LONGEST / 2, pool.run(&next, |(), _| ())).await;
        assert!(answered.is_ok_and(|answer| answer.is_ok()), "it did not learn that nobody waits");
    }
}
