//! `/projects/{path}`: a project's environments, what was deployed and changed in it last, and its agents.

use std::time::Duration;

use askama::Template;
use http::StatusCode;

use super::address::same_moment;
use super::agents::{self, AgentRow};
use super::changes;
use super::deployments;
use super::environments::{self, Table};
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Shell, reference, within};
use crate::app::{AppState, LinkTemplates};
use crate::format::visible;
use crate::http::auth;
use crate::http::params::{GROUP, PROJECT, SINCE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, EnvironmentFilter, Timestamp, label_pairs};
use strandline_protocol::{Agent, Deployment, FeedEntry, Overview, Project, Snapshot};
use strandline_query::{
    ChangesFilter, DeploymentFilter, GetProject, ListChanges, ListDeployments, PageRequest, QueryError,
};
use strandline_syntax::{Glob, percent_encode};

/// How many deployments and changes the page shows, and how far back it looks for changes.
const NEWEST: PageRequest = PageRequest { limit: 10, after: None };
const CHANGES_SINCE: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage {
    shell: Shell,
    name: String,
    /// The groups above it, from the outermost, with pages of what they hold.
    above: Vec<(String, String)>,
    facts: Vec<(&'static str, String)>,
    table: Table,
    all: String,
    deployments: Vec<deployments::Line>,
    changes: Vec<changes::Row>,
    changes_href: String,
    events_href: String,
    agents: Vec<AgentRow>,
    json: Option<String>,
}

/// What was found of a project.
struct ProjectData {
    /// None where the catalog knows it only as that of environments or agents.
    project: Option<Project>,
    overview: Overview,
    deployments: Vec<Deployment>,
    changes: Vec<FeedEntry>,
    agents: Vec<Agent>,
    snapshot: Snapshot,
}

/// The page of a project.
pub(super) fn href(shell: &Shell, path: &str) -> String {
    shell.href(&format!("/projects/{}", percent_encode(path)), &[])
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, span) = (read.at(), Span::read(&mut read));
    read.finish()?;
    let (scope, path) = (auth::scope(&request)?, request.argument(0));
    let queries = &state.queries;
    let only = vec![Glob::exactly(path)];
    let of_project = EnvironmentFilter { projects: only.clone(), ..EnvironmentFilter::default() };
    let overview = queries.ask(&scope, at, environments::question(of_project.clone())).await?;
    let then = same_moment(at, &overview.metadata);
    let mut agents = agents::all(&state, &scope, then).await?;
    agents.retain(|agent| agent.project.eq_ignore_ascii_case(path));
    let project = match queries.ask(&scope, then, GetProject::new(path)).await {
        Ok(found) => Some(found.value),
        // Who sees an environment or an agent of it by other means than the project sees that.
        Err(QueryError::NotFound { .. }) if overview.value.totals.total > 0 || !agents.is_empty() => None,
        Err(error) => return Err(error.into()),
    };
    let filter = DeploymentFilter { projects: only, ..DeploymentFilter::default() };
    let deployments = queries.ask(&scope, then, ListDeployments::new(&filter, &NEWEST)).await?.items;
    let filter = ChangesFilter {
        environments: of_project.clone(),
        since: Some(At::Ago(CHANGES_SINCE)),
        ..ChangesFilter::default()
    };
    let changes = queries.ask(&scope, then, ListChanges::new(&filter, &NEWEST)).await?.items;
    let snapshot = overview.metadata;
    let found = ProjectData { project, overview: overview.value, deployments, changes, agents, snapshot };
    let of = (&of_project, found.overview.trend.as_ref());
    let rail = rail::of_environments(&state, &scope, &request, of, span, &found.snapshot).await?;
    let mut page = view(&request, &found, &state.presentation.links, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(request: &Request, found: &ProjectData, templates: &LinkTemplates, now: Timestamp) -> ProjectPage {
    // As it was declared, however it is asked for.
    let path = found.project.as_ref().map_or(request.argument(0), |project| project.id.as_str());
    let snapshot = &found.snapshot;
    let shown = |text: &str| visible(text).into_owned();
    let filter = EnvironmentFilter { projects: vec![Glob::exactly(path)], ..EnvironmentFilter::default() };
    let shell = Shell::new(&format!("Project {path}"), request, snapshot, now).live(&filter, snapshot);
    let now = reference(request, snapshot, now);
    let facts = found.project.as_ref().map(|project| {
        let number = project.number.map(|number| number.to_string());
        let labels = label_pairs(&project.labels).join(", ");
        [
            ("Default branch", project.default_branch.clone()),
            ("Number in GitLab", number.unwrap_or_default()),
            ("Labels", labels),
            ("Declared by", project.source.as_str().to_owned()),
        ]
    });
    let facts = facts.into_iter().flatten().filter(|(_, value)| !value.is_empty());
    let since = snapshot.at.or(snapshot.time).unwrap_or(now).minus(CHANGES_SINCE).to_the_second().to_string();
    let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
    let place = Glob::exactly(path).to_string();
    ProjectPage {
        name: shown(name),
        above: groups(&shell, group),
        facts: facts.map(|(name, value)| (name, shown(&value))).collect(),
        table: Table::new(&shell, &found.overview, now),
        all: within(&shell, PROJECT, &place),
        deployments: deployments::lines(&shell, &found.deployments, path, &templates.deployments, now),
        changes: found.changes.iter().map(|entry| changes::row(entry, now)).collect(),
        changes_href: shell.href("/changes", &[(PROJECT, &place), (SINCE, &since)]),
        events_href: shell.href("/events", &[(PROJECT, &place), (SINCE, &since)]),
        agents: found.agents.iter().map(|agent| AgentRow::new(&shell, agent)).collect(),
        json: found
            .project
            .as_ref()
            .map(|_| shell.href(&format!("/api/v1/projects/{}", percent_encode(path)), &[])),
        shell,
    }
}

/// Each group above, with the environments below it.
fn groups(shell: &Shell, group: &str) -> Vec<(String, String)> {
    let ends = group.match_indices('/').map(|(end, _)| end).chain((!group.is_empty()).then_some(group.len()));
    let one = |end: usize| {
        let whole = group.get(..end).unwrap_or(group);
        let name = whole.rsplit('/').next().unwrap_or(whole);
        (visible(name).into_owned(), within(shell, GROUP, whole))
    };
    ends.map(one).collect()
}

/// The page of a project at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(
    request: &Request,
    project: Option<Project>,
    overview: Overview,
    deployments: Vec<Deployment>,
    changes: Vec<FeedEntry>,
    agents: Vec<Agent>,
) -> String {
    use crate::format::tests::{NOON, snapshot};
    let found = ProjectData { project, overview, deployments, changes, agents, snapshot: snapshot() };
    super::tests::text(&view(request, &found, &LinkTemplates::default(), NOON))
}
