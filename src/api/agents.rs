//! `/api/v1/agents`, and what their configurations decide.

use crate::app::{AppState, access};
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_query::{GetAgent, ListAgents};

/// Agents.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.ask(&auth::scope(&request)?, at, ListAgents::new(&page)).await?)
}

/// One agent.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let id = access::agent_id(&request)?;
    respond::json(&request, &state.queries.ask(&auth::scope(&request)?, at, GetAgent::new(&id)).await?)
}

/// Whether a job may deploy with an agent: what `strandline access check` tells of a file.
pub(super) async fn allowed(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, job) = (read.at(), access::job(&mut read));
    read.finish()?;
    let (job, id) = (job?, access::agent_id(&request)?);
    let decided = access::decision(&state, &request, at, id, job).await?;
    respond::json(&request, &serde_json::to_value(&decided).map_err(Problem::internal)?)
}
