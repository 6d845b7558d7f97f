//! A graph as a tree: what owns what, the worst first, many of a kind gathered.
//!
//! Nothing here recurses, and every resource is drawn exactly once, so chains of any depth, cycles, shared
//! children and uids that two clusters hold are all drawn in time linear in the graph.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::count_of;
use strandline_model::{Health, Kind, Uid, attention, more_urgent};
use strandline_protocol::{Graph, GraphNode, Group};

/// More siblings than this of one kind and health are gathered.
const SIBLINGS_MAX: usize = 10;

/// More resources than this that have no health are gathered, where others have one.
const HEALTHLESS_MAX: usize = 3;

/// One place in a list of siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A resource, by its place among the graph's nodes.
    Node(usize),
    /// Siblings that the graph only counts, by their place among its groups.
    Counted(usize),
    /// Siblings that say little one by one and whose worst health, with all below them, is the same.
    Group {
        /// What they are, such as `21 Pods`.
        label: String,
        /// Their health.
        health: Option<Health>,
        /// They themselves.
        members: Vec<Item>,
    },
}

/// A step of a walk through a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'t> {
    /// Comes to an item.
    Enter {
        /// The item.
        item: &'t Item,
        /// The resource below which it is drawn.
        parent: Option<usize>,
        /// Whether no sibling follows.
        last: bool,
    },
    /// Is done with the item last entered and all below it.
    Leave,
}

/// What owns what in a graph.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    roots: Vec<Item>,
    children: Vec<Vec<Item>>,
    /// Owners beyond the one under which a node is drawn.
    further_owners: Vec<usize>,
    /// Whether a node owns something that is neither drawn nor counted.
    hides: Vec<bool>,
    /// Whether siblings that are only counted are the rest of some that are drawn.
    rests: Vec<bool>,
}

impl Tree {
    /// The tree of a graph; with `gather`, many siblings of a kind become one item.
    pub fn new(graph: &Graph, gather: bool) -> Self {
        let nodes = &graph.nodes;
        let places = ByUid::of(nodes);
        let (parents, further_owners) = parents(graph, &places);
        let mut below = vec![Vec::new(); nodes.len()];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                below[*parent].push(child);
            }
        }
        let mut roots: Vec<usize> = (0..nodes.len()).filter(|&node| parents[node].is_none()).collect();
        cut_cycles(&mut roots, &mut below);
        let worst: Vec<Option<Health>> = nodes.iter().map(worst).collect();
        let childless: Vec<bool> = nodes.iter().map(|node| node.below.is_none()).collect();
        let siblings = Siblings { nodes, worst: &worst, childless: &childless, gather };
        let mut children: Vec<_> =
            below.into_iter().map(|children| siblings.arrange(children, true)).collect();
        let mut roots = siblings.without_health_last(roots);
        let owners: Vec<_> = graph.groups.iter().map(|group| owner(group, &places)).collect();
        let (hides, rests) = (hidden(graph, &parents, &owners), rests(graph, &parents, &owners));
        // Those that are only counted need attention less than those that are shown.
        let mut counted: Vec<usize> = (0..graph.groups.len()).collect();
        counted.sort_by_key(|&group| (attention(graph.groups[group].health), &graph.groups[group].cluster));
        for group in counted {
            let siblings = owners[group].and_then(|parent| children.get_mut(parent)).unwrap_or(&mut roots);
            siblings.push(Item::Counted(group));
        }
        Tree { children, roots, further_owners, hides, rests }
    }

    /// Whether a node owns something that is neither drawn nor counted below it.
    pub fn hides(&self, node: usize) -> bool {
        self.hides.get(node).copied().unwrap_or(false)
    }

    /// Whether siblings that the graph only counts are the rest of some that are drawn.
    pub fn is_rest(&self, group: usize) -> bool {
        self.rests.get(group).copied().unwrap_or(false)
    }

    /// How many owners a node has besides the one it is drawn under.
    pub fn further_owners(&self, node: usize) -> usize {
        self.further_owners.get(node).copied().unwrap_or(0)
    }

    /// Whether anything is drawn below a node.
    pub fn has_children(&self, node: usize) -> bool {
        self.children.get(node).is_some_and(|children| !children.is_empty())
    }

    /// Walks through all of it, siblings in order and children before the next sibling.
    pub fn walk<'t>(&'t self, mut visit: impl FnMut(Step<'t>)) {
        let mut open = vec![(self.roots.iter(), None)];
        while let Some((siblings, parent)) = open.last_mut() {
            let parent = *parent;
            let Some(item) = siblings.next() else {
                open.pop();
                if !open.is_empty() {
                    visit(Step::Leave);
                }
                continue;
            };
            visit(Step::Enter { item, parent, last: siblings.as_slice().is_empty() });
            open.push(match item {
                Item::Node(node) => (self.children[*node].iter(), Some(*node)),
                Item::Group { members, .. } => (members.iter(), parent),
                Item::Counted(_) => ([].iter(), parent),
            });
        }
    }
}

