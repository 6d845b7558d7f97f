//! Looks every second whether the log's files are in place, also while nothing is written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use super::health::WriterHealth;

/// How often to look.
const EVERY: Duration = Duration::from_secs(1);

/// The thread that looks, until this is dropped.
pub(super) struct Guard {
    _stop: SyncSender<()>,
}

impl Guard {
    pub(super) fn start(health: WriterHealth) -> Self {
        let (stop, stopped) = sync_channel::<()>(0);
        let look = move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                match catch_unwind(AssertUnwindSafe(|| health.check_files().is_some())) {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(_) => tracing::error!("checking the log's files failed; retrying"),
                }
            }
        };
        if let Err(error) = Builder::new().name("log-guard".to_owned()).spawn(look) {
            tracing::warn!(%error, "starting the thread that checks the log's files failed; each commit still checks them");
        }
        Guard { _stop: stop }
    }
}
