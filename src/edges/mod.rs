//! The links that one object declares, from cause to dependent.

mod owners;
mod well_known;

use std::fmt;

use crate::model::{Kind, Uid};
use crate::object::Object;

/// The most edges one object declares; what goes beyond is not drawn.
pub const EDGES_MAX: usize = 1000;

/// What a link means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// The dependent exists because of the cause and ends with it.
    Owns,
}

impl EdgeKind {
    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            EdgeKind::Owns => "owns",
        }
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which way a link points, seen from the object that declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The far end is the cause.
    FromFar,
    /// The far end is the dependent.
    ToFar,
}

/// The other end of a link, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Far {
    /// One incarnation, with its kind and name as the declaring object gives them.
    Uid {
        /// Identity.
        uid: Uid,
        /// Group and kind.
        kind: Kind,
        /// Name.
        name: String,
    },
    /// Whatever lives at an address of the same cluster.
    Key {
        /// Group and kind.
        kind: Kind,
        /// Namespace; empty for what is cluster-scoped.
        namespace: String,
        /// Name.
        name: String,
    },
}

/// A link as its one end declares it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeRef {
    /// What it means.
    pub kind: EdgeKind,
    /// Which way it points.
    pub direction: Direction,
    /// The other end.
    pub far: Far,
}

/// The links that an object declares.
pub fn edges(object: &Object<'_>) -> Vec<EdgeRef> {
    let mut found = owners::edges(object);
    found.extend(well_known::edges(object));
    found.truncate(EDGES_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: &str, expected: &[&str]) {
        let object = Object::parse(object).expect("the object can be read");
        let told = |edge: &EdgeRef| match &edge.far {
            Far::Uid { uid, kind, name } => format!("{} {kind}/{name} {uid}", edge.kind),
            Far::Key { kind, namespace, name } => format!("{} {kind}/{namespace}/{name}", edge.kind),
        };
        assert_eq!(edges(&object).iter().map(told).collect::<Vec<_>>(), expected, "{object:?}");
    }

    #[test]
    fn owners_are_causes() {
        let owner = |uid: &str| {
            format!(r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"{uid}"}}"#)
        };
        let pod = |owners: &[String]| {
            format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"uid":"me","ownerReferences":[{}]}}}}"#,
                owners.join(",")
            )
        };
        check(&pod(&[]), &[]);
        check(
            &pod(&[owner("a"), owner("b"), owner("a"), owner("me"), owner("")]),
            &["owns ReplicaSet.apps/web a", "owns ReplicaSet.apps/web b"],
        );
        let many: Vec<String> = (0..EDGES_MAX + 50).map(|n| owner(&n.to_string())).collect();
        assert_eq!(edges(&Object::parse(&pod(&many)).expect("the object can be read")).len(), EDGES_MAX);
    }

    #[test]
    fn an_endpoint_slice_hangs_below_its_service() {
        let slice = |owners: &str| {
            format!(
                r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{{"namespace":"shop",
                "labels":{{"kubernetes.io/service-name":"web"}},"ownerReferences":[{owners}]}}}}"#
            )
        };
        check(&slice(""), &["owns Service/shop/web"]);
        check(
            &slice(r#"{"apiVersion":"v1","kind":"Service","name":"web","uid":"s"}"#),
            &["owns Service/web s"],
        );
        check(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"kubernetes.io/service-name":"web"}}}"#,
            &[],
        );
    }
}
