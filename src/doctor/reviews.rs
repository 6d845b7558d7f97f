//! Whether the clusters that are to review tokens, or to say who may read in them, do so.

use futures_util::future::join_all;

use super::report::Check;
use crate::config::Config;
use crate::http::auth::{Permission, ReviewConfig};
use strandline_watch::{AccessRequest, ClusterConnection};

/// A token, and a user, that are nobody's.
const NOBODYS: &str = "strandline-doctor";

/// Asks each of them about a token that is nobody's, or about nobody, which changes nothing there.
pub(super) async fn check(config: &Config) -> Vec<Check> {
    let tokens = join_all(config.access.kubernetes.iter().map(|review| reviews(config, review)));
    let asked = config.access.asked_clusters();
    let access = join_all(asked.into_iter().map(|cluster| says_who_may_read(config, cluster)));
    let (tokens, access) = tokio::join!(tokens, access);
    tokens.into_iter().chain(access).collect()
}

fn connection(config: &Config, name: &str) -> Option<ClusterConnection> {
    let cluster = config.clusters.iter().find(|cluster| cluster.name == name)?;
    Some(ClusterConnection::deferred(cluster.watchers.first()?.connect.clone()))
}

async fn says_who_may_read(config: &Config, cluster: &str) -> Check {
    let subject = format!("cluster {cluster}");
    let Some(connection) = connection(config, cluster) else {
        return Check::problem(
            &subject,
            "no connection is configured, so it does not say who may read in it",
        );
    };
    let Permission { verb, group, resource } = &Permission::default();
    let request = AccessRequest { user: NOBODYS, groups: &[], verb, group, resource, namespace: "" };
    match connection.review_access(request).await {
        Ok(_) => Check::ok(&subject, "it says who may read in it"),
        Err(error) => Check::problem(&subject, format!("it does not say who may read in it: {error}"))
            .hint("bind the ClusterRole system:auth-delegator to the account that Strandline uses"),
    }
}

async fn reviews(config: &Config, review: &ReviewConfig) -> Check {
    let subject = format!("cluster {}", review.cluster);
    let Some(connection) = connection(config, &review.cluster) else {
        return Check::problem(&subject, "no connection is configured, so it reviews no tokens");
    };
    match connection.review_token(NOBODYS, &review.audience).await {
        Ok(_) => Check::ok(&subject, "it reviews tokens"),
        Err(error) => Check::problem(&subject, format!("it does not review tokens: {error}"))
            .hint("bind the ClusterRole system:auth-delegator to the account that Strandline uses"),
    }
}
