//! `/changes`: what people, pipelines and GitOps tools changed across environments, newest first.

use askama::Template;
use http::StatusCode;

use super::chip::Choice;
use super::deployments;
use super::feed_form::{DAY, Feed, FeedForm, Filter};
use super::live;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Shell, Time, reference};
use crate::app::{AppState, changes};
use crate::format::{entry_subject, grouped, visible};
use crate::http::auth;
use crate::http::params::{BY, CONTINUE, CONTROLLERS, TYPE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::Timestamp;
use strandline_protocol::{FeedEntry, FeedKind, Page};
use strandline_query::{ListChanges, PageRequest};
use strandline_syntax::percent_encode;

/// The most rows of a page, and environments of a row.
const ROWS_MAX: usize = 50;
const ENVIRONMENTS_MAX: usize = 6;

const FEED: Feed = Feed {
    path: "/changes",
    api: "/api/v1/changes",
    label: "Changes to show",
    own: &[
        Filter::words("Type", TYPE, "Made by somebody", || FeedKind::ALL.map(FeedKind::as_str).to_vec()),
        Filter::text("By", BY, "alice or argocd*"),
        Filter { chip: false, ..Filter::kept("Controllers", CONTROLLERS) },
    ],
    back: Some(DAY),
};

/// A change, made in one or several places.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) subject: String,
    /// The resource as it was after the change, or before its end; the deployment as it was recorded.
    pub(super) href: Option<String>,
    pub(super) summary: String,
    /// How much controllers did about it.
    pub(super) followed: Option<String>,
    pub(super) time: Time,
    pub(super) kind: &'static str,
    pub(super) by: String,
    pub(super) environments: Vec<(String, String)>,
    pub(super) more_environments: usize,
    pub(super) clusters: String,
}

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    shell: Shell,
    heading: String,
    form: FeedForm,
    controllers: Vec<(Choice, String)>,
    rows: Vec<Row>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter, span) = (read.at(), changes::filter(&mut read), Span::read(&mut read));
    let page = PageRequest { limit: ROWS_MAX, after: read.text(CONTINUE) };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListChanges::new(&filter, &page)).await?;
    let of = (&filter.environments, None);
    let rail = rail::of_environments(&state, &scope, &request, of, span, &found.metadata.snapshot).await?;
    let mut page = view(&request, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(request: &Request, found: &Page<FeedEntry>, now: Timestamp) -> ChangesPage {
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new("Changes", request, snapshot, now).live(&live::rarely(), snapshot);
    let now = reference(request, snapshot, now);
    let all = request.query.one(CONTROLLERS) == Some("true");
    let way = |label: &str, chosen, value: Option<&str>| {
        let choice = Choice { value: String::new(), label: label.to_owned(), chosen };
        (choice, FEED.with(request, &[(CONTROLLERS, value)]))
    };
    ChangesPage {
        heading: "Changes".to_owned(),
        form: FEED.form(request, &found.metadata, now),
        controllers: vec![way("counted", !all, None), way("listed", all, Some("true"))],
        rows: found.items.iter().map(|entry| row(entry, now)).collect(),
        shell,
    }
}

pub(super) fn row(entry: &FeedEntry, now: Timestamp) -> Row {
    let shown = |text: &str| visible(text).into_owned();
    let offset = entry.entry.offset;
    // Of what ended there is nothing to see but what it was.
    let as_of = offset.get().saturating_sub(u64::from(entry.kind == FeedKind::Deleted));
    let href = entry.entry.resource.as_ref().map(|resource| {
        let (id, cluster) = (percent_encode(resource.id.as_str()), percent_encode(&resource.key.cluster));
        format!("/resources/{id}?at={as_of}&cluster={cluster}")
    });
    let deployment = entry.entry.deployment.as_ref().map(|deployment| {
        let then = Shell { keep: format!("?at={as_of}"), ..Shell::bare("") };
        deployments::href(&then, &deployment.spec)
    });
    let environment = |one: &strandline_protocol::FeedEnvironment| {
        let href = format!("/environments/{}?at={offset}", percent_encode(one.id.as_str()));
        (shown(one.id.as_str()), href)
    };
    let followed = match entry.follow_ups {
        0 => None,
        1 => Some("1 change by controllers followed".to_owned()),
        many => Some(format!("{} changes by controllers followed", grouped(many))),
    };
    Row {
        id: entry.entry.id.clone(),
        subject: shown(&entry_subject(&entry.entry)),
        href: href.or(deployment),
        summary: shown(&entry.summary),
        followed,
        time: Time::new(entry.entry.observed_at, now),
        kind: entry.kind.as_str(),
        by: shown(&entry.by),
        environments: entry.environments.iter().take(ENVIRONMENTS_MAX).map(environment).collect(),
        more_environments: entry.environments.len().saturating_sub(ENVIRONMENTS_MAX),
        clusters: entry.clusters.iter().map(|cluster| shown(cluster)).collect::<Vec<_>>().join(", "),
    }
}

/// The page of fixed changes at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, found: &Page<FeedEntry>) -> String {
    super::tests::text(&view(request, found, crate::format::tests::NOON))
}
