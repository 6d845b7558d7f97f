//! `/api/v1/rebuild`: the view built anew while the old one answers.

use http::StatusCode;

use crate::app::AppState;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// Begins a build, or joins the one that is going on.
pub(super) async fn begin(state: AppState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    if !request.body.trim_ascii().is_empty() {
        request.json::<serde_json::Map<String, serde_json::Value>>()?;
    }
    request.caller.require_write_everything()?;
    state.rebuilding.begin();
    tell(&state, StatusCode::ACCEPTED)
}

/// How the last build stands. It tells of all clusters, so it is for who sees everything.
pub(super) async fn report(state: AppState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    request.caller.require_everything()?;
    tell(&state, StatusCode::OK)
}

fn tell(state: &AppState, status: StatusCode) -> Result<Response, Problem> {
    respond::uncached_json(status, &state.rebuilding.report())
}
