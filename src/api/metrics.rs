//! Numbers for monitoring.

use http::StatusCode;

use super::ApiState;
use super::problem::Problem;
use super::request::Request;
use super::respond::{self, Response};

/// The type of OpenMetrics' text.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Tells the service's numbers.
pub trait Metrics: Send + Sync {
    /// All of them, in the text of OpenMetrics.
    ///
    /// # Errors
    /// When they cannot be written.
    fn text(&self) -> Result<String, std::fmt::Error>;
}

/// `/metrics`: they tell of all clusters, so they are for who sees everything.
pub(super) async fn metrics(state: ApiState, request: Request) -> Result<Response, Problem> {
    request.caller.sees_everything()?;
    let text = state.metrics.text().map_err(Problem::internal)?;
    Ok(respond::uncached(StatusCode::OK, CONTENT_TYPE, text.into_bytes()))
}
