//! Links that Kubernetes keeps by convention where there is no owner reference.

use super::{Direction, EdgeKind, EdgeRef, Far};
use crate::model::Kind;
use crate::object::Object;

/// The label by which an EndpointSlice names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The link of an EndpointSlice to its Service, when no owner reference says so already.
pub(super) fn edges(object: &Object<'_>) -> Option<EdgeRef> {
    if object.group() != "discovery.k8s.io" || object.kind != "EndpointSlice" {
        return None;
    }
    let name = object.metadata.label(SERVICE_NAME).filter(|name| !name.is_empty())?;
    let service = Kind::new("", "Service");
    let mut owners = object.metadata.owner_references.iter();
    if owners.any(|owner| !owner.uid.is_empty() && owner.name == name && owner.group_kind() == service) {
        return None;
    }
    let namespace = object.metadata.namespace.to_string();
    Some(EdgeRef {
        kind: EdgeKind::Owns,
        direction: Direction::FromFar,
        far: Far::Key { kind: service, namespace, name: name.to_owned() },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn slice(owners: Value) -> Value {
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {
            "namespace": "shop", "name": "web-1", "uid": "s",
            "labels": {"kubernetes.io/service-name": "web"},
            "ownerReferences": owners,
        }})
    }

    #[test]
    fn an_endpoint_slice_belongs_to_the_service_it_names() {
        assert_eq!(told(&slice(json!([]))), ["<- owns Service shop/web"]);
        let owned = slice(json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u"}]));
        assert_eq!(told(&owned), ["<- owns Service web u"]);
        let other = slice(json!([{"apiVersion": "v1", "kind": "Service", "name": "api", "uid": "u"}]));
        assert_eq!(told(&other), ["<- owns Service api u", "<- owns Service shop/web"]);
        let foreign = slice(
            json!([{"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": "web", "uid": "u"}]),
        );
        assert_eq!(told(&foreign), ["<- owns Service.serving.knative.dev web u", "<- owns Service shop/web"]);
    }

    #[test]
    fn the_label_means_nothing_on_other_kinds_or_without_a_value() {
        let mut pod = slice(json!([]));
        pod["kind"] = json!("Pod");
        assert!(told(&pod).is_empty());
        let mut unnamed = slice(json!([]));
        unnamed["metadata"]["labels"] = json!({"kubernetes.io/service-name": ""});
        assert!(told(&unnamed).is_empty());
    }
}
