//! The drawn graph of an environment: layers from left to right, a lane for each cluster, as SVG that needs no script.
//!
//! The server lays it out, so that it is the same picture for everybody, in print and in a report. What is drawn is
//! bounded, whatever an environment holds; the tree says the same as text.

mod boxes;
mod layout;
mod relations;
mod report;

use std::collections::BTreeSet;

use super::address::TAB;
use super::shell::{Badge, Shell};
use super::tree::resource_href;
use crate::format::{cut, grouped, number_of, visible, why_so};
use crate::http::params::{CLUSTER, COLLAPSE, KIND, ORDER, OWNER, UNDER};
use boxes::{Drawn, GraphBox, Link, LinkKind, Subject, needs_attention};
use layout::{BOX_WIDTH, Boxes, place};
pub(super) use relations::relations;
pub(super) use report::report;
#[cfg(test)]
pub(super) use report::report_text;
use strandline_model::{Health, Uid};
use strandline_protocol::{Collapse, Graph, GraphNode};
use strandline_query::{GraphFilter, ResourceOrder};
use strandline_syntax::percent_encode;

/// Resources that are asked for to be drawn one by one.
pub(super) const NODES_MAX: usize = 200;

/// The height of a box with two lines, and of one with three.
const HEIGHTS: (f64, f64) = (46.0, 62.0);
/// Letters that fit into a box.
const LETTERS: usize = 24;
/// Letters of a kind that fit beside a sign, and of one beside a sign and a word.
const KIND_LETTERS: (usize, usize) = (28, 16);
/// Letters of a message in a tooltip.
const MESSAGE: usize = 240;
/// The room around a drawing, and above each lane for its name.
const EDGE: f64 = 8.0;
const LANE_NAME: f64 = 34.0;
const LANE_GAP: f64 = 26.0;

/// A box on its way to the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) badge: Badge,
    /// The word beside the sign; empty for what is sound or has no health.
    pub(super) word: &'static str,
    pub(super) kind: String,
    pub(super) name: String,
    /// Why, or what is below it and not drawn; empty for neither.
    pub(super) note: String,
    /// Whether it stands for several.
    pub(super) many: bool,
    /// Whether it is named and not there.
    pub(super) missing: bool,
    pub(super) href: Option<String>,
    pub(super) title: String,
}

impl Cell {
    /// A box at the origin that stands for one thing that is there, without a link; what is too long for it is in the title.
    fn of(health: Option<Health>, kind: &str, name: &str, note: &str) -> Self {
        let shown = |text: &str, letters: usize| cut(&visible(text), letters);
        let badge = Badge::new(health);
        let word = if needs_attention(health) { badge.word } else { "" };
        let letters = if word.is_empty() { KIND_LETTERS.0 } else { KIND_LETTERS.1 };
        let comma = if note.is_empty() { "" } else { ", " };
        Cell {
            x: 0,
            y: 0,
            width: BOX_WIDTH as i64,
            height: if note.is_empty() { HEIGHTS.0 } else { HEIGHTS.1 } as i64,
            badge,
            word,
            kind: shown(kind, letters),
            name: shown(name, LETTERS),
            note: shown(note, LETTERS + 4),
            many: false,
            missing: false,
            href: None,
            title: visible(&format!("{kind} {name}: {}{comma}{note}", badge.word)).into_owned(),
        }
    }
}

/// A line between boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) class: &'static str,
    pub(super) path: String,
    pub(super) title: String,
}

/// What one cluster holds of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) y: i64,
}

/// The drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drawing {
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) lanes: Vec<Lane>,
    pub(super) lines: Vec<Line>,
    pub(super) cells: Vec<Cell>,
    /// What it shows, in words.
    pub(super) label: String,
    /// What is left out of it, in words; empty for nothing.
    pub(super) left_out: String,
}

/// Draws a graph that was asked for with a filter.
pub(super) fn draw(shell: &Shell, graph: &Graph, filter: &GraphFilter) -> Drawing {
    // With a resource to begin at, the cluster says whose it is.
    let cluster = filter.cluster.as_deref().filter(|_| filter.under.is_none());
    let drawn = boxes::boxes(graph, filter.collapse, cluster);
    let clusters: BTreeSet<&str> = drawn.boxes.iter().map(|one| one.cluster.as_str()).collect();
    let cells = Cells { shell, graph, id: percent_encode(graph.environment.id.as_str()) };
    let mut drawing = Drawing::default();
    let mut top = EDGE;
    for cluster in clusters {
        let name = visible(&lane_name(graph, cluster)).into_owned();
        drawing.lanes.push(Lane { name, y: (top + 14.0) as i64 });
        top = drawing.lane(&drawn, cluster, &cells, top + LANE_NAME) + LANE_GAP;
    }
    drawing.height = (top - LANE_GAP + EDGE).max(0.0).ceil() as i64;
    drawing.label = label(graph, &drawing);
    drawing.left_out = left_out(&drawn);
    drawing
}

