//! Follows the files of the server's certificate, and says when it is about to expire.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::http::tls::{Look, Tls};
use strandline_clock::{Clock, SystemClock};
use strandline_model::Timestamp;

/// How often the files are looked at: they may come by a mount that reports no changes.
const LOOK: Duration = Duration::from_secs(2);

/// How long before its end a certificate is spoken of.
const NOTICE: Duration = Duration::from_secs(14 * 24 * 3600);

/// Follows the files until `stop`.
pub(super) async fn follow(tls: Tls, stop: CancellationToken) {
    let mut warned = None;
    loop {
        let looking = tls.clone();
        // A disk that hangs must not hold up anything else.
        match tokio::task::spawn_blocking(move || looking.look()).await {
            Ok(Look::Same) | Err(_) => {}
            Ok(Look::Taken) => {
                let not_after = tls.not_after().map(|time| time.to_string());
                tracing::info!(not_after, "certificate reloaded");
            }
            Ok(Look::Refused(error)) => {
                tracing::error!(%error, "reloading the certificate failed; the previous one stays in use");
            }
        }
        // What other machines compare with is their clock, not the one of our record.
        warn_of_expiry(&tls, SystemClock.now(), &mut warned);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Says once of each certificate that it expires soon, and once that it has.
fn warn_of_expiry(tls: &Tls, now: Timestamp, warned: &mut Option<(Timestamp, bool)>) {
    let Some(not_after) = tls.not_after().filter(|end| *end <= now.plus(NOTICE)) else { return };
    let state = (not_after, not_after <= now);
    if warned.replace(state) == Some(state) {
        return;
    }
    match state.1 {
        true => tracing::error!(%not_after, "the certificate has expired; clients refuse it"),
        false => tracing::warn!(%not_after, "the certificate expires soon"),
    }
}
