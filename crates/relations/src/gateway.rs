//! The Gateway API: what receives traffic for routes, and where routes send it.
//!
//! A reference into another namespace counts as it is written; whether a ReferenceGrant allows it is the gateway's
//! to say, in its status.

use super::EdgeKind::{References, Routes};
use super::told::{Defaults, REFERENCE, Told, named, referenced};
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

/// The group of the Gateway API.
const GROUP: &str = "gateway.networking.k8s.io";

const LISTENERS: Shape = Shape::Each(&Shape::Members(&[(
    "tls",
    Shape::Members(&[
        ("certificateRefs", Shape::Each(&REFERENCE)),
        ("frontendValidation", Shape::Members(&[("caCertificateRefs", Shape::Each(&REFERENCE))])),
    ]),
)]));

const GATEWAY: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("gatewayClassName", Shape::Text),
        ("parentRef", REFERENCE),
        ("parametersRef", REFERENCE),
        ("infrastructure", Shape::Members(&[("parametersRef", REFERENCE)])),
        ("listeners", LISTENERS),
    ]),
)]);

const FILTERS: Shape = Shape::Each(&Shape::Members(&[
    ("requestMirror", Shape::Members(&[("backendRef", REFERENCE)])),
    ("extensionRef", REFERENCE),
]));

/// A reference with the filters that stand beside it.
const BACKEND: Shape = Shape::Members(&[
    ("group", Shape::Text),
    ("kind", Shape::Text),
    ("namespace", Shape::Text),
    ("name", Shape::Text),
    ("filters", FILTERS),
]);

const ROUTE: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("parentRefs", Shape::Each(&REFERENCE)),
        (
            "rules",
            Shape::Each(&Shape::Members(&[("backendRefs", Shape::Each(&BACKEND)), ("filters", FILTERS)])),
        ),
    ]),
)]);

const BACKEND_POLICY: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("targetRefs", Shape::Each(&REFERENCE)),
        ("validation", Shape::Members(&[("caCertificateRefs", Shape::Each(&REFERENCE))])),
    ]),
)]);

/// A GatewayClass, a Gateway, or a set of listeners for one: its class and parameters, the Gateway it adds to, and
/// its certificates.
pub(super) fn gateway(told: &mut Told, object: &Object<'_>) {
    let namespace = &*object.metadata.namespace;
    let picked = object.pick(&GATEWAY);
    let spec = picked.get("spec");
    told.from(References, named(GROUP, "GatewayClass", "", spec.text_of("gatewayClassName")));
    told.from(
        Routes,
        referenced(spec.get("parentRef"), Defaults { group: GROUP, kind: "Gateway", namespace }),
    );
    let unknown = Defaults { group: "", kind: "", namespace };
    told.from(References, referenced(spec.get("parametersRef"), unknown));
    told.from(References, referenced(spec.get("infrastructure").get("parametersRef"), unknown));
    for listener in spec.items_of("listeners") {
        let tls = listener.get("tls");
        certificates(told, namespace, "Secret", tls.items_of("certificateRefs"));
        let frontend = tls.get("frontendValidation");
        certificates(told, namespace, "ConfigMap", frontend.items_of("caCertificateRefs"));
    }
}

/// A route of any protocol: Gateways send it traffic, and it sends that on.
pub(super) fn route(told: &mut Told, object: &Object<'_>) {
    let namespace = &*object.metadata.namespace;
    let picked = object.pick(&ROUTE);
    let spec = picked.get("spec");
    for parent in spec.items_of("parentRefs") {
        told.from(Routes, referenced(parent, Defaults { group: GROUP, kind: "Gateway", namespace }));
    }
    for rule in spec.items_of("rules") {
        for backend in rule.items_of("backendRefs") {
            to_backend(told, namespace, backend);
            filters(told, namespace, backend.items_of("filters"));
        }
        filters(told, namespace, rule.items_of("filters"));
    }
}

/// A BackendTLSPolicy: what it acts on depends on it, and it depends on its certificates.
pub(super) fn backend_policy(told: &mut Told, object: &Object<'_>) {
    let namespace = &*object.metadata.namespace;
    let picked = object.pick(&BACKEND_POLICY);
    let spec = picked.get("spec");
    for target in spec.items_of("targetRefs") {
        told.to(References, referenced(target, Defaults { group: "", kind: "", namespace }));
    }
    certificates(told, namespace, "ConfigMap", spec.get("validation").items_of("caCertificateRefs"));
}

