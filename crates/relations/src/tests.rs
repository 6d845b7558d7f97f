//! What holds for the edges of every kind.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]

pub(super) mod hostile;
mod table;

use serde_json::{Value, json};

use super::*;

/// An edge in one readable line.
fn line(edge: &EdgeRef) -> String {
    let arrow = match edge.direction {
        Direction::FromFar => "<-",
        Direction::ToFar => "->",
    };
    match &edge.far {
        Far::Uid { uid, kind, name } => format!("{arrow} {} {kind} {name} {uid}", edge.kind),
        Far::Key { kind, namespace, name } => {
            format!("{arrow} {} {kind} {namespace}/{name}", edge.kind)
        }
        Far::Matching { kind, namespace, selector } => {
            format!("{arrow} {} {kind} {namespace}/[{selector}]", edge.kind)
        }
        Far::Numbered { kind, namespace, stem } => {
            format!("{arrow} {} {kind} {namespace}/{stem}-N", edge.kind)
        }
        Far::Every { kind } => format!("{arrow} {} {kind} *", edge.kind),
    }
}

/// The edges of an object in one readable line each.
pub(super) fn told(object: &Value) -> Vec<String> {
    told_with(object, &Relations::default())
}

/// The same with relations.
pub(super) fn told_with(object: &Value, relations: &Relations) -> Vec<String> {
    let text = object.to_string();
    edges(&Object::parse(&text).unwrap(), relations).iter().map(line).collect()
}

#[test]
fn an_object_tells_of_a_thousand_edges_at_most() {
    let owners: Vec<_> = (0..5000).map(|n| json!({"kind": "A", "name": "a", "uid": n.to_string()})).collect();
    let told = told(&json!({"metadata": {"uid": "x", "ownerReferences": owners}}));
    assert_eq!(told.len(), MAX_EDGES);
    assert_eq!(told[0], "<- owns A a 0");
}

#[test]
fn kinds_survive_their_word() {
    for kind in EdgeKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
    }
    assert!("own".parse::<EdgeKind>().unwrap_err().contains("one of owns, selects"));
}
