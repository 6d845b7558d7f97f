//! `/api/v1/relist`: the record compared with what clusters hold, now instead of at its turn.

use http::StatusCode;

use crate::app::{AppState, RelistFilter};
use crate::http::params::{CLUSTERS, KIND};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// Asks for a comparison. It costs each cluster a list of every kind, so it is for who writes and sees everything.
pub(super) async fn begin(state: AppState, request: Request) -> Result<Response, Problem> {
    if !request.body.trim_ascii().is_empty() {
        request.json::<serde_json::Map<String, serde_json::Value>>()?;
    }
    request.caller.require_write_everything()?;
    let filter = filter(&request)?;
    state.relisting.begin(&filter);
    answer(&state, &filter, StatusCode::ACCEPTED)
}

/// How the record stands. It shows all clusters, so it is for who sees everything.
pub(super) async fn report(state: AppState, request: Request) -> Result<Response, Problem> {
    request.caller.require_everything()?;
    let filter = filter(&request)?;
    answer(&state, &filter, StatusCode::OK)
}

fn filter(request: &Request) -> Result<RelistFilter, Problem> {
    let mut read = request.query.reader();
    let filter = RelistFilter { clusters: read.texts(CLUSTERS), kinds: read.words(KIND) };
    read.finish()?;
    Ok(filter)
}

fn answer(state: &AppState, filter: &RelistFilter, status: StatusCode) -> Result<Response, Problem> {
    respond::uncached_json(status, &state.relisting.report(filter))
}
