//! What the server answered, by route.

use std::fmt;

use super::Teller;
use crate::api::RequestStats;

pub(super) fn encode(tell: &mut Teller<'_, '_>, requests: &RequestStats) -> fmt::Result {
    let routes = requests.routes();
    let counts = routes.iter().flat_map(|stats| {
        stats.codes.iter().map(|(code, count)| {
            let labels = [("route", stats.route), ("method", stats.method)].map(|(n, v)| (n, v.to_owned()));
            let [route, method] = labels;
            ([route, method, ("code", code.to_string())], *count)
        })
    });
    tell.counters("http_requests", "Requests answered, by route, method and status code", counts)?;
    let took =
        routes.iter().map(|stats| ([("route", stats.route), ("method", stats.method)], stats.took.clone()));
    tell.histograms("http_request_duration_seconds", "How long answers took, by route and method", took)
}
