//! How many requests were answered and how long that took, by route.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::metrics::histogram::Histogram;

/// Upper ends of the buckets, in seconds. What only reads takes a minute at most.
const BUCKETS: [f64; 11] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The route of a request that matched none.
const UNMATCHED: &str = "unmatched";

/// The template of the route that answered, carried by its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatchedRoute(pub(super) &'static str);

/// What was answered by now; clones share it. Paths and methods are never taken from a request, so that nobody can make
/// the numbers of monitoring grow without bound.
#[derive(Clone, Debug, Default)]
pub struct RequestStats {
    shared: Arc<Mutex<Routes>>,
}

type Routes = BTreeMap<(&'static str, &'static str), Answers>;

#[derive(Clone, Debug)]
struct Answers {
    codes: BTreeMap<u16, u64>,
    took: Histogram,
}

/// What was answered by one method of one route.
#[derive(Clone, Debug)]
pub struct RouteStats {
    /// The template of the route.
    pub route: &'static str,
    /// The method.
    pub method: &'static str,
    /// How many answers had each status code.
    pub codes: Vec<(u16, u64)>,
    /// How long they took, in seconds.
    pub took: Histogram,
}

impl RequestStats {
    fn lock(&self) -> MutexGuard<'_, Routes> {
        // Plain numbers, each of which is whole at any time.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answer.
    pub(super) fn observe(
        &self,
        route: Option<MatchedRoute>,
        method: &Method,
        status: StatusCode,
        took: Duration,
    ) {
        let route = route.map_or(UNMATCHED, |MatchedRoute(template)| template);
        let mut routes = self.lock();
        let answers = routes
            .entry((route, name_of(method)))
            .or_insert_with(|| Answers { codes: BTreeMap::new(), took: Histogram::new(BUCKETS) });
        *answers.codes.entry(status.as_u16()).or_default() += 1;
        answers.took.observe(took.as_secs_f64());
    }

    /// All of it, by route and method.
    pub fn routes(&self) -> Vec<RouteStats> {
        let routes = self.lock();
        let of = |(&(route, method), answers): (&(&'static str, &'static str), &Answers)| {
            let codes = answers.codes.iter().map(|(code, count)| (*code, *count)).collect();
            RouteStats { route, method, codes, took: answers.took.clone() }
        };
        routes.iter().map(of).collect()
    }
}

fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
