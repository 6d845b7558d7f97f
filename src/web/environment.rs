//! `/environments/{id}`: an environment, why it is as it is, its health over time, and a tree of what owns what.

use askama::Template;
use http::StatusCode;

use super::address::same_moment;
use super::places::{Place, places};
use super::prose::Prose;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Badge, Shell, Time, counts, reference, within};
use super::strip::Strip;
use super::tree::{Piece, pieces};
use super::{deployments, events, timeline, why};
use crate::app::AppState;
use crate::format::visible;
use crate::http::auth;
use crate::http::params::{CLUSTER, COLLAPSE, FROM, PROJECT, REGION, UNDER};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{
    At, DeclaredBy, EnvironmentFilter, EnvironmentId, EnvironmentState, Timestamp, Uid, label_pairs,
};
use strandline_protocol::{
    Answer, Collapse, Deployment, FoldedEvent, Graph, LeftBehind, Onset, Timeline, Why,
};
use strandline_query::{
    DeploymentFilter, EventFilter, ExplainEnvironment, GetEnvironmentGraph, GetEnvironmentOnset,
    GetEnvironmentTimeline, GraphFilter, ListDeployments, ListEnvironmentEvents, ListLeftBehind, OnsetFilter,
    QueryError,
};
use strandline_syntax::{Glob, percent_encode};

/// A way to show the tree.
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

