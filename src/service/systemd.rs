//! Reports to systemd, where it started the process: that the service is ready, that it still runs, and that it stops.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// How often systemd wants to hear that the service runs; none where it does not ask, or did not start the process.
pub(super) fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

/// Questions are answered from now on.
pub(super) fn report_ready(url: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(&format!("listening on {url}"))]);
}

/// The service was asked to end.
pub(super) fn report_stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Reports in time that the service runs, until `stop`. It is reported from among the tasks that answer: when they no longer
/// take turns, nothing is reported, and systemd begins the service anew.
pub(super) async fn report_running(interval: Duration, stop: CancellationToken) {
    let reporting = async {
        loop {
            notify(&[NotifyState::Watchdog]);
            tokio::time::sleep(interval / 2).await;
        }
    };
    stop.run_until_cancelled(reporting).await;
}

/// The socket takes a message at once or not at all. Where there is none, nobody wants to hear it.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "notifying systemd failed");
    }
}
