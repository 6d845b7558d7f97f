//! The edges that an object itself tells of.
//!
//! Each object names its own ends, so edges are found one object at a time and in any order of arrival; what
//! the other end is called stands in [`Far`] until it arrives. Pure: no clock, no store.

mod owners;
mod well_known;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::{Kind, LabelSelector, Uid};
use crate::object::Object;

/// The most edges one object may tell of; what goes beyond is left out, the owners being kept first.
///
/// No sound object comes near it, and a hostile one must not fill the view.
pub const MAX_EDGES: usize = 1000;

/// What a link from cause to dependent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The dependent exists because of the cause and goes with it.
    Owns,
    /// The cause picks the dependent by its labels.
    Selects,
    /// The cause sends traffic to the dependent.
    Routes,
    /// The dependent reads the cause as volume or environment.
    Mounts,
    /// The cause sets how many of the dependent there are.
    Scales,
    /// The one names the other.
    References,
}

impl EdgeKind {
    /// All kinds.
    pub const ALL: [EdgeKind; 6] = [
        EdgeKind::Owns,
        EdgeKind::Selects,
        EdgeKind::Routes,
        EdgeKind::Mounts,
        EdgeKind::Scales,
        EdgeKind::References,
    ];

    /// The word for it in JSON, SQL and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            EdgeKind::Owns => "owns",
            EdgeKind::Selects => "selects",
            EdgeKind::Routes => "routes",
            EdgeKind::Mounts => "mounts",
            EdgeKind::Scales => "scales",
            EdgeKind::References => "references",
        }
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EdgeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        EdgeKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            format!("`{text}` is not a kind of edge; it is one of owns, selects, routes, mounts, scales, references")
        })
    }
}

/// Which end of an edge the object that tells of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The far end is the cause, this object the dependent.
    FromFar,
    /// This object is the cause, the far end the dependent.
    ToFar,
}

/// The other end of an edge, as the object names it; it need not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Far {
    /// One incarnation.
    Uid {
        /// Its identity.
        uid: Uid,
        /// Its group and kind, as claimed.
        kind: Kind,
        /// Its name, as claimed.
        name: String,
    },
    /// Whatever stands under this name in the object's cluster.
    Key {
        /// Group and kind.
        kind: Kind,
        /// Namespace; empty for what is cluster-scoped.
        namespace: String,
        /// Name.
        name: String,
    },
    /// Whatever carries labels that match, as long as it does.
    Matching {
        /// Group and kind.
        kind: Kind,
        /// Namespace; empty for all of them.
        namespace: String,
        /// What the labels have to be like.
        selector: LabelSelector,
    },
    /// Everything of a kind in the object's cluster.
    Every {
        /// Group and kind.
        kind: Kind,
    },
}

/// An edge as one of its ends tells of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeRef {
    /// What the link means.
    pub kind: EdgeKind,
    /// Which end is the cause.
    pub direction: Direction,
    /// The other end.
    pub far: Far,
}

/// The edges an object tells of, each once, at most [`MAX_EDGES`] of them.
pub fn edges(object: &Object<'_>) -> Vec<EdgeRef> {
    let mut found = owners::edges(object);
    found.extend(well_known::edges(object));
    found.truncate(MAX_EDGES);
    found
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The edges of an object in one readable line each.
    pub(super) fn told(object: &Value) -> Vec<String> {
        let text = object.to_string();
        let line = |edge: &EdgeRef| {
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
                Far::Every { kind } => format!("{arrow} {} {kind} *", edge.kind),
            }
        };
        edges(&Object::parse(&text).unwrap()).iter().map(line).collect()
    }

    #[test]
    fn an_object_tells_of_a_thousand_edges_at_most() {
        let owners: Vec<_> =
            (0..5000).map(|n| json!({"kind": "A", "name": "a", "uid": n.to_string()})).collect();
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
}
