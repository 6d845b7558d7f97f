//! Ids that mean harm: whatever stands in an address is an id like others or is refused, and nothing breaks.

use serde_json::Value;

use super::server::{body, server, status};
use super::{AppState, Ready, Uncounted};
use crate::api::routes;
use strandline_query::testing::{World, small_history};

/// What stands in the place of an id, as it is sent, and the status it is answered with.
fn ids() -> Vec<(String, &'static str)> {
    let refused = ["%", "%4", "%zz", "%00", "a%00b", "%FF", "%C0%AF", "%ED%A0%80", "%F5%80%80%80"];
    let unknown = [
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%25%30%30",
        "%0D%0Ax-evil:%201",
        "%E2%80%AE",
        "%F0%9F%8E%88",
        "'%20OR%201=1%20--",
        "%22%3B%20DROP%20TABLE%20environment%3B",
        "%5B%22a%22%5D",
        "$.cluster",
        "%25",
        "_",
        "*",
        "shop.db.production%20",
        "SHOP.DB.PRODUCTION",
        "%7F%01%1B%5B2J",
        ";",
        "a+b",
    ];
    let long = [("a".repeat(8000), "404"), ("a".repeat(10_000), "414"), ("%61".repeat(10_000), "414")];
    let texts = |texts: &[&str], status: &'static str| {
        texts.iter().map(|text| ((*text).to_owned(), status)).collect::<Vec<_>>()
    };
    [texts(&refused, "400"), texts(&unknown, "404"), long.to_vec()].concat()
}

#[tokio::test]
async fn hostile_ids_are_refused_or_unknown() {
    let world = World::new(small_history());
    let state = AppState {
        queries: world.queries.clone(),
        readiness: std::sync::Arc::new(Ready(true)),
        metrics: std::sync::Arc::new(Uncounted),
        clock: world.clock.clone(),
        ..super::state(true)
    };
    let server = server(routes(&state), |_| {}).await;
    let paths = [
        "/api/v1/environments/{}",
        "/api/v1/environments/{}/resources",
        "/api/v1/environments/{}/graph",
        "/api/v1/environments/{}/events",
        "/api/v1/resources/{}",
        "/api/v1/resources/{}/history",
        "/api/v1/resources/{}/events",
    ];
    for path in paths {
        for (id, expected) in ids() {
            let answer = server.ask("GET", &path.replace("{}", &id), "").await;
            let told =
                || format!("{path} with {}: {}", &id[..id.len().min(80)], &answer[..answer.len().min(600)]);
            assert_eq!(status(&answer), expected, "{}", told());
            let problem: Value = serde_json::from_str(body(&answer)).unwrap_or_default();
            assert_eq!(problem["status"].to_string(), expected, "{}", told());
            assert!(!answer.to_lowercase().contains("\r\nx-evil:"), "{}", told());
        }
    }
    assert_eq!(status(&server.ask("GET", "/api/v1/environments", "").await), "200", "it serves on");
}
