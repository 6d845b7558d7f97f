//! `/api/v1/relist`: the record compared with what clusters hold, now instead of at its turn.

use http::StatusCode;
use serde::Serialize;

use super::ApiState;
use crate::http::params::{CLUSTERS, KIND};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{CoverageState, Timestamp, WatchKey};

/// Which watches are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelistFilter {
    /// Only of these clusters; empty for all.
    pub clusters: Vec<String>,
    /// Only of these kinds, such as `Deployment` or `Deployment.apps`; empty for all.
    pub kinds: Vec<String>,
}

impl RelistFilter {
    /// Whether a watch is one of them.
    pub fn matches(&self, watch: &WatchKey) -> bool {
        let kind = &watch.kind;
        let named = |name: &String| {
            name.eq_ignore_ascii_case(&kind.kind)
                || name.eq_ignore_ascii_case(&format!("{}.{}", kind.kind, kind.group))
        };
        let cluster = self.clusters.is_empty() || self.clusters.contains(&watch.cluster);
        cluster && (self.kinds.is_empty() || self.kinds.iter().any(named))
    }
}

/// How the record of one watch stands to what the cluster holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Cluster.
    pub cluster: String,
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The only namespace that is followed; empty for all.
    pub namespace: String,
    /// Whether it is watched now; none before its first list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<CoverageState>,
    /// When the record was last known to agree with the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Timestamp>,
}

/// How the watches that are meant stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelistReport {
    /// Our clock.
    pub now: Timestamp,
    /// Differences that no event had reported, found since the service was started, of the clusters concerned.
    pub differences: u64,
    /// The watches.
    pub watches: Vec<Verified>,
}

/// Compares the record with clusters.
pub trait Relisting: Send + Sync {
    /// Makes the watches that are meant compare now.
    fn begin(&self, filter: &RelistFilter);

    /// How they stand.
    fn report(&self, filter: &RelistFilter) -> RelistReport;
}

/// Asks for a comparison. It costs each cluster a list of every kind, so it is for who writes and sees everything.
pub(super) async fn begin(state: ApiState, request: Request) -> Result<Response, Problem> {
    if !request.body.trim_ascii().is_empty() {
        request.json::<serde_json::Map<String, serde_json::Value>>()?;
    }
    request.caller.sees_everything()?;
    let filter = filter(&request)?;
    state.relisting.begin(&filter);
    answer(&state, &filter, StatusCode::ACCEPTED)
}

/// How the record stands. It shows all clusters, so it is for who sees everything.
pub(super) async fn report(state: ApiState, request: Request) -> Result<Response, Problem> {
    request.caller.sees_everything()?;
    let filter = filter(&request)?;
    answer(&state, &filter, StatusCode::OK)
}

fn filter(request: &Request) -> Result<RelistFilter, Problem> {
    let read = request.query.reader();
    let filter = RelistFilter { clusters: read.texts(CLUSTERS), kinds: read.texts(KIND) };
    read.finish()?;
    Ok(filter)
}

fn answer(state: &ApiState, filter: &RelistFilter, status: StatusCode) -> Result<Response, Problem> {
    respond::uncached_json(status, &state.relisting.report(filter))
}
