//! `/api/v1/events`, and `/events` below environments and resources: what Kubernetes' Events said, folded.

use super::atom;
use super::export::{self, Exported};
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
use strandline_syntax::percent_encode;

/// What Events said across environments, newest first.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), feed(&mut read));
    let form = read.word(FORMAT).unwrap_or_default();
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListEvents::new(&filter, &page)).await?;
    export::page(&request, form, &found)
}

impl Exported for FeedEvent {
    const FEED: (&'static str, &'static str) = ("Events", "events");
    const COLUMNS: &'static str =
        "last_at,first_at,offset,type,reason,count,environments,cluster,namespace,kind,name,note,component";

    fn cells(&self) -> Vec<String> {
        let FeedEvent { offset, environments, event } = self;
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

    /// It leads to its first environment, as it was when this was said last.
    fn entry(&self) -> atom::Entry {
        let FeedEvent { offset, environments, event } = self;
        let names: Vec<_> = environments.iter().map(|one| one.id.as_str()).collect();
        let object = event.key.kind_and_name();
        atom::Entry {
            id: format!("event:{}", percent_encode(&event.id)),
            title: format!("{}: {object} ({})", event.reason, names.join(", ")),
            updated: event.last_at,
            author: event.component.clone(),
            category: event.r#type.clone(),
            link: format!(
                "/environments/{}?at={offset}",
                percent_encode(names.first().copied().unwrap_or_default())
            ),
            summary: event.note.clone(),
        }
    }
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
