//! Relations, good and bad, and what they find.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod examples;
mod mistakes;

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::{hostile, told_with};
use super::super::{EdgeRef, MAX_EDGES, edges};
use super::*;

/// Relations with one entry that has these keys besides those that all need.
fn one(keys: &str) -> String {
    format!("relations: [{{name: it, edge: references, direction: to_target, object: {{kind: A}}, {keys}}}]")
}

/// What a relation with these keys finds in an object of kind A.
fn found(keys: &str, fields: Value) -> Vec<String> {
    let mut object = json!({"apiVersion": "v1", "kind": "A", "metadata": {"namespace": "own", "name": "me", "uid": "u-me",
        "labels": {"to": "b", "where": "there"}, "annotations": {"to": "c", "where": "elsewhere"}}});
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    told_with(&object, &Relations::parse(&one(keys)).unwrap())
}

#[test]
fn a_link_stands_in_a_field_a_label_or_an_annotation() {
    let spec = json!({"spec": {"to": ["x", "y", 7, "", "x", "a/b"]}});
    for (keys, expected) in [
        ("path: '$.spec.to[*]', target: {kind: B}", &["-> references B own/x", "-> references B own/y"][..]),
        ("path: $.spec.to, target: {kind: B}", &[]),
        ("label: to, target: {kind: B, group: x.io}", &["-> references B.x.io own/b"]),
        ("label: none, target: {kind: B}", &[]),
        ("annotation: to, target: {kind: B}", &["-> references B own/c"]),
    ] {
        assert_eq!(found(keys, spec.clone()), expected, "{keys}");
    }
}

#[test]
fn a_reference_may_say_all_or_leave_it_to_the_target() {
    let spec = json!({"spec": {"refs": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        {"name": "b"},
        {"kind": "Wide", "name": "c", "namespace": "n"},
        {"kind": "B", "name": "d", "uid": "u-d"},
        {"kind": "A", "group": "", "name": "me"},
        {"uid": "u-me", "kind": "A", "name": "me"},
        "e", null, {},
    ]}});
    assert_eq!(
        found(
            "reference: '$.spec.refs[*]', target: {group: x.io, kind: B, cluster_scoped: [Wide]}",
            spec.clone()
        ),
        [
            "-> references Deployment.apps own/a",
            "-> references B.x.io own/b",
            "-> references Wide.x.io /c",
            "-> references B.x.io d u-d",
        ],
        "and never to itself"
    );
    assert_eq!(
        found("reference: '$.spec.refs[*]'", spec),
        ["-> references Deployment.apps own/a", "-> references Wide n/c", "-> references B d u-d"],
        "without a target the reference has to say its kind"
    );
}

