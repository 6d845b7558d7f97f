//! `POST /api/v1/graphql`: environments and their deployments in the shape in which GitLab's own GraphQL API tells them,
//! so that the query of the blueprint (seeds 000 and 002) is answered as it is written.
//!
//! Only queries; nothing is changed and nothing subscribed to. What a caller may not see is not there, and all that
//! stands below one `project` holds for one moment. How much a query may ask for is settled before anything is read:
//! by the limits of [`schema`], and by [`cost`].
//!
//! Why: docs/decisions/0021-graphql-has-a-cost-before-it-is-read.md.

mod answer;
mod asker;
mod connections;
mod cost;
mod ids;
mod objects;
mod schema;
#[cfg(test)]
mod tests;
mod texts;
mod types;

use http::StatusCode;
use juniper::Variables;
use serde::Deserialize;

use crate::app::AppState;
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use asker::Asker;

/// The most bytes that a request may have. What tools send to learn the schema has a twentieth of it.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1024;

/// A request, in the shape in which GraphQL is asked over HTTP.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    query: String,
    #[serde(rename = "operationName", default)]
    operation_name: Option<String>,
    #[serde(default)]
    variables: Option<Variables>,
    /// What clients send along for extensions of the protocol, of which we have none.
    #[serde(rename = "extensions", default)]
    _extensions: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Answers a query; what is wrong with it is told in `errors`, and only what is no request at all is a problem.
pub(super) async fn ask(state: AppState, request: Request) -> Result<Response, Problem> {
    let asked: Asked = request.json()?;
    let asker = Asker::new(state.queries, auth::scope(&request)?);
    let told = schema::answer(&asked, &asker).await;
    respond::uncached_json(StatusCode::OK, &told)
}