/// A cluster with the namespaces in it.
fn lane_name(graph: &Graph, cluster: &str) -> String {
    let of_cluster = graph.nodes.iter().map(|node| &node.resource.key).filter(|key| key.cluster == cluster);
    let names: BTreeSet<&str> =
        of_cluster.map(|key| key.namespace.as_str()).filter(|name| !name.is_empty()).collect();
    match names.len() {
        0 => cluster.to_owned(),
        1..=3 => format!("{cluster} · {}", names.into_iter().collect::<Vec<_>>().join(", ")),
        more => format!("{cluster} · {more} namespaces"),
    }
}

fn label(graph: &Graph, drawing: &Drawing) -> String {
    let environment = &graph.environment;
    let health = environment.health.state.map(|health| format!(", {health}")).unwrap_or_default();
    let name = visible(&format!("{} {}", environment.project, environment.name)).into_owned();
    let lanes: Vec<&str> = drawing.lanes.iter().map(|lane| lane.name.as_str()).collect();
    format!("Resources of {name}{health}, in {}", lanes.join("; "))
}

fn left_out(drawn: &Drawn) -> String {
    let of = |number: usize, what: &str| {
        (number > 0)
            .then(|| format!("{} more {what}{}", grouped(number as u64), if number == 1 { "" } else { "s" }))
    };
    let (boxes, links) = drawn.left_out;
    [of(boxes, "box").map(|text| text.replace("boxs", "boxes")), of(links, "link")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ")
}

impl Drawing {
    /// Adds what is in a cluster below `top`, and returns where it ends.
    fn lane(&mut self, drawn: &Drawn, cluster: &str, cells: &Cells<'_>, top: f64) -> f64 {
        let mut places: Vec<Option<usize>> = vec![None; drawn.boxes.len()];
        let mut of_lane = Vec::new();
        for (number, one) in drawn.boxes.iter().enumerate().filter(|(_, one)| one.cluster == cluster) {
            places[number] = Some(of_lane.len());
            of_lane.push(cells.cell(one));
        }
        let ends = |link: &Link| Some((places[link.from]?, places[link.to]?));
        let heights: Vec<f64> = of_lane.iter().map(|cell| cell.height as f64).collect();
        let links = drawn.links.iter().filter_map(ends).collect();
        let positions = place(&Boxes { heights, links });
        for (cell, (x, y)) in of_lane.iter_mut().zip(&positions.of) {
            (cell.x, cell.y) = ((x + EDGE) as i64, (y + top) as i64);
        }
        for link in &drawn.links {
            let Some((from, to)) = ends(link) else { continue };
            let title = format!("{} {} {}", of_lane[from].name, link.words, of_lane[to].name);
            let class = match link.kind {
                LinkKind::Owns => "owns",
                LinkKind::Other => "other",
                LinkKind::Missing => "missing",
            };
            self.lines.push(Line { class, path: curve(&of_lane[from], &of_lane[to]), title });
        }
        self.cells.extend(of_lane);
        self.width = self.width.max((positions.width + 2.0 * EDGE).ceil() as i64);
        top + positions.height
    }
}

/// From the right side of a box to the left side of another.
fn curve(from: &Cell, to: &Cell) -> String {
    let (x, y) = (from.x + BOX_WIDTH as i64, from.y + from.height / 2);
    let (right, lower) = (to.x, to.y + to.height / 2);
    let bend = ((right - x) / 2).clamp(28, 90);
    format!("M{x} {y}C{} {y} {} {lower} {right} {lower}", x + bend, right - bend)
}

/// What is said of boxes.
struct Cells<'g> {
    shell: &'g Shell,
    graph: &'g Graph,
    /// The environment, as addresses have it.
    id: String,
}

