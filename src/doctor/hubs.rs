//! Judges hubs: whether each can be read, and whether what it has are clusters.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::report::Check;
use crate::config::{Config, HubConfig};
use strandline_watch::Hub;

/// How long a hub may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What each hub answers.
pub(super) async fn check(config: &Config) -> Vec<Check> {
    join_all(config.hubs.iter().map(of_hub)).await.into_iter().flatten().collect()
}

async fn of_hub(hub: &HubConfig) -> Vec<Check> {
    let subject = format!("hub {}", hub.name);
    let read = timeout(PATIENCE, Hub::new(hub.settings.clone()).read()).await;
    let found = match read.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs()))) {
        Ok((found, _)) => found,
        Err(error) => {
            return vec![Check::problem(&subject, format!("it cannot be read: {error}")).hint(
                "correct its connection, and let its account list and watch the objects of its `source`",
            )];
        }
    };
    let mut checks = vec![match found.clusters.len() {
        0 => Check::warning(&subject, "no clusters found").hint("check `source`, `namespace` and `selector`"),
        count => Check::ok(&subject, format!("clusters: {count}")),
    }];
    let without = found.clusters.iter().filter_map(|cluster| {
        let why = cluster.credentials.problem()?;
        Some(Check::problem(&subject, format!("cluster {}, {}: {why}", cluster.name, cluster.origin)))
    });
    checks.extend(without);
    checks.extend(found.ignored.iter().map(|why| Check::warning(&subject, format!("not a cluster: {why}"))));
    checks
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use std::path::Path;

    use serde_json::json;
    use strandline_sim::api_server::{ApiServer, builtin_kinds};

    use super::*;

    #[tokio::test]
    async fn a_hub_is_read_and_what_has_no_credentials_is_named() {
        let hub = ApiServer::start("hub", builtin_kinds()).await.unwrap();
        let text = format!("hubs: [{{name: fleet, source: secrets, namespace: a, url: '{}'}}]\n", hub.url());
        let config = crate::config::parse(&text, Path::new("x.yaml")).unwrap();
        let lines = async || -> Vec<String> {
            let checks = check(&config).await;
            checks.iter().map(|c| format!("{} {}", c.result.as_str(), c.message)).collect()
        };
        assert_eq!(lines().await, ["warning no clusters found"]);
        hub.apply(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "eu-1", "namespace": "a"}}),
        );
        let without = "problem cluster eu-1, Secret a/eu-1: it has no key `kubeconfig`";
        assert_eq!(lines().await, ["ok clusters: 1", without]);
        hub.stop().await;
        assert!(lines().await[0].starts_with("problem it cannot be read: "));
    }
}
