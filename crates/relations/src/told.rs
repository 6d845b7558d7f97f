//! What an object tells of, gathered: each edge once, and no more than fit.

use std::collections::HashSet;

use super::{Direction, EdgeKind, EdgeRef, Far, MAX_EDGES};
use strandline_model::{Kind, Uid};
use strandline_object::json::{Picked, Shape};
use strandline_syntax::LabelSelector;

/// Up to how many edges are compared with each other; most objects have fewer, and hashing them takes longer.
const FEW: usize = 32;

/// Edges in the order in which they were told, each once, at most [`MAX_EDGES`] of them.
#[derive(Debug, Default)]
pub(super) struct Told {
    edges: Vec<EdgeRef>,
    /// The same edges, once they are more than [`FEW`].
    seen: HashSet<EdgeRef>,
}

impl Told {
    /// Whether nothing more is taken, so that looking further is of no use.
    pub(super) fn is_full(&self) -> bool {
        self.edges.len() >= MAX_EDGES
    }

    /// An edge whose cause is the far end; none where there is no far end.
    pub(super) fn from(&mut self, kind: EdgeKind, far: Option<Far>) {
        self.tell(kind, Direction::FromFar, far);
    }

    /// An edge whose dependent is the far end; none where there is no far end.
    pub(super) fn to(&mut self, kind: EdgeKind, far: Option<Far>) {
        self.tell(kind, Direction::ToFar, far);
    }

    /// An edge; none where there is no far end.
    pub(super) fn tell(&mut self, kind: EdgeKind, direction: Direction, far: Option<Far>) {
        let Some(far) = far.filter(|_| !self.is_full()) else { return };
        let edge = EdgeRef { kind, direction, far };
        if self.is_new(&edge) {
            self.edges.push(edge);
        }
    }

    fn is_new(&mut self, edge: &EdgeRef) -> bool {
        if self.edges.len() < FEW {
            // Edges of one object are much alike, but for the names at their ends.
            return !self.edges.iter().any(|other| name(&other.far) == name(&edge.far) && other == edge);
        }
        if self.seen.is_empty() {
            self.seen.extend(self.edges.iter().cloned());
        }
        self.seen.insert(edge.clone())
    }

    pub(super) fn into_edges(self) -> Vec<EdgeRef> {
        self.edges
    }
}

/// What tells a far end from most others.
fn name(far: &Far) -> &str {
    match far {
        Far::Uid { uid, .. } => uid.as_str(),
        Far::Key { name, .. } | Far::Numbered { stem: name, .. } => name,
        Far::Matching { kind, .. } | Far::Every { kind } => &kind.kind,
    }
}

/// A reference to an object as any kind writes it; who reads it knows which of these fields there are.
pub(super) const REFERENCE: Shape = Shape::Members(&[
    ("apiVersion", Shape::Text),
    ("apiGroup", Shape::Text),
    ("group", Shape::Text),
    ("kind", Shape::Text),
    ("namespace", Shape::Text),
    ("name", Shape::Text),
    ("uid", Shape::Text),
]);

/// What a reference means by the fields that it leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
}

/// The far end that a [`REFERENCE`] names: one incarnation where it tells a uid, else what stands under the name.
///
/// None where a field has another type, or holds what can name nothing.
pub(super) fn referenced(reference: &Picked<'_>, defaults: Defaults<'_>) -> Option<Far> {
    let group = match (reference.get("apiVersion"), reference.get("apiGroup")) {
        (Picked::Text(version), _) => version.split_once('/').map_or("", |(group, _)| group),
        (Picked::Absent, Picked::Text(group)) => group,
        (Picked::Absent, Picked::Absent) => text_or(reference, "group", defaults.group)?,
        _ => return None,
    };
    let kind = text_or(reference, "kind", defaults.kind)?;
    let namespace = text_or(reference, "namespace", defaults.namespace)?;
    let name = reference.text_of("name");
    match text_or(reference, "uid", "")? {
        "" => named(group, kind, namespace, name),
        uid => {
            let kind = kind_of(group, kind)?;
            let name = name.filter(|name| is_name(name))?.to_owned();
            Some(Far::Uid { uid: is_name(uid).then(|| Uid::new(uid))?, kind, name })
        }
    }
}

/// What stands under a name; none where that can name nothing.
pub(super) fn named(group: &str, kind: &str, namespace: &str, name: Option<&str>) -> Option<Far> {
    let name = name.filter(|name| is_name(name))?.to_owned();
    let namespace =
        Some(namespace).filter(|namespace| namespace.is_empty() || is_name(namespace))?.to_owned();
    Some(Far::Key { kind: kind_of(group, kind)?, namespace, name })
}

