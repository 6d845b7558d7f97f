//! What monitoring is given: alerts with their runbooks, dashboards, and both in a real Prometheus that scrapes a server to
//! which each fault really happens.

mod alerts;
mod dashboards;
mod prometheus;
mod runbooks;

use strandline::http::auth::TokenHash;
use strandline_sim::api_server::ApiServer;

const RULES: &str = "deploy/chart/strandline/files/alerts/strandline.yaml";

/// The token by which a test scrapes.
const TOKEN: &str = "sl_monitoring";

/// A configuration that monitoring is shown to, with a token that expires at a time.
fn config(cluster: &ApiServer, expires: &str) -> String {
    format!(
        "clusters: [{{name: one, url: '{}'}}]\nenvironments:\n  - {{project: shop/web, name: production, tier: production, region: eu, \
         cluster: one, namespace: shop}}\nretention: {{every: 2s}}\naccess:\n  tokens:\n    \
         - {{name: prometheus, everything: true, hash: '{}', expires: {expires}}}\n",
        cluster.url(),
        TokenHash::of(TOKEN),
    )
}
