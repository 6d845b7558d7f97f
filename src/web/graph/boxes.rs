//! What of a graph is drawn as one box: a resource, several that are alike, or something that is named and not there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::format::{number_of, visible};
use strandline_model::{Health, Uid, attention, more_urgent};
use strandline_protocol::{Collapse, Graph, GraphNode, Group};

/// Siblings without anything below them that are drawn one by one.
const ALIKE_MAX: usize = 3;
/// Siblings with something below them that are drawn one by one.
const BRANCHES_MAX: usize = 12;
/// The most boxes that are drawn.
pub(super) const BOXES_MAX: usize = 300;
/// The most links that are drawn.
const LINKS_MAX: usize = 600;
/// Levels above a resource at which the same link is looked for.
const LEVELS_MAX: usize = 6;

/// What a box stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A resource, by its place.
    Node(usize),
    /// Resources that are alike, by their places.
    Alike(Vec<usize>),
    /// Resources that the graph only counts, by the group's place.
    Counted(usize),
    /// Something that is named and not there, by the place of the first that names it.
    Missing(usize),
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GraphBox {
    pub(super) subject: Subject,
    pub(super) cluster: String,
    pub(super) health: Option<Health>,
    /// What needs attention most in it and below it, by which boxes are ordered.
    pub(super) worst: Option<Health>,
}

/// A link, in the direction in which it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// What it is, in words.
    pub(super) words: String,
    pub(super) kind: LinkKind,
}

/// How a link is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkKind {
    Owns,
    Other,
    /// To what is not there.
    Missing,
}

/// Boxes and links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) boxes: Vec<GraphBox>,
    pub(super) links: Vec<Link>,
    /// Boxes and links that are left out.
    pub(super) left_out: (usize, usize),
}

/// The boxes of a graph, of one cluster where one is named.
pub(super) fn boxes(graph: &Graph, collapse: Collapse, cluster: Option<&str>) -> Drawn {
    let nodes = Nodes::of(graph);
    let mut drawing = Drawing { graph, nodes, boxes: Vec::new(), of: vec![None; graph.nodes.len()] };
    drawing.gather(collapse != Collapse::None);
    for (place, group) in graph.groups.iter().enumerate() {
        drawing.boxes.push(GraphBox {
            subject: Subject::Counted(place),
            cluster: group.cluster.clone(),
            health: group.counts.worst(),
            worst: group.health,
        });
    }
    let links = drawing.links();
    drawing.finish(links, cluster)
}

/// Where nodes are, and what is below which.
struct Nodes<'g> {
    by_uid: HashMap<(&'g str, &'g str), usize>,
    /// Several clusters may have one uid.
    everywhere: HashMap<&'g str, Vec<usize>>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    worst: Vec<Option<Health>>,
}

impl<'g> Nodes<'g> {
    fn of(graph: &'g Graph) -> Self {
        let key = |node: &'g GraphNode| (node.resource.key.cluster.as_str(), node.resource.id.as_str());
        let by_uid: HashMap<_, _> =
            graph.nodes.iter().enumerate().rev().map(|(place, node)| (key(node), place)).collect();
        let mut everywhere: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, node) in graph.nodes.iter().enumerate() {
            everywhere.entry(node.resource.id.as_str()).or_default().push(place);
        }
        let parent = |(place, node): (usize, &'g GraphNode)| {
            let parent = node.parent.as_ref()?;
            by_uid
                .get(&(node.resource.key.cluster.as_str(), parent.as_str()))
                .copied()
                .filter(|one| *one != place)
        };
        let parents: Vec<Option<usize>> = graph.nodes.iter().enumerate().map(parent).collect();
        let mut children = vec![Vec::new(); graph.nodes.len()];
        for (place, parent) in parents.iter().enumerate() {
            parent.iter().for_each(|&parent: &usize| children[parent].push(place));
        }
        let below = |node: &GraphNode| node.below.as_ref().and_then(|below| below.health);
        let worst = graph.nodes.iter().map(|node| more_urgent(node.resource.health, below(node))).collect();
        Nodes { by_uid, everywhere, parents, children, worst }
    }

    fn find(&self, cluster: &str, uid: &Uid) -> Option<usize> {
        self.by_uid.get(&(cluster, uid.as_str())).copied()
    }

    /// The places above one, the nearest first.
    fn above(&self, place: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.parents[place], |one| self.parents[*one]).take(LEVELS_MAX)
    }
}

