//! The tree of an environment's page.

use super::address::TAB;
use super::shell::{Badge, Shell, Time, counts};
use crate::format::{Item, Places, Step, Tree, below, grouped, links, number_of, visible};
use crate::http::params::{CLUSTER, COLLAPSE, KIND, ORDER, OWNER, UNDER};
use strandline_model::{Timestamp, Uid};
use strandline_protocol::{Collapse, Graph, GraphNode, Group};
use strandline_query::{GraphFilter, ResourceOrder};
use strandline_syntax::percent_encode;

/// Levels that are indented; what lies deeper stays at this level, so that no browser chokes on the nesting.
const DEPTH_MAX: usize = 16;

/// Of a resource with more than this below it there is a view of its own.
const BELOW_MANY: u64 = 20;

/// What a resource's line shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) place: Option<String>,
    pub(super) href: String,
    pub(super) badge: Badge,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) created: Option<Time>,
    /// Since when it is being deleted.
    pub(super) terminating: Option<Time>,
    pub(super) further_owners: usize,
    /// What it is linked with besides ownership; empty for nothing.
    pub(super) links: String,
    /// What is below it, with the address that shows this alone.
    pub(super) below: Option<(String, String)>,
}

/// A piece of the tree, in the order in which it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
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
pub(super) struct Counted {
    pub(super) label: String,
    pub(super) place: Option<String>,
    /// Where they are shown.
    pub(super) href: String,
    pub(super) counts: Vec<(Badge, u64)>,
    /// What is worse below them than they are themselves.
    pub(super) below: Option<Badge>,
}

/// The address of a resource's page.
pub(super) fn resource_href(shell: &Shell, uid: &Uid, cluster: &str) -> String {
    shell.href(&format!("/resources/{}", percent_encode(uid.as_str())), &[(CLUSTER, cluster)])
}

/// A graph on its way to the page.
struct Drawing<'g> {
    shell: &'g Shell,
    graph: &'g Graph,
    filter: &'g GraphFilter,
    /// The environment, as addresses have it.
    id: String,
    tree: Tree,
    places: Places,
    links: Vec<Vec<String>>,
    now: Timestamp,
}

/// The pieces of a graph that was asked for with a filter.
pub(super) fn pieces(shell: &Shell, graph: &Graph, filter: &GraphFilter, now: Timestamp) -> Vec<Piece> {
    let drawing = Drawing {
        shell,
        graph,
        filter,
        id: percent_encode(graph.environment.id.as_str()),
        tree: Tree::new(graph, true),
        places: Places::of(graph),
        links: links(graph),
        now,
    };
    drawing.pieces()
}

impl Drawing<'_> {
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        // What each open item needs to be closed with, the innermost last.
        let mut open: Vec<Vec<Piece>> = Vec::new();
        let mut depth = 0;
        self.tree.walk(|step| match step {
            Step::Enter { item: Item::Group { label, health, .. }, .. } => {
                pieces.push(Piece::Group(visible(label).into_owned(), Badge::new(*health)));
                open.push(vec![Piece::GroupEnd]);
            }
            Step::Enter { item: Item::Counted(place), .. } => {
                pieces.push(Piece::Counted(self.counted(*place)));
                open.push(Vec::new());
            }
            Step::Enter { item: Item::Node(place), parent, .. } => {
                pieces.push(Piece::Node(Box::new(self.node(*place, parent))));
                let nested = self.tree.has_children(*place) && depth < DEPTH_MAX;
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

    fn node(&self, place: usize, parent: Option<usize>) -> Node {
        let node = &self.graph.nodes[place];
        let (resource, key) = (&node.resource, &node.resource.key);
        let shown = |text: &str| visible(text).into_owned();
        let above = parent.map(|parent| &self.graph.nodes[parent].resource.key);
        let links = self.links.get(place).map(|links| links.join(", ")).unwrap_or_default();
        Node {
            kind: shown(&key.kind.kind),
            name: shown(&key.name),
            place: self.places.say(key, above).map(|place| shown(&place)),
            href: resource_href(self.shell, &resource.id, &key.cluster),
            badge: Badge::new(resource.health),
            reason: shown(&resource.reason),
            message: shown(&resource.message),
            created: resource.created_at.map(|time| Time::new(time, self.now)),
            terminating: resource.terminating_since.map(|time| Time::new(time, self.now)),
            further_owners: self.tree.further_owners(place),
            links: shown(&links),
            below: self.below(node, self.tree.hides(place)),
        }
    }

    /// What is below a node, where it is not drawn or is much, with the address that shows this alone.
    fn below(&self, node: &GraphNode, hidden: bool) -> Option<(String, String)> {
        let all = node.below.as_ref()?;
        let shown_alone = self.filter.under.as_ref() == Some(&node.resource.id);
        let text = match hidden {
            true => format!("below: {}", below(all)),
            false if all.total > BELOW_MANY && !shown_alone => format!("all {} below", grouped(all.total)),
            false => return None,
        };
        let href = self.under(&node.resource.id, &node.resource.key.cluster, None);
        Some((visible(&text).into_owned(), href))
    }

    fn counted(&self, place: usize) -> Counted {
        let group = &self.graph.groups[place];
        let shown = |text: &str| visible(text).into_owned();
        let many = shown(&number_of(group.counts.total(), &group.kind));
        Counted {
            label: if self.tree.is_rest(place) { format!("… {many}") } else { many },
            place: self.places.of_group(group).map(shown),
            href: self.one_by_one(group),
            counts: counts(group.counts),
            below: group
                .health
                .filter(|worst| group.counts.worst() != Some(*worst))
                .map(|worst| Badge::new(Some(worst))),
        }
    }

    /// The address of the view below a resource.
    fn under(&self, uid: &Uid, cluster: &str, collapse: Option<Collapse>) -> String {
        let mut pairs = vec![(TAB, "tree"), (UNDER, uid.as_str()), (CLUSTER, cluster)];
        pairs.extend(collapse.map(|collapse| (COLLAPSE, collapse.as_str())));
        self.shell.href(&format!("/environments/{}", self.id), &pairs)
    }

    /// Where the siblings of a group are shown one by one: in a view below their owner, and where this is that view
    /// already, or there is no owner, in the API's list, which goes on and on.
    fn one_by_one(&self, group: &Group) -> String {
        let uncollapsed = self.filter.collapse == Collapse::None;
        if let Some(owner) = group.parent.as_ref().filter(|_| !uncollapsed) {
            return self.under(owner, &group.cluster, Some(Collapse::None));
        }
        let mut pairs = vec![(KIND, group.kind.kind.as_str()), (ORDER, ResourceOrder::Health.as_str())];
        pairs.extend(group.parent.as_ref().map(|owner| (OWNER, owner.as_str())));
        self.shell.href(&format!("/api/v1/environments/{}/resources", self.id), &pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{NOON, graph, owns, resource};
    use strandline_model::Health;

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
        pieces(&Shell::bare(""), graph, &GraphFilter::default(), NOON).into_iter().map(text).collect()
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
