//! `/api/v1/tokens`: who may ask, and when they last did.

use http::StatusCode;

use super::ApiState;
use super::problem::Problem;
use super::request::Request;
use super::respond::{self, Response};

/// The tokens of the configuration.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    request.caller.sees_everything()?;
    respond::uncached_json(StatusCode::OK, &state.access.report())
}