fn certificates(told: &mut Told, namespace: &str, kind: &str, references: &[Picked<'_>]) {
    for reference in references {
        told.from(References, referenced(reference, Defaults { group: "", kind, namespace }));
    }
}

fn to_backend(told: &mut Told, namespace: &str, backend: &Picked<'_>) {
    told.to(Routes, referenced(backend, Defaults { group: "", kind: "Service", namespace }));
}

fn filters(told: &mut Told, namespace: &str, filters: &[Picked<'_>]) {
    for filter in filters {
        to_backend(told, namespace, filter.get("requestMirror").get("backendRef"));
        let unknown = Defaults { group: "", kind: "", namespace };
        told.from(References, referenced(filter.get("extensionRef"), unknown));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn object(kind: &str, spec: &Value) -> Vec<String> {
        told(&json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
            "metadata": {"namespace": "infra", "name": "it"}, "spec": spec}))
    }

    #[test]
    fn a_gateway_names_its_class_and_certificates() {
        let spec = json!({"gatewayClassName": "envoy",
            "infrastructure": {"parametersRef": {"group": "x.io", "kind": "Proxy", "name": "p"}},
            "listeners": [
                {"name": "http", "port": 80},
                {"name": "https", "tls": {
                    "certificateRefs": [{"name": "cert"}, {"kind": "Secret", "group": "", "name": "other", "namespace": "certs"}],
                    "frontendValidation": {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]}}}]});
        assert_eq!(
            object("Gateway", &spec),
            [
                "<- references GatewayClass.gateway.networking.k8s.io /envoy",
                "<- references Proxy.x.io infra/p",
                "<- references Secret infra/cert",
                "<- references Secret certs/other",
                "<- references ConfigMap infra/ca",
            ]
        );
    }

    #[test]
    fn a_gateway_routes_to_a_route_and_that_to_services() {
        let spec = json!({
            "parentRefs": [{"name": "edge"}, {"name": "edge", "namespace": "other", "sectionName": "https"},
                {"group": "", "kind": "Service", "name": "mesh"}],
            "rules": [
                {"backendRefs": [{"name": "web", "port": 80, "filters": [{"type": "ExtensionRef", "extensionRef": {"group": "x.io", "kind": "Filter", "name": "f"}}]},
                    {"name": "web", "namespace": "shop", "weight": 1}],
                 "filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "shadow"}}}]},
                {"backendRefs": [{"group": "net.gke.io", "kind": "ServiceImport", "name": "far"}]}]});
        for kind in ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"] {
            assert_eq!(
                object(kind, &spec),
                [
                    "<- routes Gateway.gateway.networking.k8s.io infra/edge",
                    "<- routes Gateway.gateway.networking.k8s.io other/edge",
                    "<- routes Service infra/mesh",
                    "-> routes Service infra/web",
                    "<- references Filter.x.io infra/f",
                    "-> routes Service shop/web",
                    "-> routes Service infra/shadow",
                    "-> routes ServiceImport.net.gke.io infra/far",
                ],
                "{kind}"
            );
        }
    }

    #[test]
    fn classes_sets_of_listeners_and_policies_name_theirs() {
        let class = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "envoy"},
            "spec": {"parametersRef": {"group": "x.io", "kind": "Proxy", "name": "p", "namespace": "infra"}}});
        assert_eq!(told(&class), ["<- references Proxy.x.io infra/p"]);
        let set = json!({"parentRef": {"name": "edge", "namespace": "other"}, "listeners": [{"tls": {"certificateRefs": [{"name": "cert"}]}}]});
        assert_eq!(
            object("ListenerSet", &set),
            ["<- routes Gateway.gateway.networking.k8s.io other/edge", "<- references Secret infra/cert"]
        );
        let policy = json!({"targetRefs": [{"group": "", "kind": "Service", "name": "web"}],
            "validation": {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]}});
        assert_eq!(
            object("BackendTLSPolicy", &policy),
            ["-> references Service infra/web", "<- references ConfigMap infra/ca"]
        );
    }
}
