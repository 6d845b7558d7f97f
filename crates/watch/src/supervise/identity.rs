//! Whether the cluster is the one it was.

use serde::Deserialize;

use super::supervisor::Supervisor;
use crate::metadata::metadata;
use crate::request::get_text;
use crate::sink::Sink;
use strandline_log::{AppendError, Identified};

/// The namespace that every cluster has and none can do without.
const PATH: &str = "/api/v1/namespaces/kube-system";

impl<S: Sink> Supervisor<S> {
    /// Compares the cluster's identity with the one known; where another cluster took its place, every watch begins
    /// anew. A cluster whose identity we may not read counts as the one it was.
    pub(super) async fn identify(&mut self) -> Result<(), AppendError> {
        let Some(uid) = self.uid().await else { return Ok(()) };
        if self.sink.identify(&self.settings.name, &uid).await? == Identified::Replaced {
            tracing::warn!(
                cluster = self.settings.name,
                uid,
                "another cluster answers under this name; listing all kinds again"
            );
            self.discovery.replaced();
            self.end_all().await;
        }
        Ok(())
    }

    async fn uid(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Metadata {
            uid: String,
        }
        for watcher in &self.watchers {
            let text = get_text(&watcher.connection.client(), PATH, &self.settings.limits).await;
            let found = text.ok().and_then(|text| metadata::<Metadata>(&text));
            if let Some(Metadata { uid }) = found.filter(|found| !found.uid.is_empty()) {
                return Some(uid);
            }
        }
        None
    }
}
