//! What speaks of Pods by their labels in order to protect or fence them.

use super::selector::{SELECTOR, selector};
use super::told::Told;
use super::{EdgeKind, Far};
use crate::json::{Picked, Shape};
use crate::model::{Kind, LabelSelector};
use crate::object::Object;

const BUDGET: Shape = Shape::Members(&[("spec", Shape::Members(&[("selector", SELECTOR)]))]);
const POLICY: Shape = Shape::Members(&[("spec", Shape::Members(&[("podSelector", SELECTOR)]))]);

/// A PodDisruptionBudget; an empty selector means all Pods of the namespace, in v1beta1 none, and no selector none.
pub(super) fn disruption_budget(told: &mut Told, object: &Object<'_>) {
    let selector = selector(object.pick(&BUDGET).get("spec").get("selector"));
    let old = object.api_version.ends_with("/v1beta1");
    pods(told, object, selector.filter(|selector| !(old && selector.is_empty())));
}

/// A NetworkPolicy; an empty selector, or none, means all Pods of the namespace.
pub(super) fn network_policy(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&POLICY);
    let Picked::Members(_) = picked.get("spec") else { return };
    let selected = match picked.get("spec").get("podSelector") {
        Picked::Absent => Some(LabelSelector::default()),
        written => selector(written),
    };
    pods(told, object, selected);
}

fn pods(told: &mut Told, object: &Object<'_>, selector: Option<LabelSelector>) {
    let namespace = object.metadata.namespace.to_string();
    let pods = |selector| Far::Matching { kind: Kind::new("", "Pod"), namespace, selector };
    told.to(EdgeKind::Selects, selector.map(pods));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn object(version: &str, kind: &str, spec: &Value) -> Vec<String> {
        told(
            &json!({"apiVersion": version, "kind": kind, "metadata": {"namespace": "shop", "name": "web"}, "spec": spec}),
        )
    }

    #[test]
    fn a_budget_with_an_empty_selector_means_all_pods_since_v1() {
        let named = json!({"selector": {"matchLabels": {"app": "web"}}});
        let empty = json!({"selector": {}});
        for (version, spec, expected) in [
            ("policy/v1", &named, &["-> selects Pod shop/[app=web]"][..]),
            ("policy/v1beta1", &named, &["-> selects Pod shop/[app=web]"]),
            ("policy/v1", &empty, &["-> selects Pod shop/[]"]),
            ("policy/v1beta1", &empty, &[]),
            ("policy/v1", &json!({}), &[]),
            ("policy/v1", &json!({"selector": null}), &[]),
        ] {
            assert_eq!(object(version, "PodDisruptionBudget", spec), expected, "{version} {spec}");
        }
    }

    #[test]
    fn a_network_policy_without_a_selector_means_all_pods() {
        for (spec, expected) in [
            (json!({"podSelector": {"matchLabels": {"app": "web"}}}), &["-> selects Pod shop/[app=web]"][..]),
            (json!({"podSelector": {}}), &["-> selects Pod shop/[]"]),
            (json!({}), &["-> selects Pod shop/[]"]),
            (json!({"podSelector": 7}), &[]),
            (json!(null), &[]),
        ] {
            assert_eq!(object("networking.k8s.io/v1", "NetworkPolicy", &spec), expected, "{spec}");
        }
    }
}
