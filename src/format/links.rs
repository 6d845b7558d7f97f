//! Links besides ownership, as a node of a graph tells of them.

use std::collections::{BTreeMap, HashMap};

use super::number_of;
use strandline_model::Kind;
use strandline_protocol::{Edge, FarEnd, Graph, ResourceEdge};

/// What a resource does to the far end of a link, or suffers from it, such as `mounts` or `mounted by`.
pub fn link_verb(edge: &ResourceEdge) -> &'static str {
    match (edge.far, edge.edge.as_str()) {
        (FarEnd::Cause, "owns") => "owned by",
        (FarEnd::Cause, "selects") => "selected by",
        (FarEnd::Cause, "routes") => "reached through",
        (FarEnd::Cause, "mounts") => "mounts",
        (FarEnd::Cause, "scales") => "scaled by",
        (FarEnd::Cause, _) => "references",
        (FarEnd::Dependent, "owns") => "owns",
        (FarEnd::Dependent, "selects") => "selects",
        (FarEnd::Dependent, "routes") => "routes to",
        (FarEnd::Dependent, "mounts") => "mounted by",
        (FarEnd::Dependent, "scales") => "scales",
        (FarEnd::Dependent, _) => "referenced by",
    }
}

/// The most links that one node tells of.
const LINKS_MAX: usize = 4;

/// The end of an edge.
#[derive(Clone, Copy)]
enum End<'g> {
    /// A node, by its place.
    Node(usize),
    /// Resources that are only counted.
    Group(&'g Kind),
}

/// What a node is linked with: by which kind of edge, and with what kind of thing.
type Link<'g> = (usize, &'g str, &'g Kind);

/// What each node of a graph says of its edges other than `owns`, such as `selects 3 Pods` or `mounts ConfigMap web`.
///
/// An edge is told at the end that would be edited to change it: where it selects, routes and scales at the cause, and
/// where it mounts and references at the dependent. What a node says already is not said again below it: Pods repeat their
/// Deployment.
pub fn links(graph: &Graph) -> Vec<Vec<String>> {
    let ends = ends(graph);
    let mut found: BTreeMap<Link<'_>, (u64, Option<usize>)> = BTreeMap::new();
    for edge in graph.edges.iter().filter(|edge| edge.kind != "owns") {
        let (near, far) =
            if at_the_dependent(edge) { (&edge.to, &edge.from) } else { (&edge.from, &edge.to) };
        let (Some(End::Node(near)), Some(far)) = (ends.get(near.as_str()), ends.get(far.as_str())) else {
            continue;
        };
        let (kind, place) = match far {
            End::Node(place) => (&graph.nodes[*place].resource.key.kind, Some(*place)),
            End::Group(kind) => (*kind, None),
        };
        let (count, one) = found.entry((*near, edge.kind.as_str(), kind)).or_default();
        *count = count.saturating_add(edge.count);
        *one = place;
    }
    let mut told = vec![Vec::new(); graph.nodes.len()];
    let mut more = vec![0_usize; graph.nodes.len()];
    for ((near, verb, kind), (count, one)) in found {
        if told[near].len() >= LINKS_MAX {
            more[near] += 1;
            continue;
        }
        let name = one.filter(|_| count == 1).map(|place| &graph.nodes[place].resource.key.name);
        let what = name.map_or_else(|| number_of(count, kind), |name| format!("{} {name}", kind.kind));
        let verb = if verb == "routes" { "routes to" } else { verb };
        told[near].push(format!("{verb} {what}"));
    }
    for (told, more) in told.iter_mut().zip(more).filter(|(_, more)| *more > 0) {
        told.push(format!("and {more} more"));
    }
    let repeats: Vec<usize> =
        (0..told.len()).filter(|&node| is_repeated(graph, &ends, &told, node)).collect();
    repeats.into_iter().for_each(|node| told[node].clear());
    told
}

/// Levels above a node that are looked at; a circle, which no server sends, ends there too.
const LEVELS_MAX: usize = 4;

