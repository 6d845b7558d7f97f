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
mod execute;
mod ids;
mod objects;
mod schema;
#[cfg(test)]
mod tests;
mod texts;
mod types;

use http::StatusCode;

use crate::app::AppState;
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use asker::Asker;
use execute::{GraphqlRequest, execute};

/// The most bytes that a request may have. What tools send to learn the schema has a twentieth of it.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1024;

/// Answers a query; its errors are in `errors`; only a body that is no request is a problem.
pub(super) async fn ask(state: AppState, request: Request) -> Result<Response, Problem> {
    let asked: GraphqlRequest = request.json()?;
    let asker = Asker::new(state.queries, auth::scope(&request)?, state.clock.now());
    let response = execute(&asked, &asker).await;
    respond::uncached_json(StatusCode::OK, &response)
}
