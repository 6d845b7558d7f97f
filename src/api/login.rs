//! `/api/v1/whoami`: who a caller is; `/api/v1/login`: how the command line becomes one.

use http::StatusCode;

use crate::app::AppState;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// The caller as the server knows them.
pub(super) async fn who_am_i(request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    respond::uncached_json(StatusCode::OK, &request.caller.who_am_i())
}

/// How the command line logs in, for who has no token yet.
pub(super) async fn methods(state: AppState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    respond::uncached_json(StatusCode::OK, &state.access.login_methods())
}
