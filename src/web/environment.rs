//! `/environments/{id}`: an environment as a tree of what owns what.

use askama::Template;
use http::StatusCode;

use super::events;
use super::html;
use super::overview::{counts, within};
use super::places::{Place, places};
use super::shell::{Badge, Shell, Time, reference};
use crate::api::params::{PROJECT, REGION};
use crate::api::problem::Problem;
use crate::api::request::{Request, encode};
use crate::api::respond::Response;
use crate::api::{ApiState, auth};
use crate::model::{At, EnvironmentId, Timestamp};
use crate::present::{Item, Places, Step, Tree, count_of, visible};
use crate::query::{Answer, EventFilter, FoldedEvent, Graph, GraphFilter, Group, Resource};

/// Levels that are indented; what lies deeper stays at this level, so that no browser chokes on the nesting.
const DEPTH_MAX: usize = 16;

/// What a resource's line shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    kind: String,
    name: String,
    place: Option<String>,
    href: String,
    badge: Badge,
    reason: String,
    message: String,
    created: Option<Time>,
    /// Since when it is being deleted.
    terminating: Option<Time>,
    further_owners: usize,
}

/// A piece of the tree, in the order in which it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Begins a resource.
    Node(Box<Node>),
    /// Begins a list of what lies below.
    Open,
    /// Ends that list.
    Close,
    /// Begins a gathering of siblings: what they are, and their health.
    Group(String, Badge),
    /// Ends a gathering.
    GroupEnd,
    /// Ends a resource.
    End,
    /// Siblings that are only counted.
    Counted(Counted),
}

/// Siblings of one kind that the page does not show one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counted {
    label: String,
    counts: Vec<(Badge, u64)>,
}

impl Counted {
    fn new(group: &Group) -> Self {
        let number = usize::try_from(group.counts.total()).unwrap_or(usize::MAX);
        let label = visible(&count_of(number, &group.kind)).into_owned();
        Counted { label, counts: counts(group.counts) }
    }
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
    places: Vec<Place>,
    pieces: Vec<Piece>,
    truncated: bool,
    events: Vec<events::Line>,
}

/// The page.
pub(super) async fn page(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, EnvironmentId::new(request.argument(0)));
    let found = state.queries.environment_graph(&scope, at, &id, &GraphFilter::default()).await?;
    let (at, any) = (At::Offset(found.metadata.offset), &EventFilter::default());
    let said = state.queries.environment_events(&scope, at, &id, any, &events::newest()).await?.items;
    html(&request, StatusCode::OK, &view(&request, &found, &said, state.clock.now()))
}

fn view(request: &Request, found: &Answer<Graph>, said: &[FoldedEvent], now: Timestamp) -> EnvironmentPage {
    let (graph, environment) = (&found.value, &found.value.environment);
    let health = environment.health.state.map(|health| format!(": {health}")).unwrap_or_default();
    let title = format!("{} {}{health}", environment.project, environment.name);
    let shell = Shell::new(&title, request, &found.metadata, now);
    let now = reference(request, &found.metadata, now);
    let shown = |text: &str| visible(text).into_owned();
    EnvironmentPage {
        id: encode(environment.id.as_str()),
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
        places: places(&environment.targets),
        pieces: pieces(&shell, graph, now),
        truncated: graph.truncated,
        events: events::lines(&shell, said, now),
        shell,
    }
}

