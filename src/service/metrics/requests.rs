//! What the server answered, by route, and what is under way.

use std::fmt;

use crate::http::{LoadCounts, RequestStats};
use crate::service::metric_writer::{MetricWriter, signed};
use crate::service::running::READERS;
use strandline_query::Queries;

pub(super) fn encode(out: &mut MetricWriter<'_, '_>, requests: &RequestStats) -> fmt::Result {
    let routes = requests.routes();
    let counts = routes.iter().flat_map(|stats| {
        stats.codes.iter().map(|(code, count)| {
            let labels = [("route", stats.route), ("method", stats.method)].map(|(n, v)| (n, v.to_owned()));
            let [route, method] = labels;
            ([route, method, ("code", code.to_string())], *count)
        })
    });
    out.counters("http_requests", "Requests answered, by route, method and status code", counts)?;
    let took =
        routes.iter().map(|stats| ([("route", stats.route), ("method", stats.method)], stats.took.clone()));
    out.histograms("http_request_duration_seconds", "Duration of requests, by route and method", took)
}

/// What is under way now.
pub(super) fn under_way(out: &mut MetricWriter<'_, '_>, load: LoadCounts) -> fmt::Result {
    let none: &[(&str, &str)] = &[];
    let number = |value: usize| signed(value as u64);
    let help = "Open connections, by place: ordinary for all requests, reserve for probes and metrics only";
    let places = [("ordinary", load.connections), ("reserve", load.reserve)];
    out.gauges("http_connections", help, places.map(|(place, count)| ([("place", place)], number(count))))?;
    let help = "Connections over the limit, which got a place in the reserve or none";
    out.counters("http_connections_refused", help, [(none, load.connections_refused)])?;
    let help = "Requests in progress, until the client has read the answer";
    out.gauges("http_requests_in_flight", help, [(none, number(load.requests))])?;
    let help = "Bytes of the requests in progress and of their answers";
    out.gauges("http_in_flight_bytes", help, [(none, number(load.bytes))])?;
    out.gauges("http_streams", "Streams that clients keep open", [(none, number(load.streams))])?;
    let help = "Streams that were refused because as many are open as one caller, or all together, may have";
    out.counters("http_streams_refused", help, [(none, load.streams_refused)])
}

/// How queries read the view, and how long they take.
pub(super) fn queries(out: &mut MetricWriter<'_, '_>, queries: &Queries) -> fmt::Result {
    let (crowd, none): (_, &[(&str, &str)]) = (queries.crowd(), &[]);
    let number = |value: usize| signed(value as u64);
    let help = "Queries of the view, by state: reading, or waiting for a reader";
    let states = [("reading", crowd.under_way), ("waiting", crowd.waiting)];
    out.gauges("queries", help, states.map(|(state, count)| ([("state", state)], number(count))))?;
    let help = "Readers of the view: as many queries read at a time";
    out.gauges("query_readers", help, [(none, number(READERS))])?;
    let took = queries.times().histograms();
    let took = took.into_iter().map(|(query, took)| ([("query", query)], took));
    out.histograms(
        "query_duration_seconds",
        "Duration of queries of the view, by name, with the wait for a reader",
        took,
    )
}