/// Whether a node above says the same.
fn is_repeated(graph: &Graph, ends: &HashMap<&str, End<'_>>, told: &[Vec<String>], node: usize) -> bool {
    let above = |place: &usize| match ends.get(graph.nodes.get(*place)?.parent.as_ref()?.as_str())? {
        End::Node(parent) => Some(*parent),
        End::Group(_) => None,
    };
    let mut ancestors = std::iter::successors(above(&node), above).take(LEVELS_MAX);
    !told[node].is_empty() && ancestors.any(|ancestor| ancestor != node && told[ancestor] == told[node])
}

fn at_the_dependent(edge: &Edge) -> bool {
    matches!(edge.kind.as_str(), "mounts" | "references")
}

/// What stands under which name; of a uid that several clusters hold the first.
fn ends(graph: &Graph) -> HashMap<&str, End<'_>> {
    let mut ends: HashMap<&str, End<'_>> =
        graph.groups.iter().map(|group| (group.id.as_str(), End::Group(&group.kind))).collect();
    for (place, node) in graph.nodes.iter().enumerate().rev() {
        ends.insert(node.resource.id.as_str(), End::Node(place));
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{counted, graph, owns, resource};

    fn edge(from: &str, kind: &str, to: &str, count: u64) -> Edge {
        Edge { from: from.into(), to: to.into(), kind: kind.into(), count }
    }

    #[test]
    fn edges_are_told_where_they_would_be_changed() {
        let nodes = vec![
            resource("Service", "web", None),
            resource("Pod", "web-a", None),
            resource("Pod", "web-b", None),
            resource("ConfigMap", "settings", None),
            resource("Ingress", "front", None),
        ];
        let edges = vec![
            edge("web", "selects", "web-a", 1),
            edge("web", "selects", "web-b", 1),
            edge("settings", "mounts", "web-a", 1),
            edge("front", "routes", "web", 1),
            edge("web", "selects", "gone", 1),
            edge("web", "owns", "front", 1),
        ];
        assert_eq!(
            links(&graph(nodes, edges)),
            [
                vec!["selects 2 Pods"],
                vec!["mounts ConfigMap settings"],
                vec![],
                vec![],
                vec!["routes to Service web"]
            ]
        );
    }

    #[test]
    fn what_is_said_above_is_not_said_again() {
        let nodes = vec![
            resource("Deployment", "web", None),
            resource("ReplicaSet", "web-1", None),
            resource("Pod", "web-1-a", None),
            resource("ConfigMap", "settings", None),
        ];
        let mut edges = vec![owns("web", "web-1"), owns("web-1", "web-1-a")];
        edges.extend(["web", "web-1-a"].map(|name| edge("settings", "mounts", name, 1)));
        let told = links(&graph(nodes.clone(), edges.clone()));
        assert_eq!(told[0], ["mounts ConfigMap settings"]);
        assert_eq!(told[2], [""; 0]);
        edges.pop();
        let told = links(&graph(nodes, edges));
        assert_eq!(told[0], ["mounts ConfigMap settings"]);
    }

    #[test]
    fn what_is_only_counted_is_counted_here_too() {
        let nodes = vec![resource("Service", "web", None), resource("Pod", "web-a", None)];
        let group = counted("Pod", None, 40);
        let edges = vec![edge("web", "selects", "web-a", 1), edge("web", "selects", &group.id, 40)];
        let mut graph = graph(nodes, edges);
        graph.groups = vec![group];
        assert_eq!(links(&graph)[0], ["selects 41 Pods"]);
    }

    #[test]
    fn a_node_tells_of_a_few_links_and_counts_the_others() {
        let kinds = ["A", "B", "C", "D", "E", "F"];
        let mut nodes = vec![resource("Pod", "web", None)];
        nodes.extend(kinds.map(|kind| resource(kind, kind, None)));
        let edges = kinds.map(|kind| edge(kind, "mounts", "web", 1)).to_vec();
        let told = links(&graph(nodes, edges));
        assert_eq!(told[0], ["mounts A A", "mounts B B", "mounts C C", "mounts D D", "and 2 more"]);
    }
}
