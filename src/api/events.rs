//! `/api/v1/events`, and `/events` below environments and resources: what Kubernetes' Events said, folded.

use super::csv;
use crate::app::AppState;
use crate::app::events::{feed, filter};
use crate::http::auth;
use crate::http::params::{CLUSTER, FORMAT};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{EnvironmentId, Uid};
use strandline_protocol::FeedEvent;
use strandline_query::{ListEnvironmentEvents, ListEvents, ListResourceEvents};

const COLUMNS: &str =
    "last_at,first_at,offset,type,reason,count,environments,cluster,namespace,kind,name,note,component";

/// What Events said across environments, newest first.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), feed(&mut read));
    let form = read.word(FORMAT).unwrap_or_default();
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListEvents::new(&filter, &page)).await?;
    match form {
        csv::Form::Json => respond::page(&request, &found),
        csv::Form::Csv => Ok(csv::page(&request, COLUMNS, &found, cells)),
    }
}

fn cells(item: &FeedEvent) -> Vec<String> {
    let FeedEvent { offset, environments, event } = item;
    let environments: Vec<_> = environments.iter().map(|one| one.id.as_str()).collect();
    vec![
        event.last_at.to_string(),
        event.first_at.to_string(),
        offset.to_string(),
        event.r#type.clone(),
        event.reason.clone(),
        event.count.to_string(),
        environments.join(" "),
        event.key.cluster.clone(),
        event.key.namespace.clone(),
        event.key.kind.to_string(),
        event.key.name.clone(),
        event.note.clone(),
        event.component.clone(),
    ]
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
