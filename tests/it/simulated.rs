//! Simulated clusters that several tests record.

use serde_json::json;
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::Result;

/// A cluster with one Pod of its name, in the namespace `shop`.
pub(crate) async fn cluster(name: &str) -> Result<ApiServer> {
    let cluster = ApiServer::start(name, builtin_kinds()).await?;
    cluster.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    add_pod(&cluster, name);
    Ok(cluster)
}

/// Another Pod in that namespace.
pub(crate) fn add_pod(cluster: &ApiServer, name: &str) {
    cluster
        .apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}}));
}
