//! Timelines of environments and of resources.

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{BELOW, BUCKETS, CLUSTER, LANE, ORDER, ParameterReader};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{EnvironmentId, Uid};
use strandline_protocol::Timeline;
use strandline_query::{GetEnvironmentTimeline, GetResourceTimeline, TimelineFilter};

/// What happened to an environment.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter, page) = (read.at(), filter(&mut read), read.page());
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, GetEnvironmentTimeline::new(&id, &filter, &page)).await?;
    respond::leading_on(&request, &found, &found.metadata)
}

/// What happened to a resource, or to it and all below it.
pub(super) async fn of_resource(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter, page) = (read.at(), filter(&mut read), read.page());
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let cluster = request.query.one(CLUSTER);
    let found =
        state.queries.ask(&scope, at, GetResourceTimeline::new(&uid, cluster, &filter, &page)).await?;
    respond::leading_on(&request, &found, &found.metadata)
}

fn filter(read: &mut ParameterReader<'_>) -> TimelineFilter {
    TimelineFilter {
        since: read.since(),
        buckets: read.number(BUCKETS, 1, Timeline::BUCKETS).unwrap_or(Timeline::BUCKETS_DEFAULT),
        lanes: read.words(LANE),
        order: read.word(ORDER).unwrap_or_default(),
        below: read.flag(BELOW),
    }
}