#[derive(Template)]
#[template(path = "environment.html")]
struct EnvironmentPage {
    shell: Shell,
    id: String,
    name: String,
    project: String,
    project_href: String,
    tier: &'static str,
    region: String,
    region_href: String,
    badge: Badge,
    last_known: Option<Badge>,
    since: Time,
    counts: Vec<(Badge, u64)>,
    /// Whether it is in use, where it is not simply that.
    state: Option<&'static str>,
    external_url: Option<String>,
    labels: String,
    declared_by: String,
    warnings: Vec<Prose>,
    /// Name and address of what changed up to the moment, and of comparing.
    changes: Vec<(&'static str, String)>,
    places: Vec<Place>,
    left: Option<deployments::Left>,
    deployments: Vec<deployments::Line>,
    part: Option<Part>,
    ways: Vec<Way>,
    why: Option<why::Section>,
    before: Option<timeline::Before>,
    /// The same paths in the API, as many as it tells.
    why_json: String,
    health_json: String,
    strip: Option<Strip>,
    pieces: Vec<Piece>,
    truncated: bool,
    events: Vec<events::Line>,
}

/// What was found of an environment.
pub(super) struct EnvironmentData {
    pub(super) graph: Answer<Graph>,
    /// None where nothing is wrong, or where only a part is shown.
    pub(super) why: Option<Why>,
    /// None where nothing is wrong, where it is not known, or where only a part is shown.
    pub(super) onset: Option<Onset>,
    /// None where only a part is shown.
    pub(super) timeline: Option<Timeline>,
    pub(super) events: Vec<FoldedEvent>,
    /// None while it is in use.
    pub(super) left: Option<LeftBehind>,
    pub(super) deployments: Vec<Deployment>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter, span) = (read.at(), filter(&mut read), Span::read(&mut read));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let queries = &state.queries;
    let graph = queries.ask(&scope, at, GetEnvironmentGraph::new(&id, &filter)).await?;
    let (then, part) = (same_moment(at, &graph.metadata), filter.under.is_some());
    let why = match why::is_due(&graph.value.environment) && !part {
        true => Some(queries.ask(&scope, then, ExplainEnvironment::new(&id, why::PATHS)).await?.value),
        false => None,
    };
    let onset = match why.is_some() {
        true => {
            known(queries.ask(&scope, then, GetEnvironmentOnset::new(&id, OnsetFilter::default())).await)?
        }
        false => None,
    };
    let timeline = match part {
        true => None,
        false => {
            let (filter, page) = (timeline::filter(), timeline::newest());
            Some(queries.ask(&scope, then, GetEnvironmentTimeline::new(&id, &filter, &page)).await?.timeline)
        }
    };
    let (at, any) = (At::Offset(graph.metadata.offset), &EventFilter::default());
    let events =
        queries.ask(&scope, at, ListEnvironmentEvents::new(&id, any, &events::newest())).await?.items;
    let filter_of = DeploymentFilter { environment: Some(id.clone()), ..DeploymentFilter::default() };
    let deployments =
        queries.ask(&scope, at, ListDeployments::new(&filter_of, &deployments::newest())).await?.items;
    let left = match graph.value.environment.state {
        EnvironmentState::Stopped => Some(queries.ask(&scope, at, ListLeftBehind::new(&id)).await?.value),
        _ => None,
    };
    let found = EnvironmentData { graph, why, onset, timeline, events, left, deployments };
    let rail = rail::of_environment(&state, &scope, &request, &id, span, &found.graph.metadata).await?;
    let mut page = view(&request, &filter, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

/// An onset, if it is known.
fn known(found: Result<Answer<Onset>, QueryError>) -> Result<Option<Onset>, Problem> {
    match found {
        Ok(found) => Ok(Some(found.value)),
        Err(QueryError::OnsetUnknown { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn filter(read: &mut crate::http::params::ParameterReader<'_>) -> GraphFilter {
    GraphFilter {
        under: read.text(UNDER).map(Uid::new),
        cluster: read.text(CLUSTER),
        collapse: read.word(COLLAPSE).unwrap_or_default(),
        ..GraphFilter::default()
    }
}

fn view(request: &Request, filter: &GraphFilter, found: &EnvironmentData, now: Timestamp) -> EnvironmentPage {
    let (snapshot, graph) = (&found.graph.metadata, &found.graph.value);
    let environment = &graph.environment;
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
    let shown = |text: &str| visible(text).into_owned();
    let id = percent_encode(environment.id.as_str());
    let json = |of: &str| shell.href(&format!("/api/v1/environments/{id}/{of}"), &[]);
    let blind = !snapshot.coverage.complete;
    EnvironmentPage {
        name: shown(&environment.name),
        project: shown(&environment.project),
        project_href: within(&shell, PROJECT, &environment.project),
        tier: environment.tier.as_str(),
        region: shown(&environment.region),
        region_href: within(&shell, REGION, &environment.region),
        badge: Badge::new(environment.health.state),
        last_known: environment.health.last_known.map(|health| Badge::new(Some(health))),
        since: Time::new(environment.health.since, now),
        counts: counts(environment.health.counts),
        state: told(environment.state),
        external_url: link(&environment.settings.external_url),
        labels: shown(&label_pairs(&environment.labels).join(", ")),
        declared_by: shown(&declared_by(&environment.declared_by)),
        warnings: environment.warnings.iter().map(|warning| Prose::new(&warning.message)).collect(),
        left: found.left.as_ref().and_then(deployments::left),
        deployments: deployments::lines(&found.deployments, &environment.project, now),
        changes: changes(&shell, &id, now),
        places: places(&environment.targets),
        part: filter.under.as_ref().map(|uid| part(graph, uid, filter)),
        ways: ways(request, filter),
        why: found.why.as_ref().map(|found| why::Section::new(&shell, found, blind)),
        why_json: json("why"),
        health_json: json("health"),
        before: found
            .onset
            .as_ref()
            .map(|onset| timeline::Before::new(&shell, request, onset, now, json("onset"))),
        strip: found
            .timeline
            .as_ref()
            .map(|found| timeline::strip(&shell, request, found, now, (json("health"), json("timeline")))),
        pieces: pieces(&shell, graph, filter, now),
        truncated: graph.truncated,
        events: events::lines(&shell, &found.events, now),
        id,
        shell,
    }
}

/// What changed in spans that end at the moment.
fn changes(shell: &Shell, id: &str, now: Timestamp) -> Vec<(&'static str, String)> {
    let path = format!("/environments/{id}/diff");
    let spans = [("last hour", 1), ("last day", 24), ("last week", 24 * 7)];
    let span = |(label, hours): (&'static str, u64)| {
        let from = now.minus(std::time::Duration::from_secs(hours * 3600)).to_string();
        (label, shell.href(&path, &[(FROM, &from)]))
    };
    spans.into_iter().map(span).chain([("compare with …", shell.href(&path, &[]))]).collect()
}

fn told(state: EnvironmentState) -> Option<&'static str> {
    (state != EnvironmentState::Available).then(|| state.as_str())
}

/// An address that a page may link to: what is not of the web could run in the page.
fn link(url: &str) -> Option<String> {
    (url.starts_with("https://") || url.starts_with("http://")).then(|| url.to_owned())
}

fn declared_by(all: &[DeclaredBy]) -> String {
    let one = |by: &DeclaredBy| match by {
        DeclaredBy::Config => "the configuration".to_owned(),
        DeclaredBy::Folder => "a folder".to_owned(),
        DeclaredBy::Api => "the API".to_owned(),
        DeclaredBy::Namespace => "its namespace".to_owned(),
        DeclaredBy::Cluster(key) => format!("{} {} of {}", key.kind.kind, key.name, key.cluster),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn part(graph: &Graph, uid: &Uid, filter: &GraphFilter) -> Part {
    let is_it = |cluster: &str| filter.cluster.as_deref().is_none_or(|asked| asked == cluster);
    let mut nodes = graph.nodes.iter().map(|node| &node.resource);
    let top = nodes.find(|node| node.id == *uid && is_it(&node.key.cluster));
    let name = top.map(|top| format!("{} {}", top.key.kind.kind, top.key.name));
    Part { name: visible(&name.unwrap_or_else(|| uid.to_string())).into_owned() }
}

fn ways(request: &Request, filter: &GraphFilter) -> Vec<Way> {
    let way = |(collapse, label): (Collapse, &'static str)| {
        let word = Some(collapse.as_str()).filter(|_| collapse != Collapse::default());
        let href = format!("{}{}", request.context.path, request.query.with(&[(COLLAPSE, word)]));
        Way { label, href, chosen: filter.collapse == collapse }
    };
    let labels = [
        (Collapse::Siblings, "Tree"),
        (Collapse::None, "Ungrouped"),
        (Collapse::Owner, "Top level"),
        (Collapse::Kind, "By kind"),
    ];
    labels.into_iter().map(way).collect()
}

/// The page of a fixed answer at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, graph: &Answer<Graph>, events: &[FoldedEvent]) -> String {
    let (graph, events) = (graph.clone(), events.to_vec());
    let found = EnvironmentData {
        graph,
        why: None,
        onset: None,
        timeline: None,
        events,
        left: None,
        deployments: Vec::new(),
    };
    rendered_whole(request, &found)
}

/// The page of all that was found at noon, for tests.
#[cfg(test)]
pub(super) fn rendered_whole(request: &Request, found: &EnvironmentData) -> String {
    let filter = filter(&mut request.query.reader());
    super::tests::text(&view(request, &filter, found, crate::format::tests::NOON))
}
