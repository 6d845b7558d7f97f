//! Reads on threads that nobody has to wait for: a filesystem can hang for ever, and must hang neither one of the threads
//! that answer questions nor the end of the process.

use std::future::Future;

use tokio::sync::oneshot;

/// Does the work on a thread of its own and returns what comes of it; none where it could not be started, or panicked.
pub(super) fn on_own_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Option<T>> + Send + Unpin + 'static {
    let (sender, mut receiver) = oneshot::channel();
    // Whoever asked may be gone.
    let work = move || drop(sender.send(work()));
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
        tracing::error!(thread = name, %error, "starting a thread failed; retrying");
        receiver.close();
    }
    Box::pin(async move { receiver.await.ok() })
}