/// What carries labels that match, in a namespace or, where that is empty, in all of them; none where there is no selector.
/// What selects everything everywhere means the kind, and is one edge.
pub(super) fn selected(
    group: &str,
    kind: &str,
    namespace: &str,
    selector: Option<LabelSelector>,
) -> Option<Far> {
    let (kind, selector) = (kind_of(group, kind)?, selector?);
    let everything = selector.is_empty() && namespace.is_empty();
    Some(if everything {
        Far::Every { kind }
    } else {
        Far::Matching { kind, namespace: namespace.to_owned(), selector }
    })
}

/// A group and kind; none where they can name nothing.
pub(super) fn kind_of(group: &str, kind: &str) -> Option<Kind> {
    ((group.is_empty() || is_name(group)) && is_name(kind)).then(|| Kind::new(group, kind))
}

/// Whether something could have this name: part of a path, and of a length that the cluster can store.
pub(super) fn is_name(text: &str) -> bool {
    let inside = |b: u8| b > b' ' && !matches!(b, b'/' | b'%' | 0x7f);
    !text.is_empty() && text.len() <= 253 && text != "." && text != ".." && text.bytes().all(inside)
}

/// The text of a member or, where there is none, another; none where it is of another type.
fn text_or<'p>(reference: &'p Picked<'_>, name: &str, default: &'p str) -> Option<&'p str> {
    match reference.get(name) {
        Picked::Text(text) => Some(text),
        Picked::Absent => Some(default),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strandline_object::json::pick;

    /// A reference read with defaults that show.
    fn read(text: &str) -> Option<String> {
        let defaults = Defaults { group: "apps", kind: "Deployment", namespace: "own" };
        Some(match referenced(&pick(text, &REFERENCE), defaults)? {
            Far::Uid { uid, kind, name } => format!("{kind} {name} {uid}"),
            Far::Key { kind, namespace, name } => format!("{kind} {namespace}/{name}"),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn few_edges_or_many_stand_once_in_their_order() {
        let mut told = Told::default();
        for round in 0..3 {
            for n in 0..100 * round {
                told.to(EdgeKind::Routes, named("", "Pod", "own", Some(&n.to_string())));
            }
        }
        let names: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let found = told.into_edges().into_iter().map(|edge| match edge.far {
            Far::Key { name, .. } => name,
            other => format!("{other:?}"),
        });
        assert_eq!(found.collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_reference_means_what_it_says_and_else_the_default() {
        for (text, expected) in [
            (r#"{"name": "a"}"#, "Deployment.apps own/a"),
            (r#"{"name": "a", "kind": "Service", "group": ""}"#, "Service own/a"),
            (r#"{"name": "a", "apiVersion": "v1", "kind": "Pod", "namespace": "b"}"#, "Pod b/a"),
            (r#"{"name": "a", "apiVersion": "x.io/v1", "kind": "A"}"#, "A.x.io own/a"),
            (r#"{"name": "a", "apiGroup": "x.io", "group": "y.io"}"#, "Deployment.x.io own/a"),
            (
                r#"{"name": "a", "apiGroup": null, "kind": "PersistentVolumeClaim", "group": ""}"#,
                "PersistentVolumeClaim own/a",
            ),
            (r#"{"name": "a", "uid": "u-1"}"#, "Deployment.apps a u-1"),
            (r#"{"name": "system:node", "uid": ""}"#, "Deployment.apps own/system:node"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_can_name_nothing_is_no_reference() {
        let long = format!(r#"{{"name": "{}"}}"#, "a".repeat(254));
        for text in [
            "{}",
            "7",
            "null",
            &long,
            r#"{"name": ""}"#,
            r#"{"name": "a/b"}"#,
            r#"{"name": ".."}"#,
            r#"{"name": "a b"}"#,
            r#"{"name": 7}"#,
            r#"{"name": "a", "kind": 7}"#,
            r#"{"name": "a", "kind": ""}"#,
            r#"{"name": "a", "group": []}"#,
            r#"{"name": "a", "apiVersion": {}}"#,
            r#"{"name": "a", "namespace": false}"#,
            r#"{"name": "a", "namespace": "a/b"}"#,
            r#"{"name": "a", "uid": 7}"#,
            r#"{"uid": "u-1"}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