/// What siblings have in common that are drawn as one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Alike<'g> {
    cluster: &'g str,
    parent: Option<usize>,
    kind: (&'g str, &'g str),
    health: Option<Health>,
    /// Whether anything is below them.
    branches: bool,
    /// Of those without an owner what they are linked with, which is all that tells them apart.
    linked: BTreeSet<&'g str>,
}

struct Drawing<'g> {
    graph: &'g Graph,
    nodes: Nodes<'g>,
    boxes: Vec<GraphBox>,
    /// The box of each node.
    of: Vec<Option<usize>>,
}

impl<'g> Drawing<'g> {
    /// Puts each node into a box: alone, or with those that are alike, and all below these with them.
    fn gather(&mut self, gather: bool) {
        let mut siblings: BTreeMap<Alike<'g>, Vec<usize>> = BTreeMap::new();
        let mut linked: Vec<BTreeSet<&'g str>> = vec![BTreeSet::new(); self.graph.nodes.len()];
        for edge in self.graph.edges.iter().filter(|edge| edge.kind != "owns") {
            for (near, far) in [(&edge.from, &edge.to), (&edge.to, &edge.from)] {
                for &near in self.ends(near).iter().filter(|near| self.nodes.parents[**near].is_none()) {
                    linked[near].insert(far);
                }
            }
        }
        for (place, linked) in linked.into_iter().enumerate() {
            let key = self.alike(place, linked);
            siblings.entry(key).or_default().push(place);
        }
        let mut alike: Vec<Option<usize>> = vec![None; self.graph.nodes.len()];
        let mut gathered: Vec<Vec<usize>> = Vec::new();
        for (key, places) in siblings {
            let most = if key.branches { BRANCHES_MAX } else { ALIKE_MAX };
            let unsound = places.first().is_some_and(|one| needs_attention(self.nodes.worst[*one]));
            if !gather || places.len() <= most || (key.branches && unsound) {
                continue;
            }
            // Of what is wrong one is shown, since it says more than a number.
            let rest = if unsound { &places[1..] } else { &places[..] };
            rest.iter().for_each(|&one| alike[one] = Some(gathered.len()));
            gathered.push(rest.to_vec());
        }
        let mut box_of_gathered: Vec<Option<usize>> = vec![None; gathered.len()];
        for place in self.downwards() {
            let above = self.nodes.parents[place].filter(|above| alike[*above].is_some());
            let swallowed = above.and_then(|above| self.of[above]);
            if let (Some(inside), Some(above)) = (swallowed, above) {
                (alike[place], self.of[place]) = (alike[above], Some(inside));
                continue;
            }
            let one = match alike[place] {
                None => self.open(place, Subject::Node(place)),
                Some(which) => match box_of_gathered[which] {
                    Some(one) => one,
                    None => {
                        let one = self.open(place, Subject::Alike(gathered[which].clone()));
                        box_of_gathered[which] = Some(one);
                        one
                    }
                },
            };
            self.of[place] = Some(one);
        }
    }

