//! What speaks of Pods by their labels in order to protect or fence them.
//!
//! Whom a NetworkPolicy lets in or out is told as narrowly as it costs no more than it says: Pods where their labels are
//! named with a value, in the policy's namespace or in one that is named; otherwise the namespaces. So `{}` for all Pods, or
//! for all namespaces, is one edge and not one for each.

use super::EdgeKind::{References, Selects};
use super::selector::{SELECTOR, selector};
use super::told::{Told, named, selected};
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};
use strandline_syntax::{Condition, LabelSelector, Requirement};

/// The label that every Namespace carries with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

const BUDGET: Shape = Shape::Members(&[("spec", Shape::Members(&[("selector", SELECTOR)]))]);

const PEERS: Shape =
    Shape::Each(&Shape::Members(&[("podSelector", SELECTOR), ("namespaceSelector", SELECTOR)]));

const POLICY: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("podSelector", SELECTOR),
        ("ingress", Shape::Each(&Shape::Members(&[("from", PEERS)]))),
        ("egress", Shape::Each(&Shape::Members(&[("to", PEERS)]))),
    ]),
)]);

/// A PodDisruptionBudget; an empty selector means all Pods of the namespace, in v1beta1 none, and no selector none.
pub(super) fn disruption_budget(told: &mut Told, object: &Object<'_>) {
    let selector = selector(object.pick(&BUDGET).get("spec").get("selector"));
    let old = object.api_version.ends_with("/v1beta1");
    let selector = selector.filter(|selector| !(old && selector.is_empty()));
    told.to(Selects, selected("", "Pod", &object.metadata.namespace, selector));
}

/// A NetworkPolicy; an empty selector, or none, means all Pods of the namespace.
pub(super) fn network_policy(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&POLICY);
    let spec = picked.get("spec");
    let Picked::Members(_) = spec else { return };
    let pods = match spec.get("podSelector") {
        Picked::Absent => Some(LabelSelector::default()),
        written => selector(written),
    };
    told.to(Selects, selected("", "Pod", &object.metadata.namespace, pods));
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for peer in spec.items_of(rules).iter().flat_map(|rule| rule.items_of(peers)) {
            tell_peer(told, &object.metadata.namespace, peer);
        }
    }
}

/// Whom a peer means; ranges of addresses mean nobody that is known.
fn tell_peer(told: &mut Told, own: &str, peer: &Picked<'_>) {
    let (pods, namespaces) = (peer.get("podSelector"), peer.get("namespaceSelector"));
    let asked = match (pods, namespaces) {
        (Picked::Absent, Picked::Absent) => return,
        (Picked::Absent, _) => None,
        (pods, _) => match selector(pods) {
            Some(pods) => Some(pods).filter(|pods| pods.anchor().is_some()),
            None => return,
        },
    };
    let named_namespaces = match namespaces {
        Picked::Absent => Some(vec![own.to_owned()]),
        written => match selector(written) {
            Some(written) => match names(&written) {
                Some(names) => Some(names),
                None => return told.to(References, selected("", "Namespace", "", Some(written))),
            },
            None => None,
        },
    };
    for namespace in named_namespaces.unwrap_or_default() {
        told.to(
            References,
            match &asked {
                Some(pods) => selected("", "Pod", &namespace, Some(pods.clone())),
                None => named("", "Namespace", "", Some(&namespace)),
            },
        );
    }
}

/// The namespaces that a selector names one by one; none where it asks for anything else.
fn names(selector: &LabelSelector) -> Option<Vec<String>> {
    let mut asked = selector.requirements();
    match (asked.next(), asked.next()) {
        (Some(Requirement { name, condition: Condition::In(names) }), None) if name == NAME_LABEL => {
            Some(names.iter().cloned().collect())
        }
        _ => None,
    }
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
    fn a_network_policy_names_its_peers_as_narrowly_as_it_can() {
        let pods = |labels: Value| json!({"podSelector": {"matchLabels": labels}});
        let namespaces = |labels: Value| json!({"namespaceSelector": {"matchLabels": labels}});
        let named = json!({"kubernetes.io/metadata.name": "infra"});
        let both = |labels: Value| {
            json!({"namespaceSelector": {"matchLabels": labels},
            "podSelector": {"matchLabels": {"app": "proxy"}}})
        };
        for (peer, expected) in [
            (pods(json!({"app": "api"})), Some("-> references Pod shop/[app=api]")),
            (namespaces(named.clone()), Some("-> references Namespace /infra")),
            (both(named), Some("-> references Pod infra/[app=proxy]")),
            (both(json!({"team": "a"})), Some("-> references Namespace /[team=a]")),
            (json!({"podSelector": {}}), Some("-> references Namespace /shop")),
            (
                json!({"podSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}),
                Some("-> references Namespace /shop"),
            ),
            (json!({"namespaceSelector": {}}), Some("-> references Namespace *")),
            (json!({"namespaceSelector": {}, "podSelector": {}}), Some("-> references Namespace *")),
            (json!({"ipBlock": {"cidr": "10.0.0.0/8"}}), None),
            (json!({"podSelector": 7}), None),
            (json!({"namespaceSelector": 7}), None),
            (json!({"namespaceSelector": 7, "podSelector": {"matchLabels": {"app": "proxy"}}}), None),
        ] {
            for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
                let spec = json!({"podSelector": {"matchLabels": {"app": "web"}}, rules: [{peers: [peer]}]});
                let told = object("networking.k8s.io/v1", "NetworkPolicy", &spec);
                assert_eq!(told[0], "-> selects Pod shop/[app=web]");
                assert_eq!(told.get(1).map(String::as_str), expected, "{spec}");
            }
        }
        let names = json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}]});
        let spec = json!({"podSelector": {}, "ingress": [{"from": [{"namespaceSelector": names}]}]});
        assert_eq!(
            object("networking.k8s.io/v1", "NetworkPolicy", &spec),
            ["-> selects Pod shop/[]", "-> references Namespace /a", "-> references Namespace /b"]
        );
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
