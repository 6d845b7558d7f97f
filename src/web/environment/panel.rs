//! The views of an environment: what each asks for, and what it shows.

use std::time::Duration;

use super::super::address::TAB;
use super::super::strip::Strip;
use super::super::tree::{Piece, pieces};
use super::super::{deployments, events, graph, images, places, rail, timeline};
use super::{Tab, Wanted, Way};
use crate::app::LinkTemplate;
use crate::format::{lasted, visible};
use crate::http::params::{CLUSTER, COLLAPSE, CONTINUE, ENVIRONMENT, FROM, WINDOW};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::web::shell::Shell;
use strandline_model::{At, DeclaredBy, EnvironmentId, Lane, Timestamp};
use strandline_protocol::{
    Collapse, Deployment, Environment, FoldedEvent, Graph, ImageUse, Page, Timeline, TimelinePage,
};
use strandline_query::{
    DeploymentFilter, EventFilter, GetEnvironmentGraph, GetEnvironmentTimeline, ImageFilter, ListDeployments,
    ListEnvironmentEvents, ListImages, PageRequest, Queries, Scope,
};

/// Items of a list.
const LISTED: usize = 50;

/// Spans of a timeline to choose.
const SPANS: [(&str, &str); 8] = [
    ("15m", "15 minutes"),
    ("1h", "1 hour"),
    ("6h", "6 hours"),
    ("24h", "1 day"),
    ("7d", "1 week"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("365d", "1 year"),
];

/// The span when none is chosen.
const SPAN: Duration = Duration::from_secs(24 * 3600);

/// What was found for a view.
pub(in crate::web) enum Shown {
    Graph(Graph),
    Tree(Graph),
    Timeline(Timeline),
    Changes(TimelinePage),
    Deployments(Page<Deployment>),
    Events(Page<FoldedEvent>),
    Images(Page<ImageUse>),
    Settings,
}

impl Shown {
    pub(super) fn graph(&self) -> Option<&Graph> {
        match self {
            Shown::Graph(graph) | Shown::Tree(graph) => Some(graph),
            _ => None,
        }
    }
}

/// Asks for what the view shows: at the moment of the page, and for a later page of a list at that of its first.
pub(super) async fn ask(
    queries: &Queries,
    scope: &Scope,
    (then, at): (At, At),
    id: &EnvironmentId,
    wanted: &Wanted,
) -> Result<Shown, Problem> {
    let page = PageRequest { limit: LISTED, after: wanted.after.clone() };
    let at = if page.after.is_some() { at } else { then };
    let since = Some(At::Ago(wanted.window.unwrap_or(SPAN)));
    Ok(match wanted.tab {
        Tab::Graph => {
            Shown::Graph(queries.ask(scope, then, GetEnvironmentGraph::new(id, &wanted.filter)).await?.value)
        }
        Tab::Tree => {
            Shown::Tree(queries.ask(scope, then, GetEnvironmentGraph::new(id, &wanted.filter)).await?.value)
        }
        Tab::Timeline => {
            let filter = strandline_query::TimelineFilter { since, ..timeline::filter() };
            let question = GetEnvironmentTimeline::new(id, &filter, &timeline::newest());
            Shown::Timeline(queries.ask(scope, then, question).await?.timeline)
        }
        Tab::Changes => {
            let lanes = vec![Lane::Changes, Lane::Deployments, Lane::Health];
            let filter = strandline_query::TimelineFilter { since, lanes, buckets: 1, ..timeline::filter() };
            Shown::Changes(queries.ask(scope, at, GetEnvironmentTimeline::new(id, &filter, &page)).await?)
        }
        Tab::Deployments => {
            let filter = DeploymentFilter { environment: Some(id.clone()), ..DeploymentFilter::default() };
            Shown::Deployments(queries.ask(scope, at, ListDeployments::new(&filter, &page)).await?)
        }
        Tab::Events => {
            let question = ListEnvironmentEvents::new(id, &EventFilter::default(), &page);
            Shown::Events(queries.ask(scope, at, question).await?)
        }
        Tab::Images => {
            let filter = ImageFilter { environment: Some(id.clone()), ..ImageFilter::default() };
            Shown::Images(queries.ask(scope, at, ListImages::new(&filter, &page)).await?)
        }
        Tab::Settings => Shown::Settings,
    })
}

/// A view as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Panel {
    Graph {
        drawing: graph::Drawing,
        ways: Vec<Way>,
        clusters: Vec<(String, String, bool)>,
        file: String,
    },
    Tree {
        pieces: Vec<Piece>,
        ways: Vec<Way>,
        truncated: bool,
    },
    Timeline {
        strip: Box<Strip>,
        spans: Vec<Way>,
    },
    Changes {
        lines: Vec<timeline::Line>,
        spans: Vec<Way>,
        compare: Vec<(&'static str, String)>,
        next: Option<String>,
    },
    Deployments {
        deployments: Vec<deployments::Line>,
        /// The page where they are filtered.
        feed: String,
        next: Option<String>,
    },
    Events {
        events: Vec<events::Line>,
        /// The page where they are filtered.
        feed: String,
        next: Option<String>,
    },
    Images {
        rows: Vec<images::Row>,
        next: Option<String>,
    },
    Settings {
        facts: Vec<(&'static str, String)>,
        json: Vec<(&'static str, String)>,
    },
}

impl Panel {
    pub(super) fn new(
        shell: &Shell,
        request: &Request,
        environment: &Environment,
        (wanted, templates): (&Wanted, &[LinkTemplate]),
        shown: &Shown,
        now: Timestamp,
    ) -> Self {
        let id = strandline_syntax::percent_encode(environment.id.as_str());
        let next = |token: &Option<String>| {
            let token = token.as_deref()?;
            let query = request.query.with(&[(CONTINUE, Some(token))]);
            Some(format!("{}{query}", request.context.path))
        };
        let filter = &wanted.filter;
        match shown {
            Shown::Graph(graph) => Panel::Graph {
                drawing: graph::draw(shell, graph, filter),
                ways: ways(
                    request,
                    filter.collapse,
                    [Collapse::Siblings, Collapse::None, Collapse::Owner, Collapse::Kind],
                ),
                clusters: clusters(request, environment, wanted),
                file: format!(
                    "/environments/{id}/graph.svg{}",
                    request.query.with(&[(TAB, None), (rail::SPAN, None), (WINDOW, None)])
                ),
            },
            Shown::Tree(graph) => Panel::Tree {
                pieces: pieces(shell, graph, filter, now),
                ways: ways(
                    request,
                    filter.collapse,
                    [Collapse::Siblings, Collapse::None, Collapse::Owner, Collapse::Kind],
                ),
                truncated: graph.truncated,
            },
            Shown::Timeline(found) => {
                let json = |of: &str| shell.href(&format!("/api/v1/environments/{id}/{of}"), &[]);
                let strip = timeline::strip(shell, request, found, now, (json("health"), json("timeline")));
                Panel::Timeline { strip: Box::new(strip), spans: spans(request, wanted) }
            }
            Shown::Changes(found) => Panel::Changes {
                lines: timeline::lines(shell, request, &found.timeline.entries, now),
                spans: spans(request, wanted),
                compare: compare(shell, &id, now),
                next: next(&found.metadata.next),
            },
            Shown::Deployments(found) => Panel::Deployments {
                deployments: deployments::lines(shell, &found.items, &environment.project, templates, now),
                feed: shell.href("/deployments", &[(ENVIRONMENT, environment.id.as_str())]),
                next: next(&found.metadata.next),
            },
            Shown::Events(found) => Panel::Events {
                events: events::lines(shell, &found.items, now),
                feed: shell.href("/events", &[(ENVIRONMENT, environment.id.as_str())]),
                next: next(&found.metadata.next),
            },
            Shown::Images(found) => Panel::Images {
                rows: found.items.iter().map(|one| images::row(one, shell, now)).collect(),
                next: next(&found.metadata.next),
            },
            Shown::Settings => Panel::Settings { facts: settings(environment), json: json(shell, &id) },
        }
    }
}

fn ways(request: &Request, chosen: Collapse, all: [Collapse; 4]) -> Vec<Way> {
    let way = |collapse: Collapse| {
        let word = Some(collapse.as_str()).filter(|_| collapse != Collapse::default());
        let href = format!("{}{}", request.context.path, request.query.with(&[(COLLAPSE, word)]));
        let label = match collapse {
            Collapse::Siblings => "Grouped",
            Collapse::None => "Ungrouped",
            Collapse::Owner => "Top level",
            Collapse::Kind => "By kind",
        };
        Way { label, href, chosen: chosen == collapse }
    };
    all.into_iter().map(way).collect()
}

/// Name, address, and whether it is chosen, of all clusters and of each; none where there is one.
fn clusters(request: &Request, environment: &Environment, wanted: &Wanted) -> Vec<(String, String, bool)> {
    let names = places::clusters(&environment.targets);
    if names.len() < 2 || wanted.filter.under.is_some() {
        return Vec::new();
    }
    let chosen = wanted.filter.cluster.as_deref();
    let way = |name: Option<&str>| {
        let href = format!("{}{}", request.context.path, request.query.with(&[(CLUSTER, name)]));
        (visible(name.unwrap_or("All clusters")).into_owned(), href, chosen == name)
    };
    std::iter::once(None).chain(names.into_iter().map(Some)).map(way).collect()
}

fn spans(request: &Request, wanted: &Wanted) -> Vec<Way> {
    let chosen = lasted(wanted.window.unwrap_or(SPAN));
    let way = |(span, label): (&str, &'static str)| {
        let href = format!("{}{}", request.context.path, request.query.with(&[(WINDOW, Some(span))]));
        let long = strandline_model::parse_duration(span).map(lasted);
        Way { label, href, chosen: long.as_ref() == Some(&chosen) }
    };
    SPANS.into_iter().map(way).collect()
}

/// What changed in spans that end at the moment.
fn compare(shell: &Shell, id: &str, now: Timestamp) -> Vec<(&'static str, String)> {
    let path = format!("/environments/{id}/diff");
    let spans = [("last hour", 1), ("last day", 24), ("last week", 24 * 7)];
    let span = |(label, hours): (&'static str, u64)| {
        let from = now.minus(Duration::from_secs(hours * 3600)).to_string();
        (label, shell.href(&path, &[(FROM, &from)]))
    };
    spans.into_iter().map(span).chain([("compare with …", shell.href(&path, &[]))]).collect()
}

fn settings(environment: &Environment) -> Vec<(&'static str, String)> {
    let shown = |text: &str| visible(text).into_owned();
    let all = [
        ("Project", shown(&environment.project)),
        ("Name", shown(&environment.name)),
        ("Slug", shown(&environment.slug)),
        ("Declared by", shown(&declared_by(&environment.declared_by))),
        ("State", environment.state.as_str().to_owned()),
        ("Rule set", shown(&environment.health.rule_set)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
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

/// What the page shows, in the API.
fn json(shell: &Shell, id: &str) -> Vec<(&'static str, String)> {
    let all = ["graph", "resources", "why", "onset", "health", "timeline", "events", "deployments"];
    let path = format!("/api/v1/environments/{id}");
    let whole = ("environment", shell.href(&path, &[]));
    let part = |of: &'static str| (of, shell.href(&format!("{path}/{of}"), &[]));
    std::iter::once(whole).chain(all.into_iter().map(part)).collect()
}
