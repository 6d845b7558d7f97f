//! Keeps looking at the folders of agents' configuration files.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::catalog::FolderReader;
use crate::log::Appender;

/// How often the folders are looked at. Files may come by mounts that tell nobody of changes, so they are read.
const LOOK: Duration = Duration::from_secs(2);

/// Declares what the folders say, again whenever it changes, until `stop`.
pub(super) async fn follow(mut reader: FolderReader, appender: Appender, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            looked = reader.look(&appender) => match looked {
                Ok(next) => reader = next,
                Err(error) => {
                    tracing::error!(%error, "agents' configuration cannot be declared");
                    return;
                }
            },
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
