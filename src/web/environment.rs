//! `/environments/{id}`: an environment, why it is as it is, what changed just before, and one view of what it holds.
//!
//! Each view is an address of its own, and only what it shows is asked for.

mod facts;
mod panel;

use askama::Template;
use http::StatusCode;

use super::address::{TAB, same_moment};
use super::graph;
use super::prose::Prose;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Badge, Shell, Time, reference, within};
use super::strip::Strip;
use super::tree::Piece;
use super::{deployments, links, projects, timeline, why};
use crate::app::{AppState, LinkTemplates};
use crate::format::{lasted, per_cent, visible, worsened};
use crate::http::auth;
use crate::http::params::{CLUSTER, COLLAPSE, CONTINUE, FROM, GROUP, ParameterReader, UNDER, WINDOW};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use facts::Facts;
use panel::Panel;
pub(super) use panel::Shown;
use strandline_model::{At, EnvironmentFilter, EnvironmentId, EnvironmentState, Health, Timestamp, Uid};
use strandline_protocol::{Answer, Deployment, Environment, HealthHistory, LeftBehind, Onset, Why};
use strandline_query::{
    DeploymentFilter, ExplainEnvironment, GetEnvironment, GetEnvironmentGraph, GetEnvironmentHealth,
    GetEnvironmentOnset, GraphFilter, HealthFilter, ListDeployments, ListLeftBehind, OnsetFilter, QueryError,
};
use strandline_syntax::{Glob, keywords, percent_encode};

/// A view of an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Graph,
    Tree,
    Timeline,
    Changes,
    Deployments,
    Events,
    Images,
    Settings,
}

keywords!(
    Tab, "tab", Exact,
    Graph => "graph",
    Tree => "tree",
    Timeline => "timeline",
    Changes => "changes",
    Deployments => "deployments",
    Events => "events",
    Images => "images",
    Settings => "settings",
);

impl Tab {
    const fn label(self) -> &'static str {
        match self {
            Tab::Graph => "Graph",
            Tab::Tree => "Tree",
            Tab::Timeline => "Timeline",
            Tab::Changes => "Changes",
            Tab::Deployments => "Deployments",
            Tab::Events => "Events",
            Tab::Images => "Images",
            Tab::Settings => "Settings",
        }
    }
}

/// What of an environment is asked for.
#[derive(Clone, Debug, Default)]
struct Wanted {
    tab: Tab,
    filter: GraphFilter,
    /// The span of a timeline.
    window: Option<std::time::Duration>,
    /// The token of a later page of a list.
    after: Option<String>,
}

/// The longest span of a timeline.
const WINDOW_MAX: std::time::Duration = std::time::Duration::from_secs(366 * 24 * 3600);

/// The span of which the head says how much was healthy.
const MONTH: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);

impl Wanted {
    fn read(read: &mut ParameterReader<'_>) -> Self {
        let tab: Tab = read.word(TAB).unwrap_or_default();
        let limit = if tab == Tab::Graph { graph::NODES_MAX } else { GraphFilter::default().limit };
        let filter = GraphFilter {
            under: read.text(UNDER).map(Uid::new),
            cluster: read.text(CLUSTER),
            collapse: read.word(COLLAPSE).unwrap_or_default(),
            limit,
            ..GraphFilter::default()
        };
        Wanted { tab, filter, window: read.duration(WINDOW, WINDOW_MAX), after: read.text(CONTINUE) }
    }
}

/// A view to choose, or a way to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    label: &'static str,
    href: String,
    chosen: bool,
}

/// The part of an environment that is shown alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// The resource at its top.
    name: String,
}

/// Health in the last 30 days.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Month {
    healthy: String,
    /// Of which time that is.
    span: String,
    incidents: String,
}

#[derive(Template)]
#[template(path = "environment.html")]
struct EnvironmentPage {
    shell: Shell,
    id: String,
    name: String,
    /// Name and address of the project's group and of the project.
    above: Vec<(String, String)>,
    badge: Badge,
    last_known: Option<Badge>,
    since: Time,
    month: Option<Month>,
    /// Whether it is in use, where it is not simply that.
    state: Option<&'static str>,
    /// Name and address of what is elsewhere.
    links: Vec<(String, String)>,
    facts: Facts,
    warnings: Vec<Prose>,
    left: Option<deployments::Left>,
    part: Option<Part>,
    tabs: Vec<Way>,
    why: Option<why::Section>,
    before: Option<timeline::Before>,
    /// The same paths in the API, as many as it tells.
    why_json: String,
    panel: Panel,
}

