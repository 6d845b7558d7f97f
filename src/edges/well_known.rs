//! Links that Kubernetes tells by a label instead of an owner reference.

use super::{Direction, EdgeKind, EdgeRef, Far};
use crate::model::Kind;
use crate::object::Object;

/// Names the Service of an EndpointSlice, whoever wrote the slice
/// (kubernetes.io, Well-Known Labels, Annotations and Taints).
const SERVICE_NAME: &str = "kubernetes.io/service-name";

pub(super) fn edges(object: &Object<'_>) -> Option<EdgeRef> {
    if object.kind() != Kind::new("discovery.k8s.io", "EndpointSlice") {
        return None;
    }
    let service = object.label(SERVICE_NAME)?;
    let kind = Kind::new("", "Service");
    if object.owner_references().any(|owner| owner.kind == kind && owner.name == service) {
        return None;
    }
    let far = Far::Key { kind, namespace: object.namespace().to_owned(), name: service.to_owned() };
    Some(EdgeRef { kind: EdgeKind::Owns, direction: Direction::FromFar, far })
}
