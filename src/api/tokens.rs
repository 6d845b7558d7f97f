//! `/api/v1/tokens`: who may ask, and when they last did.

use http::StatusCode;

use crate::app::AppState;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// The tokens of the configuration.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    request.caller.require_everything()?;
    respond::uncached_json(StatusCode::OK, &state.access.report())
}
