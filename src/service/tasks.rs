//! Long-lived tasks and threads, none of which ends unseen: what can be begun anew is, and what the rest cannot do without
//! ends the service.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::ServiceError;
use strandline_syntax::diagnostics::panic_text;

/// The least and the most time before a task that failed is begun anew. It doubles with each failure, until the task has
/// run for the most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Tasks that are asked to end together; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    fallen: Fallen,
}

/// What ended that the service cannot do without; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Fallen {
    told: CancellationToken,
    what: Arc<OnceLock<(String, String)>>,
}

impl Fallen {
    fn report(&self, name: &str, why: String) {
        tracing::error!(task = name, why, "a required task ended; the service stops");
        // The first is what all ends with.
        let _ = self.what.set((name.to_owned(), why));
        self.told.cancel();
    }

    /// Waits until something fell.
    pub(super) async fn fell(&self) {
        self.told.cancelled().await;
    }

    /// What fell, as that with which the service ends.
    ///
    /// # Errors
    /// When something fell.
    pub(super) fn result(&self) -> Result<(), ServiceError> {
        match self.what.get().cloned() {
            None => Ok(()),
            Some((task, why)) => Err(ServiceError::Fell { task, why }),
        }
    }
}

impl Tasks {
    /// Tasks that end when `stop` says so.
    pub(super) fn new(stop: &CancellationToken, fallen: &Fallen) -> Self {
        Tasks { tracker: TaskTracker::new(), stop: stop.clone(), fallen: fallen.clone() }
    }

    /// What says that they are to end.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Starts a task that is begun anew whenever it panics or ends of itself.
    pub(super) fn keep<F>(
        &self,
        name: &'static str,
        begin: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        self.keep_until(name, self.stop.clone(), begin);
    }

    /// The same of a task that may be asked to end before the others, by a token of its own.
    pub(super) fn keep_until<F>(
        &self,
        name: &'static str,
        stop: CancellationToken,
        mut begin: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        self.tracker.spawn(async move {
            let mut pause = PAUSES.0;
            loop {
                let begun = Instant::now();
                let run = AssertUnwindSafe(async { begin(stop.clone()).await }).catch_unwind().await;
                if stop.is_cancelled() {
                    return;
                }
                let why = run.map_or_else(
                    |panic| panic_text(&*panic).to_owned(),
                    |()| "it ended unexpectedly".to_owned(),
                );
                tracing::error!(task = name, why, "a task failed; restarting it");
                if begun.elapsed() >= PAUSES.1 {
                    pause = PAUSES.0;
                }
                if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                    return;
                }
                pause = (2 * pause).min(PAUSES.1);
            }
        });
    }

    /// Starts a task that cannot be begun anew: the service ends when it panics, or ends before it is asked to.
    pub(super) fn need(&self, name: impl Into<String>, task: impl Future<Output = ()> + Send + 'static) {
        self.need_until(name, self.stop.clone(), task);
    }

    /// The same of a task that may be asked to end before the others, by a token of its own.
    pub(super) fn need_until(
        &self,
        name: impl Into<String>,
        stop: CancellationToken,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        let (name, fallen) = (name.into(), self.fallen.clone());
        self.tracker.spawn(async move {
            match AssertUnwindSafe(task).catch_unwind().await {
                Ok(()) if stop.is_cancelled() => {}
                Ok(()) => fallen.report(&name, "it ended unexpectedly".to_owned()),
                Err(panic) => fallen.report(&name, panic_text(&*panic).to_owned()),
            }
        })
    }

    /// Starts a task that ends when its work is done; the service ends when it panics.
    pub(super) fn once(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let fallen = self.fallen.clone();
        self.tracker.spawn(async move {
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                fallen.report(name, panic_text(&*panic).to_owned());
            }
        });
    }

    /// Waits until all of them have ended, which they were asked to.
    pub(super) async fn wait(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// A thread that reports when it has ended.
#[derive(Debug)]
pub(super) struct Ended<E> {
    thread: JoinHandle<Result<(), E>>,
    ended: oneshot::Receiver<()>,
}

impl<E: Send + 'static> Ended<E> {
    pub(super) fn spawn(
        name: &str,
        work: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<Self, ServiceError> {
        let (report, ended) = oneshot::channel();
        let run = move || {
            let result = work();
            // Nobody may be waiting any more. Where it panics, it is reported by being dropped.
            let _ = report.send(());
            result
        };
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(ServiceError::Thread)?;
        Ok(Ended { thread, ended })
    }

    /// Waits until it has ended; where there is none, for ever.
    pub(super) async fn ended(this: Option<&mut Self>) {
        match this {
            // Whether it reported or was dropped, it is over.
            Some(this) => drop((&mut this.ended).await),
            None => std::future::pending().await,
        }
    }
}

impl<E: Into<ServiceError> + Send + 'static> Ended<E> {
    /// What the thread ended with; waits for it.
    pub(super) async fn result(self) -> Result<(), ServiceError> {
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        match joined {
            Ok(Ok(result)) => result.map_err(Into::into),
            Ok(Err(_)) | Err(_) => Err(ServiceError::Panicked),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn tasks() -> Tasks {
        Tasks::new(&CancellationToken::new(), &Fallen::default())
    }

    fn why(tasks: &Tasks) -> Option<String> {
        tasks.fallen.result().err().map(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_ends_is_begun_anew() {
        let (tasks, runs) = (tasks(), Arc::new(AtomicU32::new(0)));
        let (counted, begun) = (Arc::clone(&runs), Instant::now());
        tasks.keep("odd", move |stop| {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            assert!(run != 0, "before it begins");
            async move {
                assert!(run != 1, "while it runs");
                if run == 2 {
                    return;
                }
                stop.cancelled().await;
            }
        });
        while runs.load(Ordering::Relaxed) < 4 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(begun.elapsed() >= Duration::from_secs(1 + 2 + 4), "later each time");
        assert_eq!(why(&tasks), None);
        tasks.stop().cancel();
        tasks.wait().await;
        assert_eq!(runs.load(Ordering::Relaxed), 4, "what was asked to end is not begun anew");
    }

    #[tokio::test]
    async fn what_the_rest_cannot_do_without_ends_all() {
        let panics = tasks();
        panics.need("server", async { panic!("on purpose") });
        panics.fallen.fell().await;
        assert!(why(&panics).is_some_and(|why| why.contains("`server`") && why.contains("on purpose")));
        let ends = tasks();
        ends.need("server", async {});
        ends.fallen.fell().await;
        assert!(why(&ends).is_some_and(|why| why.contains("it ended unexpectedly")));
        let asked = tasks();
        let stop = asked.stop().clone();
        asked.need("server", async move { stop.cancelled().await });
        asked.once("work", async {});
        asked.stop().cancel();
        asked.wait().await;
        assert_eq!(why(&asked), None);
        asked.once("work", async { panic!("on purpose") });
        asked.fallen.fell().await;
    }

    #[tokio::test]
    async fn a_thread_that_panics_is_noticed() {
        let work = || -> Result<(), std::io::Error> { panic!("on purpose") };
        let mut thread = Ended::spawn("odd", work).expect("a thread");
        Ended::ended(Some(&mut thread)).await;
        let joined = thread.thread.join();
        assert!(joined.is_err());
    }
}
