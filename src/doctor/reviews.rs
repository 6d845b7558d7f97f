//! Whether the clusters that are to review tokens do so.

use futures_util::future::join_all;

use super::report::Check;
use crate::config::Config;
use crate::http::auth::ReviewConfig;
use strandline_watch::ClusterConnection;

/// A token that is nobody's.
const NOBODYS: &str = "strandline-doctor";

/// Asks each of them about a token that is nobody's, which changes nothing there.
pub(super) async fn check(config: &Config) -> Vec<Check> {
    join_all(config.access.kubernetes.iter().map(|review| reviews(config, review))).await
}

async fn reviews(config: &Config, review: &ReviewConfig) -> Check {
    let subject = format!("cluster {}", review.cluster);
    let cluster = config.clusters.iter().find(|cluster| cluster.name == review.cluster);
    let Some(way) = cluster.and_then(|cluster| cluster.watchers.first()) else {
        return Check::problem(&subject, "no connection is configured, so it reviews no tokens");
    };
    let connection = ClusterConnection::deferred(way.connect.clone());
    match connection.review_token(NOBODYS, &review.audience).await {
        Ok(_) => Check::ok(&subject, "it reviews tokens"),
        Err(error) => Check::problem(&subject, format!("it does not review tokens: {error}"))
            .hint("bind the ClusterRole system:auth-delegator to the account that Strandline uses"),
    }
}
