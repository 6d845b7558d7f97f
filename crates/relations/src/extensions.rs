//! What extends the API server: webhooks, aggregated APIs, admission policies, and kinds of others.

use super::told::{Told, kind_of, named};
use super::{EdgeKind, Far};
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

const SERVICE: Shape = Shape::Members(&[("namespace", Shape::Text), ("name", Shape::Text)]);
const CLIENT: Shape = Shape::Members(&[("service", SERVICE)]);

const WEBHOOKS: Shape =
    Shape::Members(&[("webhooks", Shape::Each(&Shape::Members(&[("clientConfig", CLIENT)])))]);

const API_SERVICE: Shape = Shape::Members(&[("spec", CLIENT)]);

/// The webhook that converts stands deeper in v1 than it did in v1beta1.
const DEFINITION: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("group", Shape::Text),
        ("names", Shape::Members(&[("kind", Shape::Text)])),
        (
            "conversion",
            Shape::Members(&[
                ("webhook", Shape::Members(&[("clientConfig", CLIENT)])),
                ("webhookClientConfig", CLIENT),
            ]),
        ),
    ]),
)]);

const POLICY_BINDING: Shape = Shape::Members(&[("spec", Shape::Members(&[("policyName", Shape::Text)]))]);

/// A configuration of webhooks has requests sent to Services.
pub(super) fn webhooks(told: &mut Told, object: &Object<'_>) {
    for webhook in object.pick(&WEBHOOKS).items_of("webhooks") {
        to_service(told, webhook.get("clientConfig"));
    }
}

/// An APIService has a group served by a Service; by the API server itself where it names none.
pub(super) fn api_service(told: &mut Told, object: &Object<'_>) {
    to_service(told, object.pick(&API_SERVICE).get("spec"));
}

/// A CustomResourceDefinition has its instances, and a Service where a webhook converts between their versions.
///
/// The instances reference it rather than being owned by it: what belongs to whom is not decided by kinds.
pub(super) fn definition(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&DEFINITION);
    let spec = picked.get("spec");
    let group = spec.text_of("group").filter(|group| !group.is_empty());
    let kind = group.and_then(|group| kind_of(group, spec.get("names").text_of("kind")?));
    told.to(EdgeKind::References, kind.map(|kind| Far::Every { kind }));
    let conversion = spec.get("conversion");
    to_service(told, conversion.get("webhook").get("clientConfig"));
    to_service(told, conversion.get("webhookClientConfig"));
}

/// A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding puts a policy into force.
pub(super) fn policy_binding(told: &mut Told, object: &Object<'_>) {
    let Some(kind) = object.kind.strip_suffix("Binding") else { return };
    let picked = object.pick(&POLICY_BINDING);
    let name = picked.get("spec").text_of("policyName");
    told.from(EdgeKind::References, named("admissionregistration.k8s.io", kind, "", name));
}

fn to_service(told: &mut Told, client: &Picked<'_>) {
    let service = client.get("service");
    let Some(namespace) = service.text_of("namespace").filter(|namespace| !namespace.is_empty()) else {
        return;
    };
    told.to(EdgeKind::Routes, named("", "Service", namespace, service.text_of("name")));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn service(name: &str) -> Value {
        json!({"service": {"namespace": "infra", "name": name, "path": "/"}, "caBundle": "x"})
    }

    #[test]
    fn webhooks_route_to_services() {
        for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
            let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "it"},
                "webhooks": [{"name": "a", "clientConfig": service("a")}, {"name": "b", "clientConfig": {"url": "https://x"}},
                    {"name": "c", "clientConfig": service("a")}, {"clientConfig": {"service": {"name": "nowhere"}}}]});
            assert_eq!(told(&configuration), ["-> routes Service infra/a"], "{kind}");
        }
    }

    #[test]
    fn an_aggregated_api_routes_to_its_service() {
        let api = |service: Value| json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.x"}, "spec": service});
        assert_eq!(told(&api(service("metrics"))), ["-> routes Service infra/metrics"]);
        assert!(told(&api(json!({"group": "apps", "service": null}))).is_empty());
    }

    #[test]
    fn a_definition_has_its_instances_and_converts_by_a_service() {
        let definition = |conversion: Value| {
            told(
                &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.x.io"},
                "spec": {"group": "x.io", "names": {"kind": "Widget", "plural": "widgets"}, "conversion": conversion}}),
            )
        };
        assert_eq!(definition(json!({"strategy": "None"})), ["-> references Widget.x.io *"]);
        let both = ["-> references Widget.x.io *", "-> routes Service infra/convert"];
        assert_eq!(definition(json!({"webhook": {"clientConfig": service("convert")}})), both);
        assert_eq!(definition(json!({"webhookClientConfig": service("convert")})), both);
        let nothing = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"names": {"kind": "Pod"}}});
        assert!(told(&nothing).is_empty());
    }

    #[test]
    fn a_binding_puts_its_policy_into_force() {
        for kind in ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"] {
            let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}Binding"),
                "metadata": {"name": "it"}, "spec": {"policyName": "limits"}});
            assert_eq!(
                told(&binding),
                [format!("<- references {kind}.admissionregistration.k8s.io /limits")]
            );
        }
    }
}