/// What needs attention most in a node and all below it, shown or not.
fn worst(node: &GraphNode) -> Option<Health> {
    let below = node.below.as_ref().and_then(|below| below.health);
    more_urgent(node.resource.health, below)
}

/// Where nodes stand, by uid; several clusters may hold the same one.
struct ByUid<'g> {
    nodes: &'g [GraphNode],
    by_uid: HashMap<&'g Uid, Vec<usize>>,
}

impl<'g> ByUid<'g> {
    fn of(nodes: &'g [GraphNode]) -> Self {
        let mut by_uid: HashMap<&Uid, Vec<usize>> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            by_uid.entry(&node.resource.id).or_default().push(place);
        }
        ByUid { nodes, by_uid }
    }

    fn all(&self, uid: &Uid) -> &[usize] {
        self.by_uid.get(uid).map_or(&[], Vec::as_slice)
    }

    /// The node with this uid in a cluster.
    fn find(&self, cluster: &str, uid: &Uid) -> Option<usize> {
        self.all(uid).iter().copied().find(|&place| self.nodes[place].resource.key.cluster == cluster)
    }
}

/// Under which node each is drawn, and how many owners it has besides.
fn parents(graph: &Graph, places: &ByUid<'_>) -> (Vec<Option<usize>>, Vec<usize>) {
    let parent = |(place, node): (usize, &GraphNode)| {
        let parent = places.find(&node.resource.key.cluster, node.parent.as_ref()?);
        parent.filter(|parent| *parent != place)
    };
    let parents: Vec<Option<usize>> = graph.nodes.iter().enumerate().map(parent).collect();
    let mut further = vec![0; graph.nodes.len()];
    for edge in graph.edges.iter().filter(|edge| edge.kind == "owns") {
        let (from, to) = (Uid::new(edge.from.as_str()), Uid::new(edge.to.as_str()));
        for &child in places.all(&to) {
            let owner = places.find(&graph.nodes[child].resource.key.cluster, &from);
            if owner.is_some_and(|owner| owner != child && parents[child] != Some(owner)) {
                further[child] += 1;
            }
        }
    }
    (parents, further)
}

/// The node below which siblings stand that are only counted.
fn owner(group: &Group, places: &ByUid<'_>) -> Option<usize> {
    places.find(&group.cluster, group.parent.as_ref()?)
}

fn hidden(graph: &Graph, parents: &[Option<usize>], owners: &[Option<usize>]) -> Vec<bool> {
    let mut shown = vec![0; graph.nodes.len()];
    parents.iter().flatten().for_each(|&parent| shown[parent] += 1);
    for (group, owner) in graph.groups.iter().zip(owners) {
        owner.iter().for_each(|&owner| shown[owner] = group.counts.total().saturating_add(shown[owner]));
    }
    let children = |node: &GraphNode| node.below.as_ref().map_or(0, |below| below.children);
    graph.nodes.iter().zip(shown).map(|(node, shown)| children(node) > shown).collect()
}