    fn alike(&self, place: usize, linked: BTreeSet<&'g str>) -> Alike<'g> {
        let node = &self.graph.nodes[place];
        let key = &node.resource.key;
        let branches = !self.nodes.children[place].is_empty() || node.below.is_some();
        Alike {
            cluster: &key.cluster,
            parent: self.nodes.parents[place],
            kind: (&key.kind.group, &key.kind.kind),
            health: self.nodes.worst[place],
            branches,
            linked: if branches { BTreeSet::new() } else { linked },
        }
    }

    /// All nodes, owners before what they own; circles from their first.
    fn downwards(&self) -> Vec<usize> {
        let count = self.graph.nodes.len();
        let mut seen = vec![false; count];
        let mut order = Vec::with_capacity(count);
        let roots = (0..count).filter(|&one| self.nodes.parents[one].is_none());
        for start in roots.chain(0..count) {
            let mut next = order.len();
            if !std::mem::replace(&mut seen[start], true) {
                order.push(start);
            }
            while let Some(&one) = order.get(next) {
                next += 1;
                for &child in &self.nodes.children[one] {
                    if !std::mem::replace(&mut seen[child], true) {
                        order.push(child);
                    }
                }
            }
        }
        order
    }

    fn open(&mut self, place: usize, subject: Subject) -> usize {
        let resource = &self.graph.nodes[place].resource;
        let (health, worst) = (resource.health, self.nodes.worst[place]);
        self.boxes.push(GraphBox { subject, cluster: resource.key.cluster.clone(), health, worst });
        self.boxes.len() - 1
    }

    /// The nodes of a uid.
    fn ends(&self, uid: &str) -> &[usize] {
        self.nodes.everywhere.get(uid).map_or(&[], Vec::as_slice)
    }

    fn links(&mut self) -> Vec<Link> {
        let mut found: BTreeMap<(LinkKind, usize, usize), BTreeMap<String, u64>> = BTreeMap::new();
        let first_group = self.boxes.len() - self.graph.groups.len();
        let groups: HashMap<&str, usize> = self
            .graph
            .groups
            .iter()
            .enumerate()
            .map(|(place, group)| (group.id.as_str(), first_group + place))
            .collect();
        // Ownership by what each node says, so that groups hang below their owners too.
        for (place, parent) in self.nodes.parents.iter().enumerate() {
            let (Some(to), Some(from)) = (self.of[place], parent.and_then(|parent| self.of[parent])) else {
                continue;
            };
            *found.entry((LinkKind::Owns, from, to)).or_default().entry("owns".into()).or_default() += 1;
        }
        for (place, group) in self.graph.groups.iter().enumerate() {
            let owner = group.parent.as_ref().and_then(|uid| self.nodes.find(&group.cluster, uid));
            let Some(from) = owner.and_then(|owner| self.of[owner]) else { continue };
            let words = found.entry((LinkKind::Owns, from, first_group + place)).or_default();
            words.insert("owns".into(), group.counts.total());
        }
        let repeated = self.repeated();
        for (number, edge) in self.graph.edges.iter().enumerate() {
            let (from, to) =
                if is_drawn_backwards(&edge.kind) { (&edge.to, &edge.from) } else { (&edge.from, &edge.to) };
            let boxes = |end: &str| -> Vec<usize> {
                let nodes = self.ends(end).iter().filter_map(|place| self.of[*place]);
                nodes.chain(groups.get(end).copied()).collect()
            };
            if repeated.contains(&number) {
                continue;
            }
            for (from, to) in
                boxes(from).into_iter().flat_map(|from| boxes(to).into_iter().map(move |to| (from, to)))
            {
                let same = self.boxes[from].cluster == self.boxes[to].cluster;
                let owned = found.contains_key(&(LinkKind::Owns, from, to))
                    || found.contains_key(&(LinkKind::Owns, to, from));
                if !same || from == to || (edge.kind == "owns" && owned) {
                    continue;
                }
                let kind = if edge.kind == "owns" { LinkKind::Owns } else { LinkKind::Other };
                let words = found.entry((kind, from, to)).or_default();
                let count = words.entry(verb(&edge.kind)).or_default();
                *count = count.saturating_add(edge.count);
            }
        }
        self.missing(&mut found);
        let link = |((kind, from, to), words): ((LinkKind, usize, usize), BTreeMap<String, u64>)| {
            let words: Vec<String> = words.into_keys().collect();
            Link { from, to, words: words.join(", "), kind }
        };
        found.into_iter().map(link).collect()
    }

    /// Links of a node that one above it has as well: a Pod's are those of its Deployment's template.
    fn repeated(&self) -> BTreeSet<usize> {
        let mut by_end: BTreeSet<(&str, &str, usize)> = BTreeSet::new();
        let backwards =
            || self.graph.edges.iter().enumerate().filter(|(_, edge)| is_drawn_backwards(&edge.kind));
        for (_, edge) in backwards() {
            by_end.extend(
                self.ends(&edge.to).iter().map(|near| (edge.kind.as_str(), edge.from.as_str(), *near)),
            );
        }
        let repeats = |edge: &strandline_protocol::Edge| {
            let near = self.ends(&edge.to);
            let above = |near: &usize| {
                self.nodes
                    .above(*near)
                    .any(|above| by_end.contains(&(edge.kind.as_str(), edge.from.as_str(), above)))
            };
            !near.is_empty() && near.iter().all(above)
        };
        backwards().filter(|(_, edge)| repeats(edge)).map(|(number, _)| number).collect()
    }

    /// A box for each thing that is named and not there, with links from what names it.
    fn missing(&mut self, found: &mut BTreeMap<(LinkKind, usize, usize), BTreeMap<String, u64>>) {
        let graph = self.graph;
        let address = |place: usize| {
            let one = &graph.missing[place];
            (one.cluster.as_str(), &one.end.kind, one.end.namespace.as_str(), one.end.name.as_str())
        };
        let mut all: BTreeMap<_, Vec<(usize, usize)>> = BTreeMap::new();
        for (place, one) in graph.missing.iter().enumerate() {
            let Some(node) = self.nodes.find(&one.cluster, &one.id) else { continue };
            let (cluster, kind, namespace, name) = address(place);
            let key = (cluster, kind.group.as_str(), kind.kind.as_str(), namespace, name);
            all.entry(key).or_default().push((node, place));
        }
        for naming in all.into_values() {
            let nodes: BTreeSet<usize> = naming.iter().map(|(node, _)| *node).collect();
            let Some(&(first, place)) = naming.first() else { continue };
            let cluster = graph.nodes[first].resource.key.cluster.clone();
            let health = Some(Health::Missing);
            self.boxes.push(GraphBox { subject: Subject::Missing(place), cluster, health, worst: health });
            let to = self.boxes.len() - 1;
            let topmost = naming
                .iter()
                .filter(|(node, _)| !self.nodes.above(*node).any(|above| nodes.contains(&above)));
            for (node, place) in topmost {
                let Some(from) = self.of[*node] else { continue };
                let words = found.entry((LinkKind::Missing, from, to)).or_default();
                *words.entry(verb(&graph.missing[*place].end.edge)).or_default() += 1;
            }
        }
    }

    /// What needs attention first, as many as may be drawn.
    fn finish(self, mut links: Vec<Link>, cluster: Option<&str>) -> Drawn {
        let mut order: Vec<usize> = (0..self.boxes.len()).collect();
        order.retain(|&one| cluster.is_none_or(|cluster| self.boxes[one].cluster == cluster));
        order.sort_by_key(|&one| attention(self.boxes[one].worst));
        let boxes_left_out = order.len().saturating_sub(BOXES_MAX);
        order.truncate(BOXES_MAX);
        let mut places: Vec<Option<usize>> = vec![None; self.boxes.len()];
        order.iter().enumerate().for_each(|(place, &one)| places[one] = Some(place));
        links.retain(|link| places[link.from].is_some() && places[link.to].is_some());
        let links_left_out = links.len().saturating_sub(LINKS_MAX);
        links.truncate(LINKS_MAX);
        for link in &mut links {
            if let (Some(from), Some(to)) = (places[link.from], places[link.to]) {
                (link.from, link.to) = (from, to);
            }
        }
        let boxes = order.into_iter().map(|one| self.boxes[one].clone()).collect();
        Drawn { boxes, links, left_out: (boxes_left_out, links_left_out) }
    }
}

/// Whether a health is one to look at.
pub(super) fn needs_attention(health: Option<Health>) -> bool {
    health.is_some_and(Health::needs_attention)
}

/// From what is used to who uses it, which is drawn the other way: configuration is right of what mounts it.
pub(super) fn is_drawn_backwards(kind: &str) -> bool {
    matches!(kind, "mounts" | "references")
}

fn verb(kind: &str) -> String {
    visible(if kind == "routes" { "routes to" } else { kind }).into_owned()
}

/// What a group is called, such as `4000 Pods`.
pub(super) fn group_name(group: &Group) -> String {
    visible(&number_of(group.counts.total(), &group.kind)).into_owned()
}
