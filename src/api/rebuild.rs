//! `/api/v1/rebuild`: the view built anew while the old one answers.

use http::StatusCode;
use serde::Serialize;

use super::ApiState;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{Offset, Timestamp};

/// How the building of a view stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RebuildState {
    /// None was begun since the service started.
    #[default]
    None,
    /// It is going on.
    Building,
    /// The new view answers.
    Done,
    /// It was given up; the view that was there answers on.
    Failed,
}

/// What there is to tell of the last build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RebuildReport {
    /// How it stands.
    pub state: RebuildState,
    /// Newest offset of the log.
    pub head: Offset,
    /// The last offset that the new view holds.
    pub checkpoint: Offset,
    /// Where it went on with a build that was broken off; zero where it began anew.
    pub resumed_at: Offset,
    /// Whether questions are answered meanwhile.
    pub serving: bool,
    /// Name of the set of rules that judge.
    pub rules: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What made it fail; empty otherwise.
    pub error: String,
}

/// Builds the view anew.
pub trait Rebuilding: Send + Sync {
    /// Begins, unless a build is going on.
    fn begin(&self);

    /// How the last build stands.
    fn report(&self) -> RebuildReport;
}

/// Begins a build, or joins the one that is going on.
pub(super) async fn begin(state: ApiState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    if !request.body.trim_ascii().is_empty() {
        request.json::<serde_json::Map<String, serde_json::Value>>()?;
    }
    request.caller.sees_everything()?;
    state.rebuilding.begin();
    tell(&state, StatusCode::ACCEPTED)
}

/// How the last build stands. It tells of all clusters, so it is for who sees everything.
pub(super) async fn report(state: ApiState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    request.caller.sees_everything()?;
    tell(&state, StatusCode::OK)
}

fn tell(state: &ApiState, status: StatusCode) -> Result<Response, Problem> {
    respond::uncached_json(status, &state.rebuilding.report())
}