fn rests(graph: &Graph, parents: &[Option<usize>], owners: &[Option<usize>]) -> Vec<bool> {
    let kinds = graph.nodes.iter().zip(parents);
    let kinds: HashSet<_> =
        kinds.map(|(node, parent)| (*parent, &node.resource.key.cluster, &node.resource.key.kind)).collect();
    let groups = graph.groups.iter().zip(owners);
    groups.map(|(group, owner)| kinds.contains(&(*owner, &group.cluster, &group.kind))).collect()
}

/// Makes a root of one node in every cycle and cuts the link that closes it. Servers send none, but what comes over a
/// network is not to be trusted with a walk without end.
fn cut_cycles(roots: &mut Vec<usize>, below: &mut [Vec<usize>]) {
    let mut seen = vec![false; below.len()];
    let (mut start, mut next) = (0, 0);
    loop {
        if start == roots.len() {
            let Some(node) = (next..below.len()).find(|&node| !seen[node]) else { return };
            roots.push(node);
            next = node;
        }
        let mut waiting = vec![roots[start]];
        seen[roots[start]] = true;
        start += 1;
        while let Some(node) = waiting.pop() {
            below[node].retain(|&child| !std::mem::replace(&mut seen[child], true));
            waiting.extend(&below[node]);
        }
    }
}

/// Puts siblings into the order in which they are drawn, and gathers those that say little one by one.
struct Siblings<'g> {
    nodes: &'g [GraphNode],
    /// The worst health of each with all below it.
    worst: &'g [Option<Health>],
    childless: &'g [bool],
    gather: bool,
}

impl Siblings<'_> {
    /// What needs attention first, then as the graph has them; `owned` where they have an owner.
    fn arrange(&self, mut siblings: Vec<usize>, owned: bool) -> Vec<Item> {
        siblings.sort_by_key(|&node| (attention(self.worst[node]), node));
        let kind = |node: usize| &self.nodes[node].resource.key.kind;
        let alike = |a: &usize, b: &usize| self.worst[*a] == self.worst[*b] && kind(*a) == kind(*b);
        // Of an owner's revisions those in use own something; the others only show what once was.
        let in_use = siblings.iter().filter(|&&node| owned && !self.childless[node]);
        let in_use: HashSet<&Kind> = in_use.map(|&node| kind(node)).collect();
        let mut items = Vec::new();
        for run in siblings.chunk_by(alike) {
            let past = self.worst[run[0]] == Some(Health::Healthy) && in_use.contains(kind(run[0]));
            let (idle, shown) = run.iter().partition::<Vec<usize>, _>(|&&one| past && self.childless[one]);
            items.extend(self.gathered(shown, SIBLINGS_MAX));
            items.extend(self.gathered(idle, 1));
        }
        items
    }

    /// Those at the top: configuration without health would drown what has one.
    fn without_health_last(&self, roots: Vec<usize>) -> Vec<Item> {
        let (without, with) = roots.iter().partition::<Vec<usize>, _>(|&&root| self.worst[root].is_none());
        if !self.gather || with.is_empty() || without.len() <= HEALTHLESS_MAX {
            return self.arrange(roots, false);
        }
        let mut kinds: BTreeMap<&str, (usize, &Kind)> = BTreeMap::new();
        for &node in &without {
            let kind = &self.nodes[node].resource.key.kind;
            kinds.entry(&kind.kind).or_insert((0, kind)).0 += 1;
        }
        let counts: Vec<_> = kinds.into_values().map(|(count, kind)| count_of(count, kind)).collect();
        let label = format!("{} without health: {}", without.len(), counts.join(", "));
        let mut items = self.arrange(with, false);
        items.push(Item::Group { label, health: None, members: self.arrange(without, false) });
        items
    }

    /// One item for siblings of one kind and health where there are more than `most`.
    fn gathered(&self, run: Vec<usize>, most: usize) -> Vec<Item> {
        let group = run.first().filter(|_| self.gather && run.len() > most).copied();
        let label = group.map(|first| count_of(run.len(), &self.nodes[first].resource.key.kind));
        let members: Vec<_> = run.into_iter().map(Item::Node).collect();
        match (group, label) {
            (Some(first), Some(label)) => vec![Item::Group { label, health: self.worst[first], members }],
            _ => members,
        }
    }
}

#[cfg(test)]
mod tests;
