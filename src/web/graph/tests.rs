//! What is drawn of an environment.

use super::boxes::{BOXES_MAX, LinkKind, Subject, boxes};
use super::*;
use crate::format::tests::{counted, graph, owns, resource};
use strandline_model::{Health, Kind};
use strandline_protocol::{Edge, MissingEnd, MissingReference, Resource};

const GOOD: Option<Health> = Some(Health::Healthy);
const BAD: Option<Health> = Some(Health::Degraded);

fn edge(from: &str, kind: &str, to: &str) -> Edge {
    Edge { kind: kind.into(), ..owns(from, to) }
}

/// An application: a Deployment with two ReplicaSets, Pods, a Service, and a ConfigMap that is not there.
fn application() -> Graph {
    let mut nodes = vec![
        resource("Deployment", "web", BAD),
        resource("ReplicaSet", "web-1", GOOD),
        resource("ReplicaSet", "web-2", BAD),
        resource("Service", "front", GOOD),
        resource("ConfigMap", "settings", None),
    ];
    nodes.extend((0..12).map(|n| resource("Pod", &format!("web-2-{n}"), BAD)));
    nodes.extend((0..9).map(|n| resource("Pod", &format!("web-1-{n}"), GOOD)));
    let mut edges = vec![owns("web", "web-1"), owns("web", "web-2")];
    edges.push(edge("settings", "mounts", "web"));
    for node in &nodes[5..] {
        let pod = node.id.as_str();
        edges.push(owns(&pod[..5], pod));
        edges.push(edge("front", "selects", pod));
        edges.push(edge("settings", "mounts", pod));
    }
    let mut drawn = graph(nodes, edges);
    // Of the edges to them the first is no owner's.
    (drawn.nodes[0].parent, drawn.nodes[4].below) = (None, None);
    let missing = |id: &str| MissingReference {
        id: Uid::new(id),
        cluster: "eu-west".into(),
        end: MissingEnd {
            edge: "mounts".into(),
            kind: Kind::new("", "ConfigMap"),
            namespace: "shop".into(),
            name: "flags".into(),
        },
    };
    drawn.missing = vec![missing("web-2"), missing("web-2-3")];
    drawn
}

fn draw_all(graph: &Graph) -> Drawing {
    draw(&Shell::bare(""), graph, &GraphFilter::default())
}

fn named<'d>(drawing: &'d Drawing, name: &str) -> &'d Cell {
    drawing
        .cells
        .iter()
        .find(|cell| cell.name == name)
        .unwrap_or_else(|| panic!("{name} in {:?}", drawing.cells))
}

#[test]
fn what_is_alike_is_one_box_and_one_of_what_is_wrong_is_shown() {
    let drawing = draw_all(&application());
    let (one, rest, sound) =
        (named(&drawing, "web-2-0"), named(&drawing, "11 Pods"), named(&drawing, "9 Pods"));
    assert_eq!((one.word, rest.many, rest.kind.as_str()), ("Degraded", true, "× 11"));
    assert!(
        rest.href
            .as_deref()
            .is_some_and(|href| href.contains("under=web-2&") && href.ends_with("collapse=none"))
    );
    assert_eq!((sound.word, sound.badge.sign), ("", "✔"));
    assert_eq!(drawing.cells.len(), 5 + 3 + 1);
    let whole = GraphFilter { collapse: Collapse::None, ..GraphFilter::default() };
    assert_eq!(draw(&Shell::bare(""), &application(), &whole).cells.len(), 5 + 21 + 1);
}

#[test]
fn causes_are_left_of_what_follows_and_configuration_is_right_of_who_mounts_it() {
    let drawing = draw_all(&application());
    let x = |name: &str| named(&drawing, name).x;
    assert!(x("web") < x("web-2") && x("web-2") < x("11 Pods"));
    assert!(x("front") < x("11 Pods"), "a Service is left of its Pods");
    assert!(x("settings") > x("web"));
}

#[test]
fn what_is_named_and_not_there_is_dashed_and_linked_from_the_topmost_that_names_it() {
    let drawing = draw_all(&application());
    let missing = named(&drawing, "flags");
    assert!(missing.missing && missing.badge.word == "Missing" && missing.note == "does not exist");
    let links: Vec<_> = drawing.lines.iter().filter(|line| line.class == "missing").collect();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0].title, "web-2 mounts flags");
}

#[test]
fn a_template_says_what_its_pods_mount() {
    let drawn = boxes(&application(), Collapse::Siblings, None);
    let mounts: Vec<_> =
        drawn.links.iter().filter(|link| link.words == "mounts" && link.kind == LinkKind::Other).collect();
    assert_eq!(mounts.len(), 1);
    assert_eq!(drawn.boxes[mounts[0].from].subject, Subject::Node(0));
}

#[test]
fn each_cluster_has_a_lane_and_may_be_shown_alone() {
    let mut drawn = graph(vec![resource("Pod", "a", GOOD), resource("Pod", "b", GOOD)], vec![]);
    drawn.nodes[1].resource.key.cluster = "us".into();
    let drawing = draw_all(&drawn);
    let lanes: Vec<&str> = drawing.lanes.iter().map(|lane| lane.name.as_str()).collect();
    assert_eq!(lanes, ["eu-west · shop", "us · shop"]);
    assert!(named(&drawing, "b").y > named(&drawing, "a").y);
    let one = GraphFilter { cluster: Some("us".into()), ..GraphFilter::default() };
    assert_eq!(draw(&Shell::bare(""), &drawn, &one).cells.len(), 1);
}

#[test]
fn what_is_only_counted_hangs_below_its_owner() {
    let mut drawn = graph(vec![resource("ReplicaSet", "web-1", GOOD)], vec![]);
    drawn.groups = vec![counted("Pod", Some("web-1"), 20_000)];
    let drawing = draw_all(&drawn);
    assert_eq!(named(&drawing, "20000 Pods").kind, "× 20,000");
    assert_eq!(drawing.lines.len(), 1);
}

#[test]
fn circles_of_owners_are_drawn() {
    let nodes: Vec<Resource> = ["a", "b", "c"].map(|name| resource("Pod", name, GOOD)).into();
    let edges = vec![owns("a", "b"), owns("b", "c"), owns("c", "a")];
    let mut drawn = graph(nodes, edges);
    drawn.nodes[0].parent = Some(Uid::new("c"));
    assert_eq!(draw_all(&drawn).cells.len(), 3);
    drawn.nodes[0].parent = Some(Uid::new("a"));
    assert_eq!(draw_all(&drawn).cells.len(), 3);
}

#[test]
fn what_is_drawn_is_bounded_and_what_needs_attention_is_in_it() {
    let mut nodes: Vec<Resource> =
        (0..900).map(|n| resource(&format!("Kind{n}"), &n.to_string(), GOOD)).collect();
    nodes.push(resource("Pod", "sick", BAD));
    let edges = (0..899)
        .flat_map(|n| (1..4).map(move |far| edge(&n.to_string(), "selects", &((n + far) % 900).to_string())));
    let edges: Vec<Edge> = edges.collect();
    let drawing = draw_all(&graph(nodes, edges));
    assert_eq!(drawing.cells.len(), BOXES_MAX);
    named(&drawing, "sick");
    assert!(drawing.left_out.contains("601 more boxes"), "{}", drawing.left_out);
}
