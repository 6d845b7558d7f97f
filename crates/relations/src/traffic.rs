//! Services and what stands behind them: their selector, EndpointSlices and Endpoints.
//!
//! A slice lists where a Service sends traffic at the moment, so the slice is what routes to the Pods; the Service
//! itself only selects them.

use super::selector::labels;
use super::told::{Defaults, REFERENCE, Told, named, referenced};
use super::{EdgeKind, Far};
use strandline_model::Kind;
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

/// The label by which an EndpointSlice names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

const SERVICE: Shape =
    Shape::Members(&[("spec", Shape::Members(&[("type", Shape::Text), ("selector", Shape::Texts)]))]);

const TARGETS: Shape = Shape::Each(&Shape::Members(&[("targetRef", REFERENCE), ("nodeName", Shape::Text)]));
const SLICE: Shape = Shape::Members(&[("endpoints", TARGETS)]);
const ENDPOINTS: Shape = Shape::Members(&[(
    "subsets",
    Shape::Each(&Shape::Members(&[("addresses", TARGETS), ("notReadyAddresses", TARGETS)])),
)]);

/// A Service selects its Pods; none without a selector, nor where traffic leaves the cluster by a name.
pub(super) fn service(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&SERVICE);
    let spec = picked.get("spec");
    if spec.text_of("type") == Some("ExternalName") {
        return;
    }
    let selector = labels(spec.get("selector")).filter(|selector| !selector.is_empty());
    let namespace = object.metadata.namespace.to_string();
    let pods = |selector| Far::Matching { kind: Kind::new("", "Pod"), namespace, selector };
    told.to(EdgeKind::Selects, selector.map(pods));
}

/// An EndpointSlice belongs to the Service that its label names and routes to its endpoints.
pub(super) fn endpoint_slice(told: &mut Told, object: &Object<'_>) {
    owned_by_service(told, object, object.metadata.label(SERVICE_NAME));
    let picked = object.pick(&SLICE);
    routed(told, object, picked.items_of("endpoints"));
    on_nodes(told, picked.items_of("endpoints"));
}

/// Endpoints belong to the Service of the same name and route to their addresses.
pub(super) fn endpoints(told: &mut Told, object: &Object<'_>) {
    owned_by_service(told, object, Some(&object.metadata.name));
    let picked = object.pick(&ENDPOINTS);
    let addresses = || {
        let subsets = picked.items_of("subsets").iter();
        subsets.flat_map(|subset| ["addresses", "notReadyAddresses"].map(|field| subset.items_of(field)))
    };
    addresses().for_each(|addresses| routed(told, object, addresses));
    addresses().for_each(|addresses| on_nodes(told, addresses));
}

/// Unless an owner reference says so already.
fn owned_by_service(told: &mut Told, object: &Object<'_>, name: Option<&str>) {
    let service = Kind::new("", "Service");
    let owners = &object.metadata.owner_references;
    let said = |name: &str| {
        owners
            .iter()
            .any(|owner| !owner.uid.is_empty() && owner.name == name && owner.group_kind() == service)
    };
    let name = name.filter(|name| !said(name));
    told.from(EdgeKind::Owns, named("", "Service", &object.metadata.namespace, name));
}

/// The Nodes on which endpoints are; their Pods matter more.
fn on_nodes(told: &mut Told, endpoints: &[Picked<'_>]) {
    for endpoint in endpoints {
        if told.is_full() {
            return;
        }
        told.from(EdgeKind::References, named("", "Node", "", endpoint.text_of("nodeName")));
    }
}

fn routed(told: &mut Told, object: &Object<'_>, endpoints: &[Picked<'_>]) {
    let defaults = Defaults { group: "", kind: "", namespace: &object.metadata.namespace };
    for endpoint in endpoints {
        if told.is_full() {
            return;
        }
        told.to(EdgeKind::Routes, referenced(endpoint.get("targetRef"), defaults));
    }
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

    #[test]
    fn a_slice_routes_to_its_endpoints_whether_ready_or_not() {
        let mut slice = slice(json!([]));
        slice["endpoints"] = json!([
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true},
                "targetRef": {"kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "p-0"}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": false}, "targetRef": {"kind": "Pod", "name": "web-1"}},
            {"addresses": ["192.0.2.1"]},
            {"addresses": ["10.0.0.3"], "targetRef": {"name": "of-no-kind"}},
        ]);
        assert_eq!(
            told(&slice),
            ["<- owns Service shop/web", "-> routes Pod web-0 p-0", "-> routes Pod shop/web-1"]
        );
    }

    #[test]
    fn endpoints_are_on_nodes() {
        let mut slice = slice(json!([]));
        slice["endpoints"] = json!([
            {"targetRef": {"kind": "Pod", "name": "a"}, "nodeName": "n-1"}, {"nodeName": "n-2"}, {"nodeName": "n-1"}, {"nodeName": 7}]);
        assert_eq!(
            told(&slice),
            [
                "<- owns Service shop/web",
                "-> routes Pod shop/a",
                "<- references Node /n-1",
                "<- references Node /n-2"
            ]
        );
        let old = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "web"},
            "subsets": [{"addresses": [{"nodeName": "n-1"}], "notReadyAddresses": [{"nodeName": "n-2"}]}]});
        assert_eq!(
            told(&old),
            ["<- owns Service shop/web", "<- references Node /n-1", "<- references Node /n-2"]
        );
    }

    #[test]
    fn endpoints_belong_to_the_service_of_their_name() {
        let target = |name: &str| json!({"ip": "10.0.0.1", "targetRef": {"kind": "Pod", "namespace": "shop", "name": name}});
        let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "web"},
            "subsets": [{"addresses": [target("a")], "notReadyAddresses": [target("b")]}, {"addresses": [target("a")]}]});
        assert_eq!(
            told(&endpoints),
            ["<- owns Service shop/web", "-> routes Pod shop/a", "-> routes Pod shop/b"]
        );
    }

    #[test]
    fn a_service_selects_pods_where_it_has_a_selector() {
        let service = |spec: Value| {
            told(
                &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "web"}, "spec": spec}),
            )
        };
        assert_eq!(
            service(json!({"selector": {"app": "web", "tier": "front"}})),
            ["-> selects Pod shop/[app=web,tier=front]"]
        );
        for nothing in [
            json!({}),
            json!({"selector": {}}),
            json!({"selector": null}),
            json!({"selector": {"app": 7}}),
            json!({"type": "ExternalName", "selector": {"app": "web"}}),
        ] {
            assert!(service(nothing.clone()).is_empty(), "{nothing}");
        }
    }
}
