//! Keeps looking which namespaces the clusters have, where each of them is an environment.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::catalog::{NamespaceEnvironments, NamespaceReader};
use strandline_log::{AppendError, Appender};

/// How often to look. A namespace that is new shows its environment within this time.
const LOOK: Duration = Duration::from_secs(2);

/// Declares the environments of namespaces, again whenever the namespaces change, until `stop`.
pub(super) async fn follow(
    clusters: Vec<NamespaceEnvironments>,
    limit: u64,
    appender: Appender,
    stop: CancellationToken,
) {
    let mut reader = NamespaceReader::new(clusters, limit);
    let following = async {
        loop {
            match reader.declare(&appender).await {
                // What an earlier configuration asked for is withdrawn: nothing is left to do until the end.
                Ok(()) if reader.is_empty() => std::future::pending().await,
                Ok(()) => {}
                // The next look does it again.
                Err(error @ (AppendError::Busy | AppendError::Contended)) => {
                    tracing::debug!(%error, "environments of namespaces are not declared yet");
                }
                Err(error) => {
                    tracing::error!(%error, "declaring the environments of namespaces failed; retrying")
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    stop.run_until_cancelled(following).await;
}
