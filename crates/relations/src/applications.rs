//! Applications of `app.k8s.io`: objects of the kinds they list, by their labels.

use super::EdgeKind::Selects;
use super::selector::{SELECTOR, selector};
use super::told::{Told, selected};
use strandline_object::Object;
use strandline_object::json::Shape;

const APPLICATION: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("selector", SELECTOR),
        ("componentKinds", Shape::Each(&Shape::Members(&[("group", Shape::Text), ("kind", Shape::Text)]))),
    ]),
)]);

/// An Application selects its components; an empty selector selects nothing, since it would make all of a namespace one
/// application.
pub(super) fn application(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&APPLICATION);
    let spec = picked.get("spec");
    let labels = selector(spec.get("selector")).filter(|labels| !labels.is_empty());
    for component in spec.items_of("componentKinds") {
        let kind = component.text_of("kind").unwrap_or_default();
        let group = group(component.text_of("group").unwrap_or_default());
        told.to(Selects, selected(group, kind, &object.metadata.namespace, labels.clone()));
    }
}

/// The group as people write it here: with its version, or `core`, or the version alone for the group without a name.
fn group(written: &str) -> &str {
    let group = written.split_once('/').map_or(written, |(group, _)| group);
    let version = group.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if version && !group.contains('.') || group == "core" { "" } else { group }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn application(selector: &Value) -> Vec<String> {
        let kinds = json!([{"group": "apps", "kind": "Deployment"}, {"group": "core", "kind": "Service"},
            {"group": "v1", "kind": "ConfigMap"}, {"kind": "Secret"}, {"group": "batch/v1", "kind": "Job"}, {"group": "apps"}]);
        told(&json!({"apiVersion": "app.k8s.io/v1beta1", "kind": "Application",
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {"selector": selector, "componentKinds": kinds}}))
    }

    #[test]
    fn an_application_selects_its_components_by_their_labels() {
        assert_eq!(
            application(&json!({"matchLabels": {"app": "web"}})),
            [
                "-> selects Deployment.apps shop/[app=web]",
                "-> selects Service shop/[app=web]",
                "-> selects ConfigMap shop/[app=web]",
                "-> selects Secret shop/[app=web]",
                "-> selects Job.batch shop/[app=web]",
            ]
        );
        for nothing in [json!({}), json!(null), json!({"matchLabels": 7})] {
            assert!(application(&nothing).is_empty(), "{nothing}");
        }
    }
}
