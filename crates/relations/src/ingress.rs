//! Ingresses, in all versions there have been.

use super::EdgeKind::{References, Routes};
use super::told::{Defaults, REFERENCE, Told, named, referenced};
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

/// A backend of today names a Service or another object; one of v1beta1 holds the name of the Service itself.
const BACKEND: Shape = Shape::Members(&[
    ("service", Shape::Members(&[("name", Shape::Text)])),
    ("resource", REFERENCE),
    ("serviceName", Shape::Text),
]);

const INGRESS: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("ingressClassName", Shape::Text),
        ("defaultBackend", BACKEND),
        ("backend", BACKEND),
        (
            "rules",
            Shape::Each(&Shape::Members(&[(
                "http",
                Shape::Members(&[("paths", Shape::Each(&Shape::Members(&[("backend", BACKEND)])))]),
            )])),
        ),
        ("tls", Shape::Each(&Shape::Members(&[("secretName", Shape::Text)]))),
    ]),
)]);

/// Where the class of an Ingress was written before there was a field for it, and still is.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
pub(super) const CLASS_ANNOTATIONS: [&str; 1] = [CLASS_ANNOTATION];

const CLASS: Shape = Shape::Members(&[("spec", Shape::Members(&[("parameters", REFERENCE)]))]);

/// An Ingress: its class, the Services behind it, and the Secrets with its certificates.
pub(super) fn ingress(told: &mut Told, object: &Object<'_>) {
    let namespace = &*object.metadata.namespace;
    let picked = object.pick(&INGRESS);
    let spec = picked.get("spec");
    let annotated = object.metadata.annotation(CLASS_ANNOTATION);
    for class in [spec.text_of("ingressClassName"), annotated.as_deref()] {
        told.from(References, named("networking.k8s.io", "IngressClass", "", class));
    }
    for field in ["defaultBackend", "backend"] {
        backend(told, namespace, spec.get(field));
    }
    for rule in spec.items_of("rules") {
        for path in rule.get("http").items_of("paths") {
            backend(told, namespace, path.get("backend"));
        }
    }
    for tls in spec.items_of("tls") {
        told.from(References, named("", "Secret", namespace, tls.text_of("secretName")));
    }
}

/// An IngressClass: the parameters it names, in a namespace or of the whole cluster.
pub(super) fn class(told: &mut Told, object: &Object<'_>) {
    let defaults = Defaults { group: "", kind: "", namespace: "" };
    told.from(References, referenced(object.pick(&CLASS).get("spec").get("parameters"), defaults));
}

fn backend(told: &mut Told, namespace: &str, backend: &Picked<'_>) {
    if told.is_full() {
        return;
    }
    let service = backend.get("service").text_of("name").or(backend.text_of("serviceName"));
    told.to(Routes, named("", "Service", namespace, service));
    let defaults = Defaults { group: "", kind: "", namespace };
    told.to(Routes, referenced(backend.get("resource"), defaults));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::told;

    #[test]
    fn an_ingress_routes_to_services_and_reads_certificates() {
        let service = |name: &str| json!({"service": {"name": name, "port": {"number": 80}}});
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"namespace": "shop", "name": "web"}, "spec": {
                "ingressClassName": "nginx",
                "defaultBackend": service("fallback"),
                "rules": [
                    {"host": "shop.example.org", "http": {"paths": [
                        {"path": "/", "backend": service("web")}, {"path": "/api", "backend": service("api")},
                        {"path": "/old", "backend": service("web")},
                        {"path": "/files", "backend": {"resource": {"apiGroup": "k8s.example.org", "kind": "Bucket", "name": "files"}}}]}},
                    {"host": "empty.example.org"}],
                "tls": [{"hosts": ["shop.example.org"], "secretName": "shop-tls"}, {"hosts": ["other"]}]}});
        assert_eq!(
            told(&ingress),
            [
                "<- references IngressClass.networking.k8s.io /nginx",
                "-> routes Service shop/fallback",
                "-> routes Service shop/web",
                "-> routes Service shop/api",
                "-> routes Bucket.k8s.example.org shop/files",
                "<- references Secret shop/shop-tls",
            ]
        );
    }

    #[test]
    fn an_ingress_of_the_old_versions_names_services_otherwise() {
        for version in ["networking.k8s.io/v1beta1", "extensions/v1beta1"] {
            let backend = |name: &str| json!({"serviceName": name, "servicePort": 80});
            let ingress = json!({"apiVersion": version, "kind": "Ingress", "metadata": {"namespace": "shop"}, "spec": {
                "backend": backend("web"), "rules": [{"http": {"paths": [{"backend": backend("api")}]}}]}});
            assert_eq!(told(&ingress), ["-> routes Service shop/web", "-> routes Service shop/api"]);
        }
    }

    #[test]
    fn the_class_may_stand_in_an_annotation() {
        for version in ["networking.k8s.io/v1", "extensions/v1beta1"] {
            let ingress = |annotation: serde_json::Value, spec: serde_json::Value| {
                told(
                    &json!({"apiVersion": version, "kind": "Ingress", "metadata": {"namespace": "shop", "name": "web",
                    "annotations": {"kubernetes.io/ingress.class": annotation}}, "spec": spec}),
                )
            };
            let nginx = "<- references IngressClass.networking.k8s.io /nginx";
            assert_eq!(ingress(json!("nginx"), json!({})), [nginx]);
            assert_eq!(ingress(json!("nginx"), json!({"ingressClassName": "nginx"})), [nginx]);
            let both = ingress(json!("nginx"), json!({"ingressClassName": "traefik"}));
            assert_eq!(both, ["<- references IngressClass.networking.k8s.io /traefik", nginx]);
            for nothing in [json!(""), json!(null), json!("a/b")] {
                assert!(ingress(nothing.clone(), json!({})).is_empty(), "{nothing}");
            }
        }
    }

    #[test]
    fn a_class_names_its_parameters() {
        let class = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "x"},
            "spec": {"controller": "x", "parameters": {"apiGroup": "x.io", "kind": "Parameters", "name": "p"}}});
        assert_eq!(told(&class), ["<- references Parameters.x.io /p"]);
        let mut scoped = class;
        scoped["spec"]["parameters"]["namespace"] = json!("infra");
        assert_eq!(told(&scoped), ["<- references Parameters.x.io infra/p"]);
    }
}
