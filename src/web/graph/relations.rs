//! One resource in the middle, what it follows from on its left and what follows from it on its right.

use std::collections::BTreeMap;

use super::boxes::is_drawn_backwards;
use super::layout::{Boxes, place};
use super::{Cell, Drawing, EDGE, Line, curve};
use crate::format::{link_verb, number_of, visible};
use crate::web::shell::Shell;
use crate::web::tree::resource_href;
use strandline_model::{Health, attention};
use strandline_protocol::{FarEnd, ResourceEdge};

/// Far ends of one kind that are drawn one by one.
const ALIKE_MAX: usize = 3;

/// Boxes besides that of the resource.
const BOXES_MAX: usize = 24;

/// What is at the other end of links that are drawn as one.
struct Far<'e> {
    edges: Vec<&'e ResourceEdge>,
    is_left: bool,
}

/// Draws the links of a resource of a kind and name, as far as they are given.
pub(in crate::web) fn relations(
    shell: &Shell,
    (kind, name, health): (&str, &str, Option<Health>),
    edges: &[ResourceEdge],
    cluster: &str,
) -> Drawing {
    let mut far = gather(edges);
    // What is missing or unsound may be what is wrong.
    far.sort_by_key(|far| (far.edges[0].exists != Some(false), attention(far.edges[0].health)));
    let left_out = far.len().saturating_sub(BOXES_MAX);
    far.truncate(BOXES_MAX);
    let mut cells = vec![Cell::of(health, kind, name, "")];
    cells.extend(far.iter().map(|far| far_cell(shell, far, cluster)));
    let links: Vec<(usize, usize)> =
        far.iter().enumerate().map(|(at, far)| if far.is_left { (at + 1, 0) } else { (0, at + 1) }).collect();
    let heights = cells.iter().map(|cell| cell.height as f64).collect();
    let positions = place(&Boxes { heights, links: links.clone() });
    for (cell, (x, y)) in cells.iter_mut().zip(&positions.of) {
        (cell.x, cell.y) = ((x + EDGE) as i64, (y + EDGE) as i64);
    }
    let line = |(far, (from, to)): (&Far<'_>, &(usize, usize))| Line {
        class: match (far.edges[0].exists, far.edges[0].edge.as_str()) {
            (Some(false), _) => "missing",
            (_, "owns") => "owns",
            _ => "other",
        },
        path: curve(&cells[*from], &cells[*to]),
        title: format!("{} {}", link_verb(far.edges[0]), cells[(*from).max(*to)].name),
    };
    Drawing {
        width: (positions.width + 2.0 * EDGE).ceil() as i64,
        height: (positions.height + 2.0 * EDGE).ceil() as i64,
        lanes: Vec::new(),
        lines: far.iter().zip(&links).map(line).collect(),
        label: visible(&format!("What {kind} {name} is linked to")).into_owned(),
        left_out: if left_out > 0 { format!("{left_out} more") } else { String::new() },
        cells,
    }
}

/// The links, those that are alike together.
fn gather(edges: &[ResourceEdge]) -> Vec<Far<'_>> {
    let mut alike: BTreeMap<_, Vec<&ResourceEdge>> = BTreeMap::new();
    for edge in edges {
        let key = (
            edge.far == FarEnd::Cause,
            &edge.edge,
            &edge.kind.group,
            &edge.kind.kind,
            edge.exists,
            attention(edge.health),
        );
        alike.entry(key).or_default().push(edge);
    }
    let mut far = Vec::new();
    for ((is_cause, kind, ..), edges) in alike {
        let is_left = is_cause != is_drawn_backwards(kind);
        if edges.len() > ALIKE_MAX {
            far.push(Far { edges, is_left });
        } else {
            far.extend(edges.into_iter().map(|edge| Far { edges: vec![edge], is_left }));
        }
    }
    far
}

fn far_cell(shell: &Shell, far: &Far<'_>, cluster: &str) -> Cell {
    let (edge, verb) = (far.edges[0], link_verb(far.edges[0]).to_owned());
    let missing = edge.exists == Some(false);
    if far.edges.len() > 1 {
        let (kind, name) = (format!("× {}", far.edges.len()), number_of(far.edges.len() as u64, &edge.kind));
        return Cell { many: true, missing, ..Cell::of(edge.health, &kind, &name, &verb) };
    }
    let name = if edge.name.is_empty() { "all" } else { &edge.name };
    let note = if missing { format!("{verb}, does not exist") } else { verb };
    let href = edge.id.as_ref().map(|uid| resource_href(shell, uid, cluster));
    Cell { href, missing, ..Cell::of(edge.health, &edge.kind.kind, name, &note) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strandline_model::{Kind, Uid};

    fn edge(far: FarEnd, edge: &str, kind: &str, name: &str, exists: bool) -> ResourceEdge {
        ResourceEdge {
            edge: edge.into(),
            far,
            kind: Kind::new("", kind),
            namespace: "shop".into(),
            name: name.into(),
            id: exists.then(|| Uid::new(name)),
            health: None,
            exists: Some(exists),
        }
    }

    #[test]
    fn causes_are_left_what_follows_is_right_and_many_alike_are_one_box() {
        let mut edges = vec![
            edge(FarEnd::Cause, "selects", "Service", "front", true),
            edge(FarEnd::Cause, "mounts", "ConfigMap", "lost", false),
        ];
        edges.extend((0..5).map(|n| edge(FarEnd::Dependent, "owns", "Pod", &format!("p{n}"), true)));
        let drawing = relations(&Shell::bare(""), ("ReplicaSet", "web", None), &edges, "eu");
        let cell = |name: &str| drawing.cells.iter().find(|cell| cell.name == name).expect("a box");
        let (own, pods, lost) = (cell("web"), cell("5 Pods"), cell("lost"));
        assert!(cell("front").x < own.x && own.x < pods.x && own.x < lost.x);
        assert!(pods.many && pods.href.is_none() && lost.missing && lost.href.is_none());
        assert_eq!(cell("front").href.as_deref(), Some("/resources/front?cluster=eu"));
        assert_eq!(lost.note, "mounts, does not exist");
        assert_eq!((drawing.cells.len(), drawing.lines.len()), (4, 3));
        let many: Vec<_> = (0..50).map(|n| edge(FarEnd::Cause, &format!("e{n}"), "Pod", "p", true)).collect();
        let drawing = relations(&Shell::bare(""), ("Pod", "web", None), &many, "eu");
        assert_eq!((drawing.cells.len(), drawing.left_out.as_str()), (BOXES_MAX + 1, "26 more"));
    }
}
