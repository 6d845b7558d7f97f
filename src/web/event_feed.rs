//! `/events`: what Kubernetes' Events said across environments, newest first.

use askama::Template;
use http::StatusCode;

use super::events::{self, Line};
use super::feed_form::{DAY, Feed, FeedForm, Filter};
use super::live;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Shell, reference};
use crate::app::AppState;
use crate::app::events::feed;
use crate::format::visible;
use crate::http::auth;
use crate::http::params::{CONTINUE, ENVIRONMENT, REASON, TYPE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::Timestamp;
use strandline_protocol::{FeedEvent, Page};
use strandline_query::{ListEvents, PageRequest};
use strandline_syntax::percent_encode;

/// The most rows of a page, and environments of a row.
const ROWS_MAX: usize = 50;
const ENVIRONMENTS_MAX: usize = 4;

const FEED: Feed = Feed {
    path: "/events",
    api: "/api/v1/events",
    label: "Events to show",
    own: &[
        Filter::words("Type", TYPE, "All types", || vec!["normal", "warning"]),
        Filter::text("Reason", REASON, "BackOff, OOMKilling"),
        Filter::text("Environment", ENVIRONMENT, "shop.web.production"),
    ],
    back: Some(DAY),
};

/// What is said of an object of one or several environments.
struct Row {
    key: String,
    said: Line,
    environments: Vec<(String, String)>,
    more_environments: usize,
    place: String,
}

#[derive(Template)]
#[template(path = "event_feed.html")]
struct EventsPage {
    shell: Shell,
    form: FeedForm,
    rows: Vec<Row>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter, span) = (read.at(), feed(&mut read), Span::read(&mut read));
    let page = PageRequest { limit: ROWS_MAX, after: read.text(CONTINUE) };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListEvents::new(&filter, &page)).await?;
    let snapshot = &found.metadata.snapshot;
    let of_all = (&filter.environments, None);
    let rail = match &filter.environment {
        Some(id) => rail::of_environment(&state, &scope, &request, id, span, snapshot).await?,
        None => rail::of_environments(&state, &scope, &request, of_all, span, snapshot).await?,
    };
    let mut page = view(&request, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(request: &Request, found: &Page<FeedEvent>, now: Timestamp) -> EventsPage {
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new("Events", request, snapshot, now).live(&live::rarely(), snapshot);
    let now = reference(request, snapshot, now);
    EventsPage {
        form: FEED.form(request, &found.metadata, now),
        rows: found.items.iter().map(|item| row(item, now)).collect(),
        shell,
    }
}

/// An Event, with its object and its environments as they were when it was said.
fn row(item: &FeedEvent, now: Timestamp) -> Row {
    let shown = |text: &str| visible(text).into_owned();
    let FeedEvent { offset, environments, event } = item;
    let then = Shell { keep: format!("?at={offset}"), ..Shell::bare("") };
    let environment = |one: &strandline_protocol::FeedEnvironment| {
        let href = format!("/environments/{}?at={offset}", percent_encode(one.id.as_str()));
        (shown(one.id.as_str()), href)
    };
    let place = match event.key.namespace.as_str() {
        "" => event.key.cluster.clone(),
        namespace => format!("{namespace} in {}", event.key.cluster),
    };
    Row {
        key: event.id.clone(),
        said: events::line(&then, event, now),
        environments: environments.iter().take(ENVIRONMENTS_MAX).map(environment).collect(),
        more_environments: environments.len().saturating_sub(ENVIRONMENTS_MAX),
        place: shown(&place),
    }
}

/// The page of fixed Events at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, found: &Page<FeedEvent>) -> String {
    super::tests::text(&view(request, found, crate::format::tests::NOON))
}
