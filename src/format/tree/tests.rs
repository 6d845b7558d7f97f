//! Trees as text.

use super::*;
use crate::format::tests::{counted, graph, owns, resource};
use strandline_protocol::Group;

/// The tree as one line per item, two blanks for each level.
fn drawn(graph: &Graph, gather: bool) -> Vec<String> {
    let tree = Tree::new(graph, gather);
    let (mut depth, mut lines) = (0, Vec::new());
    tree.walk(|step| match step {
        Step::Enter { item, .. } => {
            let name = match item {
                Item::Node(node) => graph.nodes[*node].resource.key.name.clone(),
                Item::Counted(group) => format!("{} more", graph.groups[*group].counts.total()),
                Item::Group { label, .. } => label.clone(),
            };
            lines.push(format!("{}{name}", "  ".repeat(depth)));
            depth += 1;
        }
        Step::Leave => depth -= 1,
    });
    lines
}

#[test]
fn children_stand_below_their_owner_and_the_worst_first() {
    let nodes = vec![
        resource("ConfigMap", "cfg", None),
        resource("Deployment", "ok", Some(Health::Healthy)),
        resource("Deployment", "web", Some(Health::Progressing)),
        resource("Pod", "web-a", Some(Health::Healthy)),
        resource("Pod", "web-b", Some(Health::Degraded)),
        resource("ReplicaSet", "web-1", Some(Health::Healthy)),
    ];
    let edges = vec![owns("web", "web-1"), owns("web-1", "web-a"), owns("web-1", "web-b")];
    assert_eq!(drawn(&graph(nodes, edges), true), ["web", "  web-1", "    web-b", "    web-a", "ok", "cfg"]);
}

#[test]
fn cycles_and_shared_children_are_drawn_once() {
    let node = |name| resource("Pod", name, Some(Health::Healthy));
    let nodes = ["a", "b", "c", "self", "child", "o1", "o2"].map(node).to_vec();
    let edges = vec![
        owns("a", "b"),
        owns("b", "c"),
        owns("c", "a"),
        owns("self", "self"),
        owns("o1", "child"),
        owns("o2", "child"),
        owns("gone", "o1"),
    ];
    let graph = graph(nodes, edges);
    assert_eq!(drawn(&graph, true), ["a", "  b", "    c", "self", "o1", "  child", "o2"]);
    assert_eq!(Tree::new(&graph, true).further_owners(4), 1);
}

#[test]
fn many_siblings_are_gathered_by_kind_and_health() {
    let mut nodes: Vec<_> =
        (0..12).map(|n| resource("Pod", &format!("p{n:02}"), Some(Health::Healthy))).collect();
    nodes[3].health = Some(Health::Degraded);
    let graph = graph(nodes, vec![]);
    let lines = drawn(&graph, true);
    assert_eq!(lines[..3], ["p03", "11 Pods", "  p00"]);
    assert_eq!(drawn(&graph, false).len(), 12);
}

#[test]
fn past_revisions_and_what_has_no_health_are_gathered() {
    let replica_set = |name| resource("ReplicaSet", name, Some(Health::Healthy));
    let mut nodes = vec![resource("Deployment", "web", Some(Health::Healthy))];
    nodes.extend(["r1", "r2", "r3"].map(replica_set));
    nodes.push(resource("Pod", "r2-a", Some(Health::Healthy)));
    nodes.extend(["s1", "s2", "s3"].map(|name| resource("Secret", name, None)));
    nodes.push(resource("ConfigMap", "cfg", None));
    let edges = vec![owns("web", "r1"), owns("web", "r2"), owns("web", "r3"), owns("r2", "r2-a")];
    let mut graph = graph(nodes, edges);
    assert_eq!(
        drawn(&graph, true),
        [
            "web",
            "  r2",
            "    r2-a",
            "  2 ReplicaSets",
            "    r1",
            "    r3",
            "4 without health: 1 ConfigMap, 3 Secrets",
            "  s1",
            "  s2",
            "  s3",
            "  cfg"
        ]
    );
    assert_eq!(drawn(&graph, false).len(), 9, "each by itself where nothing is to be gathered");
    graph.nodes.drain(..5);
    assert_eq!(drawn(&graph, true), ["s1", "s2", "s3", "cfg"], "nothing else is there to drown");
}

#[test]
fn what_is_only_counted_stands_after_its_siblings() {
    let nodes = vec![
        resource("Deployment", "web", Some(Health::Healthy)),
        resource("Pod", "web-a", Some(Health::Healthy)),
    ];
    let mut graph = graph(nodes, vec![owns("web", "web-a")]);
    let failed = Group { health: Some(Health::Degraded), ..counted("Job", None, 9) };
    graph.groups = vec![
        counted("Pod", Some("web"), 100),
        counted("Pod", None, 7),
        counted("Pod", Some("elsewhere"), 8),
        failed,
    ];
    let expected = ["web", "  web-a", "  100 more", "9 more", "7 more", "8 more"];
    assert_eq!(drawn(&graph, true), expected, "what needs attention comes first");
    let tree = Tree::new(&graph, true);
    assert_eq!([0, 1, 2, 3, 4].map(|group| tree.is_rest(group)), [true, false, false, false, false]);
}

#[test]
fn what_is_neither_drawn_nor_counted_is_hidden() {
    let nodes = ["web", "web-a", "web-b"].map(|name| resource("Pod", name, Some(Health::Healthy))).to_vec();
    let mut graph = graph(nodes, vec![owns("web", "web-a"), owns("web", "web-b")]);
    let hides = |graph: &Graph| Tree::new(graph, true).hides(0);
    assert!(!hides(&graph));
    graph.nodes.pop();
    assert!(hides(&graph));
    graph.groups = vec![counted("Pod", Some("web"), 1)];
    assert!(!hides(&graph), "it is counted");
    graph.groups = vec![counted("Pod", Some("web"), u64::MAX)];
    assert!(!hides(&graph) && !Tree::new(&graph, true).hides(7), "whatever a server says");
}

#[test]
fn chains_of_any_depth_are_survived() {
    let nodes = (0..10_000).map(|n| resource("Pod", &n.to_string(), Some(Health::Healthy))).collect();
    let edges = (0..10_000).map(|n| owns(&n.to_string(), &((n + 1) % 10_000).to_string())).collect();
    assert_eq!(drawn(&graph(nodes, edges), true).len(), 10_000);
}

#[test]
fn a_uid_in_two_clusters_finds_the_owner_in_its_own() {
    let in_cluster = |cluster: &str, name: &str, uid: &str| {
        let mut node = resource("Pod", name, None);
        node.key.cluster = cluster.into();
        node.id = Uid::new(uid);
        node
    };
    let nodes = vec![
        in_cluster("eu", "owner-eu", "o"),
        in_cluster("eu", "child-eu", "c"),
        in_cluster("us", "owner-us", "o"),
        in_cluster("us", "child-us", "c"),
    ];
    assert_eq!(
        drawn(&graph(nodes, vec![owns("o", "c")]), true),
        ["owner-eu", "  child-eu", "owner-us", "  child-us"]
    );
}