impl Cells<'_> {
    fn cell(&self, one: &GraphBox) -> Cell {
        let (kind, name, note, many) = match &one.subject {
            Subject::Node(place) => {
                let node = &self.graph.nodes[*place];
                let note = match (needs_attention(one.health), self.hidden_below(node)) {
                    (true, _) => node.resource.reason.clone(),
                    (false, Some(below)) => format!("{} below", grouped(below)),
                    (false, None) => String::new(),
                };
                (node.resource.key.kind.kind.clone(), node.resource.key.name.clone(), note, false)
            }
            Subject::Alike(places) => {
                let first = &self.graph.nodes[places[0]].resource;
                let reason = if needs_attention(one.health) { first.reason.clone() } else { String::new() };
                (format!("× {}", places.len()), number_of(places.len() as u64, &first.key.kind), reason, true)
            }
            Subject::Counted(place) => {
                let group = &self.graph.groups[*place];
                (
                    format!("× {}", grouped(group.counts.total())),
                    boxes::group_name(group),
                    String::new(),
                    true,
                )
            }
            Subject::Missing(place) => {
                let end = &self.graph.missing[*place].end;
                (end.kind.kind.clone(), end.name.clone(), "does not exist".to_owned(), false)
            }
        };
        let cell = Cell::of(one.health, &kind, &name, &note);
        Cell {
            many,
            missing: matches!(one.subject, Subject::Missing(_)),
            href: self.href(&one.subject),
            title: self.title(one, cell.badge),
            ..cell
        }
    }

    /// How much is below a node of which nothing is drawn.
    fn hidden_below(&self, node: &GraphNode) -> Option<u64> {
        let below = node.below.as_ref()?;
        let (uid, cluster) = (&node.resource.id, &node.resource.key.cluster);
        let is_drawn = self
            .graph
            .nodes
            .iter()
            .any(|one| one.parent.as_ref() == Some(uid) && one.resource.key.cluster == *cluster)
            || self
                .graph
                .groups
                .iter()
                .any(|one| one.parent.as_ref() == Some(uid) && one.cluster == *cluster);
        (!is_drawn).then_some(below.total)
    }

    fn href(&self, subject: &Subject) -> Option<String> {
        let href = match subject {
            Subject::Node(place) => {
                let node = &self.graph.nodes[*place];
                let (uid, cluster) = (&node.resource.id, &node.resource.key.cluster);
                match self.hidden_below(node) {
                    Some(_) => self.under(uid, cluster, None),
                    None => resource_href(self.shell, uid, cluster),
                }
            }
            Subject::Alike(places) => {
                let first = &self.graph.nodes[*places.first()?];
                let cluster = &first.resource.key.cluster;
                match &first.parent {
                    Some(owner) => self.under(owner, cluster, Some(Collapse::None)),
                    None => self.page(&[(TAB, "tree"), (COLLAPSE, Collapse::None.as_str())]),
                }
            }
            Subject::Counted(place) => {
                let group = &self.graph.groups[*place];
                let mut pairs =
                    vec![(KIND, group.kind.kind.as_str()), (ORDER, ResourceOrder::Health.as_str())];
                pairs.extend(group.parent.as_ref().map(|owner| (OWNER, owner.as_str())));
                match &group.parent {
                    Some(owner) => self.page(&[
                        (TAB, "tree"),
                        (UNDER, owner.as_str()),
                        (CLUSTER, &group.cluster),
                        (COLLAPSE, Collapse::None.as_str()),
                    ]),
                    None => self.shell.href(&format!("/api/v1/environments/{}/resources", self.id), &pairs),
                }
            }
            Subject::Missing(place) => {
                let missing = &self.graph.missing[*place];
                resource_href(self.shell, &missing.id, &missing.cluster)
            }
        };
        Some(href)
    }

    /// The drawing of what is below a resource.
    fn under(&self, uid: &Uid, cluster: &str, collapse: Option<Collapse>) -> String {
        let mut pairs = vec![(UNDER, uid.as_str()), (CLUSTER, cluster)];
        pairs.extend(collapse.map(|collapse| (COLLAPSE, collapse.as_str())));
        self.page(&pairs)
    }

    fn page(&self, pairs: &[(crate::http::params::Parameter, &str)]) -> String {
        self.shell.href(&format!("/environments/{}", self.id), pairs)
    }

    /// All of it in words.
    fn title(&self, one: &GraphBox, badge: Badge) -> String {
        let text = match &one.subject {
            Subject::Node(place) => {
                let resource = &self.graph.nodes[*place].resource;
                let why = if needs_attention(one.health) { why_so(resource) } else { String::new() };
                let why = if why.is_empty() { why } else { format!(", {}", cut(&why, MESSAGE)) };
                format!("{} {}: {}{why}", resource.key.kind.kind, resource.key.name, badge.word)
            }
            Subject::Alike(places) => {
                let kind = &self.graph.nodes[places[0]].resource.key.kind;
                format!("{}: {}", number_of(places.len() as u64, kind), badge.word)
            }
            Subject::Counted(place) => {
                format!("{}: {}", boxes::group_name(&self.graph.groups[*place]), badge.word)
            }
            Subject::Missing(place) => {
                let end = &self.graph.missing[*place].end;
                format!("{} {}: does not exist, but is named", end.kind.kind, end.name)
            }
        };
        visible(&text).into_owned()
    }
}

#[cfg(test)]
mod tests;