/// What was found of an environment.
pub(super) struct EnvironmentData {
    pub(super) environment: Answer<Environment>,
    /// None where nothing is wrong, or where only a part is shown.
    pub(super) why: Option<Why>,
    /// None where nothing is wrong, where it is not known, or where only a part is shown.
    pub(super) onset: Option<Onset>,
    /// None where only a part is shown.
    pub(super) month: Option<HealthHistory>,
    /// None while it is in use.
    pub(super) left: Option<LeftBehind>,
    /// The newest.
    pub(super) deployments: Vec<Deployment>,
    pub(super) shown: Shown,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, wanted, span) = (read.at(), Wanted::read(&mut read), Span::read(&mut read));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let queries = &state.queries;
    let environment = queries.ask(&scope, at, GetEnvironment::new(&id)).await?;
    let (then, part) = (same_moment(at, &environment.metadata), wanted.filter.under.is_some());
    let shown = panel::ask(queries, &scope, (then, at), &id, &wanted).await?;
    let why = match why::is_due(&environment.value) && !part {
        true => Some(queries.ask(&scope, then, ExplainEnvironment::new(&id, why::PATHS)).await?.value),
        false => None,
    };
    let onset = match why.is_some() {
        true => {
            known(queries.ask(&scope, then, GetEnvironmentOnset::new(&id, OnsetFilter::default())).await)?
        }
        false => None,
    };
    let month = match part {
        true => None,
        false => {
            let filter = HealthFilter { since: Some(At::Ago(MONTH)), limit: 1 };
            Some(queries.ask(&scope, then, GetEnvironmentHealth::new(&id, filter)).await?.value)
        }
    };
    let filter_of = DeploymentFilter { environment: Some(id.clone()), ..DeploymentFilter::default() };
    let newest = deployments::newest();
    let deployments = queries.ask(&scope, then, ListDeployments::new(&filter_of, &newest)).await?.items;
    let left = match environment.value.state {
        EnvironmentState::Stopped => Some(queries.ask(&scope, then, ListLeftBehind::new(&id)).await?.value),
        _ => None,
    };
    let found = EnvironmentData { environment, why, onset, month, left, deployments, shown };
    let rail = rail::of_environment(&state, &scope, &request, &id, span, &found.environment.metadata).await?;
    let queries = state.queries.clone();
    let work = move || {
        let mut page = view(&request, &wanted, &found, &state.presentation.links, state.clock.now());
        page.shell = page.shell.with_rail(rail);
        html(StatusCode::OK, &page)
    };
    queries.compute(work).await?
}

/// `/environments/{id}/graph.svg`: the drawn graph as a file.
pub(super) async fn graph_file(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, wanted) = (read.at(), Wanted::read(&mut read));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.ask(&scope, at, GetEnvironmentGraph::new(&id, &wanted.filter)).await?;
    let queries = state.queries.clone();
    let work = move || {
        let shell = Shell::new("", &request, &found.metadata, state.clock.now());
        let drawing = graph::draw(&shell, &found.value, &wanted.filter);
        graph::report(&drawing, &found.value, &found.metadata)
    };
    queries.compute(work).await?
}