#[test]
fn a_selector_is_one_of_two_forms_and_never_selects_everything() {
    let spec = json!({"spec": {"plain": {"app": "web"}, "full": {"matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "a", "operator": "Exists"}]}, "none": {}, "odd": {"app": 7}, "list": ["app"]}});
    assert_eq!(
        found("selector: '$.spec.*', target: {kind: Pod}", spec.clone()),
        ["-> references Pod own/[a,app=web]", "-> references Pod own/[app=web]"]
    );
    assert_eq!(
        found("selector: $.spec.plain, target: {kind: Pod, namespace: none}", spec),
        ["-> references Pod /[app=web]"]
    );
}

#[test]
fn the_namespace_is_found_or_that_of_the_object() {
    for (namespace, expected) in [
        ("own", "own/b"),
        ("none", "/b"),
        ("{fixed: infra}", "infra/b"),
        ("{path: $.spec.at}", "far/b"),
        ("{path: $.spec.nowhere}", "own/b"),
        ("{label: where}", "there/b"),
        ("{label: nowhere}", "own/b"),
        ("{annotation: where}", "elsewhere/b"),
    ] {
        let keys = format!("label: to, target: {{kind: B, namespace: {namespace}}}");
        let told = found(&keys, json!({"spec": {"at": "far"}}));
        assert_eq!(told, [format!("-> references B {expected}")], "{namespace}");
    }
}

#[test]
fn a_pattern_takes_the_parts_out_of_a_text() {
    let pattern = r"(?:(?<group>[^/]*)/)?(?<kind>[A-Z][a-z]+):(?:(?<namespace>[^/]+)/)?(?<name>.+)";
    let keys = format!("path: '$.spec.to[*]', pattern: '{pattern}', target: {{group: x.io}}");
    let long = format!("Pod:{}", "a".repeat(3000));
    let to = ["apps/Deployment:n/a", "/Pod:b", "Job:c", "Pod:", "xPod:a", "Pod:a/b/c", &long];
    assert_eq!(
        found(&keys, json!({"spec": {"to": to}})),
        ["-> references Deployment.apps n/a", "-> references Pod own/b", "-> references Job.x.io own/c"],
        "the whole text has to match, and what can name nothing tells nothing"
    );
}

#[test]
fn objects_are_chosen_by_kind_and_group() {
    let told = |object: &str, version: &str, kind: &str| {
        let yaml = one("label: to, target: {kind: B}").replace("{kind: A}", object);
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"labels": {"to": "b"}}});
        !told_with(&object, &Relations::parse(&yaml).unwrap()).is_empty()
    };
    for (object, version, kind, expected) in [
        ("{kind: A}", "v1", "A", true),
        ("{kind: A}", "x.io/v1", "A", false),
        ("{kind: A, group: x.io}", "x.io/v2beta1", "A", true),
        ("{kind: A, group: '*'}", "v1", "A", true),
        ("{kind: A, group: '*'}", "v1", "B", false),
        ("{kind: '*', group: '*'}", "v1", "B", true),
        ("{kind: '*', group: '*.x.io'}", "a.x.io/v1", "B", true),
        ("{kind: '*', group: '*.x.io'}", "x.io/v1", "B", false),
        ("{kind: '*', group: '*.x.io'}", "ax.io/v1", "B", false),
    ] {
        assert_eq!(told(object, version, kind), expected, "{object} {version} {kind}");
    }
}

#[test]
fn what_is_found_comes_after_what_is_built_in_and_in_the_order_of_the_file() {
    let mut yaml = "relations:\n".to_owned();
    for (name, kind) in [("c", "'*'"), ("a", "Pod"), ("b", "'*'")] {
        writeln!(yaml, "- {{name: {name}, edge: owns, direction: from_target, object: {{kind: {kind}}}, path: $.metadata.name, target: {{kind: {}}}}}", name.to_uppercase()).unwrap();
    }
    let relations = Relations::parse(&yaml).unwrap();
    let pod =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"nodeName": "n"}});
    assert_eq!(
        told_with(&pod, &relations),
        ["<- references Node /n", "<- owns C /x", "<- owns A /x", "<- owns B /x"]
    );
    let other = json!({"apiVersion": "v1", "kind": "Other", "metadata": {"name": "x"}});
    assert_eq!(told_with(&other, &relations), ["<- owns C /x", "<- owns B /x"]);
}

#[test]
fn the_digest_tells_relations_apart_and_not_their_layout() {
    let parse = |yaml: &str| Relations::parse(yaml).unwrap();
    for nothing in ["", "# none yet\n", "relations: []", "{}"] {
        let none = parse(nothing);
        assert!(none.is_empty());
        assert_eq!(none.digest(), Relations::default().digest());
    }
    let some = parse(&one("label: a, target: {kind: B}"));
    assert!(!some.is_empty());
    assert_ne!(some.digest(), Relations::default().digest());
    let same = "# a comment\nrelations:\n- label: a\n  target:\n    kind: B\n  name: 'it'\n  edge: references\n  object: {kind: A}\n  direction: to_target\n";
    assert_eq!(some.digest(), parse(same).digest());
    assert_ne!(some.digest(), parse(&one("label: b, target: {kind: B}")).digest());
}

