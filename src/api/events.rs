//! `/events` below environments and resources: what Kubernetes' Events said, folded.

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{CLUSTER, ParameterReader, REASON, TYPE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{EnvironmentId, Uid};
use strandline_query::{EventFilter, ListEnvironmentEvents, ListResourceEvents};

fn filter(read: &mut ParameterReader<'_>) -> EventFilter {
    EventFilter { types: read.words(TYPE), reasons: read.texts(REASON) }
}

/// What Events said of the resources of an environment, newest first.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), filter(&mut read));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, ListEnvironmentEvents::new(&id, &filter, &page)).await?;
    respond::page(&request, &found)
}

/// What Events said of a resource, newest first.
pub(super) async fn of_resource(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), filter(&mut read));
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let cluster = request.query.one(CLUSTER);
    let found = state.queries.ask(&scope, at, ListResourceEvents::new(&uid, cluster, &filter, &page)).await?;
    respond::page(&request, &found)
}
