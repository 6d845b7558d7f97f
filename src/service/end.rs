//! The end of the process: asked for by a signal, and there within its grace whatever hangs.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::ServiceError;

/// How long the parts have to end once that was asked for; Kubernetes kills after thirty seconds.
const GRACE: Duration = Duration::from_secs(20);

/// How the process ends when a part of it did not.
const HUNG: i32 = 1;

/// Runs a service, which learns by a token when the process is asked to end.
///
/// A disk or another filesystem can keep any thread for ever, so that who looks at the clock has one of its own, and
/// no thread is waited for once the service has ended. What was acknowledged is durable by then.
pub(super) fn run<F: Future<Output = Result<(), ServiceError>>>(
    service: impl FnOnce(CancellationToken) -> F,
) -> Result<(), ServiceError> {
    run_within(GRACE, asked_to_end(), service, || {
        tracing::error!(
            "shutdown did not finish within {} s, because something hangs, such as a disk; exiting without it. \
             All acknowledged changes are durable",
            GRACE.as_secs()
        );
        std::process::exit(HUNG)
    })
}

fn run_within<F: Future<Output = Result<(), ServiceError>>>(
    grace: Duration,
    ask: impl Future<Output = ()> + Send + 'static,
    service: impl FnOnce(CancellationToken) -> F,
    give_up: impl FnOnce() + Send + 'static,
) -> Result<(), ServiceError> {
    let (asked, over) = (CancellationToken::new(), CancellationToken::new());
    let watch = {
        let (asked, over) = (asked.clone(), over.clone());
        async move {
            ask.await;
            asked.cancel();
            tokio::time::sleep(grace).await;
            if !over.is_cancelled() {
                give_up();
            }
        }
    };
    let watcher = Builder::new_current_thread().enable_all().build().map_err(ServiceError::Thread)?;
    let ended = over.clone();
    let work = move || watcher.block_on(ended.run_until_cancelled_owned(watch));
    std::thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(ServiceError::Thread)?;
    let runtime = runtime()?;
    let result = runtime.block_on(service(asked));
    over.cancel();
    runtime.shutdown_background();
    result
}

fn runtime() -> Result<Runtime, ServiceError> {
    // Every watch holds a connection, and many systems let a process have few of them unless it asks for more.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "raising the limit of open files failed; many clusters may need a higher limit");
    }
    // Short questions are read on all workers but one.
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().map_err(ServiceError::Thread)
}

/// Resolves when the process is asked to end.
async fn asked_to_end() {
    tokio::select! {
        () = received("SIGINT", signal(SignalKind::interrupt())) => {}
        () = received("SIGTERM", signal(SignalKind::terminate())) => {}
    }
}

/// Resolves with a signal; one that cannot be received asks for nothing.
async fn received(name: &str, signal: io::Result<Signal>) {
    match signal {
        Ok(mut signal) => match signal.recv().await {
            Some(()) => {}
            None => std::future::pending().await,
        },
        Err(error) => {
            tracing::error!(%error, "installing a handler for {name} failed; the signal ends the process immediately");
            std::future::pending().await
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn whatever_hangs_the_end_comes_within_its_grace() {
        let (tell, told) = mpsc::channel();
        // The thread itself is kept, as by a disk, and with it every timer of the service.
        let hangs = |asked: CancellationToken| async move {
            asked.cancelled().await;
            loop {
                std::thread::park();
            }
        };
        let give_up = move || tell.send(()).unwrap();
        std::thread::spawn(move || {
            run_within(Duration::from_millis(1), std::future::ready(()), hangs, give_up)
        });
        told.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn work_that_never_ends_is_not_waited_for() {
        let (tell, told) = mpsc::channel::<()>();
        let blocked = |asked: CancellationToken| async move {
            tokio::task::spawn_blocking(|| {
                loop {
                    std::thread::park();
                }
            });
            asked.cancelled().await;
            Ok(())
        };
        let give_up = move || tell.send(()).unwrap();
        run_within(Duration::from_secs(600), std::future::ready(()), blocked, give_up).unwrap();
        // Nobody waits for the grace to be over any more.
        assert_eq!(told.recv(), Err(mpsc::RecvError));
    }
}
