//! `/deployments`: deployments across environments, newest first.

use askama::Template;
use http::StatusCode;

use super::deployments::{self, Line};
use super::feed_form::{Feed, FeedForm, Filter};
use super::live;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Shell, reference};
use crate::app::deployments::filter;
use crate::app::{AppState, LinkTemplate};
use crate::format::visible;
use crate::http::auth;
use crate::http::params::{BY, CONTINUE, ENVIRONMENT, REFS, STATUS};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{DeploymentStatus, EnvironmentId, Timestamp};
use strandline_protocol::{Deployment, Page};
use strandline_query::{ListDeployments, PageRequest};
use strandline_syntax::percent_encode;

/// The most rows of a page.
const ROWS_MAX: usize = 50;

const FEED: Feed = Feed {
    path: "/deployments",
    api: "/api/v1/deployments",
    label: "Deployments to show",
    own: &[
        Filter::words("Status", STATUS, "Any status", || {
            DeploymentStatus::ALL.map(DeploymentStatus::as_str).to_vec()
        }),
        Filter::text("Environment", ENVIRONMENT, "shop.web.production"),
        Filter::text("Branch or tag", REFS, "main or v2.*"),
        Filter::text("By", BY, "alice"),
    ],
    back: None,
};

/// A deployment, with the name and address of its environment.
struct Row {
    said: Line,
    environment: (String, String),
}

#[derive(Template)]
#[template(path = "deployment_feed.html")]
struct DeploymentsPage {
    shell: Shell,
    form: FeedForm,
    rows: Vec<Row>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let environment = request.query.one(ENVIRONMENT).map(EnvironmentId::new);
    let mut read = request.query.reader();
    let (at, filter, span) = (read.at(), filter(&mut read, environment), Span::read(&mut read));
    let page = PageRequest { limit: ROWS_MAX, after: read.text(CONTINUE) };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListDeployments::new(&filter, &page)).await?;
    let snapshot = &found.metadata.snapshot;
    let rail = match &filter.environment {
        Some(id) => rail::of_environment(&state, &scope, &request, id, span, snapshot).await?,
        None => {
            let of = (&filter.environments, None);
            rail::of_environments(&state, &scope, &request, of, span, snapshot).await?
        }
    };
    let mut page = view(&request, &found, &state.presentation.links.deployments, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(
    request: &Request,
    found: &Page<Deployment>,
    templates: &[LinkTemplate],
    now: Timestamp,
) -> DeploymentsPage {
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new("Deployments", request, snapshot, now).live(&live::rarely(), snapshot);
    let now = reference(request, snapshot, now);
    // Told with its project: those of a page are of several.
    let said = deployments::lines(&shell, &found.items, "", templates, now);
    let environment = |item: &Deployment| {
        let id = item.spec.environment.as_str();
        (visible(id).into_owned(), shell.href(&format!("/environments/{}", percent_encode(id)), &[]))
    };
    DeploymentsPage {
        form: FEED.form(request, &found.metadata, now),
        rows: said
            .into_iter()
            .zip(&found.items)
            .map(|(said, item)| Row { said, environment: environment(item) })
            .collect(),
        shell,
    }
}

/// The page of fixed deployments at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, found: &Page<Deployment>) -> String {
    super::tests::text(&view(request, found, &[], crate::format::tests::NOON))
}