#[test]
fn hostile_objects_cost_no_more_than_the_budget_and_crowd_nobody_out() {
    let relations = "relations:
- {name: greedy, edge: owns, direction: to_target, object: {kind: A}, path: '$..*..*..*', target: {kind: B}}
- {name: sound, edge: owns, direction: to_target, object: {kind: A}, path: $.spec.to, target: {kind: B}}";
    let many: Vec<_> = (0..100_000).map(|n| json!([n.to_string()])).collect();
    let object = json!({"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": {"to": "x", "many": many}});
    assert_eq!(told_with(&object, &Relations::parse(relations).unwrap()), ["-> owns B /x"]);
    let few: Vec<_> = (0..5000).map(|n| n.to_string()).collect();
    assert_eq!(found("path: '$.spec[*]', target: {kind: B}", json!({"spec": few})).len(), MAX_EDGES);
}

/// An object in which relations of every sort find something.
const RICH: &str = "
apiVersion: x.io/v1
kind: A
metadata: {namespace: own, name: me, uid: u-me, labels: {to: b, where: there}, annotations: {to: a.b}}
spec: {to: [one, two], refs: [{apiVersion: apps/v1, kind: Deployment, name: a, namespace: other, uid: ''}, {name: b, uid: u}],
  selectors: [{matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}, {e: f}], at: far}
";

#[test]
fn other_types_tell_no_more_and_other_orders_the_same() {
    let ways = [
        ("path: '$.spec.to[*]', target: {kind: B, namespace: {path: $.spec.at}}", 2),
        ("label: to, target: {kind: B, namespace: {label: where}}", 1),
        (r"annotation: to, pattern: '(?<namespace>\w+)\.(?<name>\w+)', target: {kind: C}", 1),
        ("selector: '$.spec.selectors[*]', target: {kind: Pod, namespace: {annotation: where}}", 2),
        ("reference: '$.spec.refs[*]', target: {kind: D}", 2),
        ("path: '$.spec..*', target: {kind: E, group: e.io}", 12),
    ];
    let rich: Value = serde_saphyr::from_str(RICH).unwrap();
    for (way, count) in ways {
        let relations = Relations::parse(&one(way).replace("{kind: A}", "{group: x.io, kind: A}")).unwrap();
        let find = |object: &Value| edges(&Object::parse(&hostile::text(object)).unwrap(), &relations);
        let all = find(&rich);
        assert_eq!(all.len(), count, "{way}: {all:#?}");
        assert_eq!(find(&hostile::turned(&rich, 1)), all, "{way}");
        for other in hostile::others() {
            for object in hostile::replaced(&rich, &other).iter().filter(|object| object.is_object()) {
                assert!(find(object).len() <= count, "{way}: {object}");
            }
        }
    }
}

/// Any JSON, with the names that relations look for more likely than others.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z./:_*-]{0,12}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "spec",
        "metadata",
        "to",
        "name",
        "kind",
        "namespace",
        "apiVersion",
        "uid",
        "labels",
        "annotations",
        "matchLabels",
        "matchExpressions",
        "http",
        "route",
        "destination",
        "host",
        "gateways",
        "strategy",
        "templates",
        "templateName",
        "selector",
        "issuerRef",
        "sourceRef",
        "traffic",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_object_makes_relations_panic(mut object in any_json(), kind in 0..4_usize) {
        let relations = Relations::parse(examples::EXAMPLES).unwrap();
        if let Value::Object(members) = &mut object {
            let (version, kind) = [("networking.istio.io/v1", "VirtualService"), ("argoproj.io/v1alpha1", "Rollout"),
                ("cert-manager.io/v1", "Certificate"), ("a.example.org/v1", "X")][kind];
            members.insert("apiVersion".into(), version.into());
            members.insert("kind".into(), kind.into());
            let text = object.to_string();
            let told: Vec<EdgeRef> = edges(&Object::parse(&text).unwrap(), &relations);
            prop_assert!(told.len() <= MAX_EDGES);
        }
    }
}