fn pieces(shell: &Shell, graph: &Graph, now: Timestamp) -> Vec<Piece> {
    let tree = Tree::new(graph, true);
    let places = Places::of(graph);
    let mut pieces = Vec::new();
    // What each open item needs to be closed with, the innermost last.
    let mut open: Vec<Vec<Piece>> = Vec::new();
    let mut depth = 0;
    tree.walk(|step| match step {
        Step::Enter { item: Item::Group { label, health, .. }, .. } => {
            pieces.push(Piece::Group(visible(label).into_owned(), Badge::new(*health)));
            open.push(vec![Piece::GroupEnd]);
        }
        Step::Enter { item: Item::Counted(place), .. } => {
            pieces.push(Piece::Counted(Counted::new(&graph.groups[*place])));
            open.push(Vec::new());
        }
        Step::Enter { item: Item::Node(place), parent, .. } => {
            let resource = &graph.nodes[*place].resource;
            let mut node = node(shell, resource, now);
            let above = parent.map(|parent| &graph.nodes[parent].resource.key);
            let said = places.say(&resource.key, above);
            node.place = said.map(|place| visible(&place).into_owned());
            node.further_owners = tree.further_owners(*place);
            pieces.push(Piece::Node(Box::new(node)));
            let nested = tree.has_children(*place) && depth < DEPTH_MAX;
            // Beyond the last level the line is ended at once, and what lies below follows beside it.
            if nested {
                depth += 1;
                pieces.push(Piece::Open);
                open.push(vec![Piece::Close, Piece::End]);
            } else {
                pieces.push(Piece::End);
                open.push(Vec::new());
            }
        }
        Step::Leave => {
            let closing = open.pop().unwrap_or_default();
            depth -= usize::from(closing.contains(&Piece::Close));
            pieces.extend(closing);
        }
    });
    pieces
}

fn node(shell: &Shell, resource: &Resource, now: Timestamp) -> Node {
    let key = &resource.key;
    let shown = |text: &str| visible(text).into_owned();
    let at = if shell.past() { format!("{}&", shell.keep) } else { "?".into() };
    Node {
        kind: shown(&key.kind.kind),
        name: shown(&key.name),
        place: None,
        href: format!("/resources/{}{at}cluster={}", encode(resource.id.as_str()), encode(&key.cluster)),
        badge: Badge::new(resource.health),
        reason: shown(&resource.reason),
        message: shown(&resource.message),
        created: resource.created_at.map(|time| Time::new(time, now)),
        terminating: resource.terminating_since.map(|time| Time::new(time, now)),
        further_owners: 0,
    }
}

/// The page of a fixed answer at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, found: &Answer<Graph>, said: &[FoldedEvent]) -> String {
    super::tests::text(&view(request, found, said, crate::present::tests::NOON))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Health;
    use crate::present::tests::{NOON, graph, owns, resource};

    /// The tree as text: brackets for lists and groups.
    fn written(graph: &Graph) -> String {
        let text = |piece: Piece| match piece {
            Piece::Node(node) => format!("<{}", node.name),
            Piece::Open => "[".into(),
            Piece::Close => "]".into(),
            Piece::Group(count, badge) => format!("({count} {}:", badge.word),
            Piece::GroupEnd => ")".into(),
            Piece::End => ">".into(),
            Piece::Counted(counted) => format!("+{}", counted.label),
        };
        pieces(&Shell::bare(""), graph, NOON).into_iter().map(text).collect()
    }

    #[test]
    fn lists_open_and_close_in_pairs() {
        let nodes = ["a", "b", "c"].map(|name| resource("Pod", name, Some(Health::Healthy))).to_vec();
        assert_eq!(written(&graph(nodes, vec![owns("a", "b")])), "<a[<b>]><c>");
        let many = (0..12).map(|n| resource("Pod", &n.to_string(), Some(Health::Healthy))).collect();
        let text = written(&graph(many, vec![]));
        assert!(text.starts_with("(12 Pods Healthy:<0>") && text.ends_with("<11>)"), "{text}");
    }

    #[test]
    fn deep_chains_stop_nesting_but_are_shown_whole() {
        let nodes = (0..100).map(|n| resource("Pod", &n.to_string(), None)).collect();
        let edges = (0..99).map(|n| owns(&n.to_string(), &(n + 1).to_string())).collect();
        let text = written(&graph(nodes, edges));
        assert_eq!(text.matches('[').count(), DEPTH_MAX);
        assert_eq!(text.matches(']').count(), DEPTH_MAX);
        assert_eq!(text.matches('<').count(), 100);
        assert_eq!(text.matches('>').count(), 100);
    }
}