/// An onset, if it is known.
fn known(found: Result<Answer<Onset>, QueryError>) -> Result<Option<Onset>, Problem> {
    match found {
        Ok(found) => Ok(Some(found.value)),
        Err(QueryError::OnsetUnknown { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn view(
    request: &Request,
    wanted: &Wanted,
    found: &EnvironmentData,
    templates: &LinkTemplates,
    now: Timestamp,
) -> EnvironmentPage {
    let (snapshot, environment) = (&found.environment.metadata, &found.environment.value);
    let health = environment.health.state.map(|health| format!(": {health}")).unwrap_or_default();
    let title = format!("{} {}{health}", environment.project, environment.name);
    let this = EnvironmentFilter {
        projects: vec![Glob::exactly(&environment.project)],
        names: vec![Glob::exactly(&environment.name)],
        states: vec![environment.state],
        ..EnvironmentFilter::default()
    };
    let shell = Shell::new(&title, request, snapshot, now).live(&this, snapshot);
    let now = reference(request, snapshot, now);
    let id = percent_encode(environment.id.as_str());
    let compare = |onset: &Onset| {
        let from = timeline::before_causes(onset).to_string();
        shell.href(&format!("/environments/{id}/diff"), &[(FROM, &from)])
    };
    let json = |of: &str| shell.href(&format!("/api/v1/environments/{id}/{of}"), &[]);
    let blind = !snapshot.coverage.complete;
    let part = wanted.filter.under.as_ref().map(|uid| part(found.shown.graph(), uid, &wanted.filter));
    EnvironmentPage {
        name: visible(&environment.name).into_owned(),
        above: above(&shell, &environment.project),
        badge: Badge::new(environment.health.state),
        last_known: environment.health.last_known.map(|health| Badge::new(Some(health))),
        since: Time::new(environment.health.since, now),
        month: found.month.as_ref().and_then(month),
        state: (environment.state != EnvironmentState::Available).then(|| environment.state.as_str()),
        links: link(&environment.settings.external_url)
            .into_iter()
            .chain(links::of_environment(&templates.environments, environment, now))
            .collect(),
        facts: Facts::new(&shell, environment, &found.deployments, now),
        warnings: environment.warnings.iter().map(|warning| Prose::new(&warning.message)).collect(),
        left: found.left.as_ref().and_then(deployments::left),
        why: found.why.as_ref().map(|found| why::Section::new(&shell, found, blind)),
        why_json: json("why"),
        before: found.onset.as_ref().map(|onset| timeline::Before {
            compare: Some(compare(onset)),
            ..timeline::Before::new(&shell, request, onset, now, json("onset"))
        }),
        tabs: tabs(&shell, &id, wanted),
        panel: Panel::new(&shell, request, environment, (wanted, &templates.deployments), &found.shown, now),
        part,
        id,
        shell,
    }
}

/// The groups and the project above an environment, with pages of what they hold.
fn above(shell: &Shell, project: &str) -> Vec<(String, String)> {
    let (group, name) = project.rsplit_once('/').unwrap_or(("", project));
    let of_group = (!group.is_empty()).then(|| (visible(group).into_owned(), within(shell, GROUP, group)));
    let of_project = (visible(name).into_owned(), projects::href(shell, project));
    of_group.into_iter().chain([of_project]).collect()
}

/// The part of what is known in which it was Healthy: what was not recorded, or not watched, counts for neither.
fn month(history: &HealthHistory) -> Option<Month> {
    let total = |health: Option<Health>| {
        let of = |time: &&strandline_protocol::HealthTime| health.is_none() || time.health == health;
        history.times.iter().filter(of).fold(0_u64, |sum, time| sum.saturating_add(time.total_ms))
    };
    let [unknown, healthy] = [Health::Unknown, Health::Healthy].map(|health| total(Some(health)));
    let known = total(None).saturating_sub(unknown);
    if known == 0 {
        return None;
    }
    let [recorded, unknown] = [known.saturating_add(unknown), unknown].map(std::time::Duration::from_millis);
    let whole = recorded + std::time::Duration::from_secs(3600) >= MONTH;
    let span = if whole { "in 30 days".to_owned() } else { format!("of {} recorded", lasted(recorded)) };
    let span = match unknown.is_zero() {
        true => span,
        false => format!("{span}, but for {} not known", lasted(unknown)),
    };
    Some(Month { healthy: per_cent(healthy, known), span, incidents: worsened(history) })
}

/// The views, each with its address; of a part the two that show parts.
fn tabs(shell: &Shell, id: &str, wanted: &Wanted) -> Vec<Way> {
    let all = Tab::ALL.into_iter();
    let all = all.filter(|tab| wanted.filter.under.is_none() || matches!(tab, Tab::Graph | Tab::Tree));
    let way = |tab: Tab| {
        let mut pairs = Vec::new();
        pairs.extend((tab != Tab::default()).then(|| (TAB, tab.as_str())));
        pairs.extend(wanted.filter.under.as_ref().map(|uid| (UNDER, uid.as_str())));
        let cluster = wanted.filter.cluster.as_deref().filter(|_| wanted.filter.under.is_some());
        pairs.extend(cluster.map(|cluster| (CLUSTER, cluster)));
        let href = shell.href(&format!("/environments/{id}"), &pairs);
        Way { label: tab.label(), href, chosen: tab == wanted.tab }
    };
    all.map(way).collect()
}

/// An address that a page may link to, with its host: what is not of the web could run in the page.
fn link(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    Some((visible(host).into_owned(), url.to_owned()))
}

fn part(graph: Option<&strandline_protocol::Graph>, uid: &Uid, filter: &GraphFilter) -> Part {
    let is_it = |cluster: &str| filter.cluster.as_deref().is_none_or(|asked| asked == cluster);
    let nodes = graph.map_or(&[][..], |graph| graph.nodes.as_slice());
    let mut nodes = nodes.iter().map(|node| &node.resource);
    let top = nodes.find(|node| node.id == *uid && is_it(&node.key.cluster));
    let name = top.map(|top| format!("{} {}", top.key.kind.kind, top.key.name));
    Part { name: visible(&name.unwrap_or_else(|| uid.to_string())).into_owned() }
}

/// The page of all that was found at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, found: &EnvironmentData) -> String {
    let wanted = Wanted::read(&mut request.query.reader());
    super::tests::text(&view(request, &wanted, found, &LinkTemplates::default(), crate::format::tests::NOON))
}
