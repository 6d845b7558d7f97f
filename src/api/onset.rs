//! When a health began, and what changed just before.

use std::time::Duration;

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{CLUSTER, HEALTH_ONE, ParameterReader, WINDOW};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{EnvironmentId, Uid};
use strandline_protocol::Onset;
use strandline_query::{GetEnvironmentOnset, GetResourceOnset, OnsetFilter};

/// What changed before an environment became what it is.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter) = (read.at(), filter(&mut read));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    respond::json(&request, &state.queries.ask(&scope, at, GetEnvironmentOnset::new(&id, filter)).await?)
}

/// What changed before a resource became what it is.
pub(super) async fn of_resource(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter) = (read.at(), filter(&mut read));
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let cluster = request.query.one(CLUSTER);
    respond::json(
        &request,
        &state.queries.ask(&scope, at, GetResourceOnset::new(&uid, cluster, filter)).await?,
    )
}

fn filter(read: &mut ParameterReader<'_>) -> OnsetFilter {
    let most = Duration::from_secs(Onset::WINDOW_SECONDS_MAX);
    let window = read.duration(WINDOW, most).unwrap_or(OnsetFilter::default().window);
    OnsetFilter { health: read.word(HEALTH_ONE), window }
}
