#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::json;

use super::choose::choose;
use super::documents::{Root, parse_root, resources};
use super::resources::GroupVersion;
use super::*;
use crate::request::Failure;
use strandline_model::Kind;

pub(super) fn resource(plural: &str, kind: &str, verbs: &[&str]) -> serde_json::Value {
    json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": "Namespaced", "verbs": verbs})
}

pub(super) fn aggregated(items: serde_json::Value) -> Vec<GroupVersion> {
    match parse_root(&json!({"kind": "APIGroupDiscoveryList", "items": items}).to_string()).unwrap() {
        Root::Aggregated(versions) => versions,
        Root::Legacy(_) => panic!("aggregated was given"),
    }
}

fn names(discovered: &Discovered) -> Vec<String> {
    discovered.kinds.values().map(|served| format!("{} {}", served.kind, served.version)).collect()
}

pub(super) const ALL: [&str; 3] = ["get", "list", "watch"];

pub(super) fn cluster() -> Vec<GroupVersion> {
    aggregated(json!([
        {"metadata": {}, "versions": [{"version": "v1", "resources": [
            resource("pods", "Pod", &ALL), resource("events", "Event", &ALL), resource("endpoints", "Endpoints", &ALL),
            resource("bindings", "Binding", &["create"]), resource("componentstatuses", "ComponentStatus", &["list"]),
        ]}]},
        {"metadata": {"name": "networking.k8s.io"}, "versions": [
            {"version": "v1", "resources": [resource("ingresses", "Ingress", &ALL)]}]},
        {"metadata": {"name": "extensions"}, "versions": [
            {"version": "v1beta1", "resources": [resource("ingresses", "Ingress", &ALL), resource("only", "Only", &ALL)]}]},
        {"metadata": {"name": "acme.example"}, "versions": [
            {"version": "v2", "resources": [resource("widgets", "Widget", &ALL)]},
            {"version": "v1", "resources": [resource("widgets", "Widget", &ALL), resource("gadgets", "Gadget", &ALL)]}]},
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [
            {"version": "v1beta1", "resources": [resource("pods", "PodMetrics", &ALL)]}]},
    ]))
}

#[test]
fn each_kind_is_followed_once_in_its_preferred_version() {
    let discovered = choose(cluster(), &Selection::default(), &Discovered::default());
    let expected = [
        "Event v1",
        "Pod v1",
        "Gadget.acme.example v1",
        "Widget.acme.example v2",
        "Only.extensions v1beta1",
        "Ingress.networking.k8s.io v1",
    ];
    assert_eq!(names(&discovered), expected);
    assert!(discovered.failed.is_empty());
}

#[test]
fn a_selection_adds_and_removes() {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let selection = Selection {
        include: patterns(&["Endpoints", "*.metrics.k8s.io"]),
        exclude: patterns(&["*.acme.example", "Pod", "Event"]),
        ..Selection::default()
    };
    let discovered = choose(cluster(), &selection, &Discovered::default());
    let expected = [
        "Endpoints v1",
        "Only.extensions v1beta1",
        "PodMetrics.metrics.k8s.io v1beta1",
        "Ingress.networking.k8s.io v1",
    ];
    assert_eq!(names(&discovered), expected);
}

#[test]
fn events_are_followed_by_one_door_and_excluded_by_either() {
    let events = |group: &str| {
        json!({"metadata": {"name": group}, "versions": [
            {"version": "v1", "resources": [resource("events", "Event", &ALL)]}]})
    };
    let core = json!({"metadata": {}, "versions": [{"version": "v1", "resources": [resource("events", "Event", &ALL)]}]});
    let followed = |items: &[serde_json::Value], exclude: &str| {
        let exclude = exclude.split_whitespace().map(|text| text.parse().unwrap()).collect();
        let selection = Selection { exclude, ..Selection::default() };
        names(&choose(aggregated(json!(items)), &selection, &Discovered::default()))
    };
    let (old, both) = ([core.clone()], [core.clone(), events("events.k8s.io")]);
    assert_eq!(followed(&both, ""), ["Event v1"]);
    assert_eq!(followed(&old, ""), ["Event v1"], "an old cluster has no other");
    for exclude in ["Event", "Event.events.k8s.io", "*.events.k8s.io"] {
        assert!(followed(&both, exclude).is_empty(), "{exclude}");
        assert!(followed(&old, exclude).is_empty(), "{exclude}, old cluster");
    }
    let foreign = [core, events("acme.example")];
    assert_eq!(followed(&foreign, "Event"), ["Event.acme.example v1"], "another kind that is called so");
}

#[test]
fn a_group_that_fails_keeps_what_was_known_and_hurts_no_other() {
    let known = choose(cluster(), &Selection::default(), &Discovered::default());
    let stale = aggregated(json!([
        {"metadata": {}, "versions": [{"version": "v1", "resources": [resource("pods", "Pod", &ALL)]}]},
        {"metadata": {"name": "acme.example"}, "versions": [{"version": "v2", "freshness": "Stale", "resources": []}]},
    ]));
    let discovered = choose(stale, &Selection::default(), &known);
    assert_eq!(names(&discovered), ["Pod v1", "Gadget.acme.example v1", "Widget.acme.example v2"]);
    assert_eq!(discovered.failed.len(), 1);
    assert_eq!(discovered.failed[0].group, "acme.example");
}

#[test]
fn older_documents_are_understood() {
    let groups = json!({"kind": "APIGroupList", "groups": [
        {"name": "apps", "versions": [{"groupVersion": "apps/v1beta1", "version": "v1beta1"}, {"groupVersion": "apps/v1", "version": "v1"}],
         "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}},
    ]});
    let Root::Legacy(versions) = parse_root(&groups.to_string()).unwrap() else { panic!("legacy was given") };
    assert_eq!(versions, [("apps".to_owned(), "v1".to_owned()), ("apps".to_owned(), "v1beta1".to_owned())]);

    let list = json!({"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
        {"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": ALL},
        {"name": "deployments/scale", "group": "autoscaling", "kind": "Scale", "namespaced": true, "verbs": ALL},
    ]});
    let resources = resources("apps", &list.to_string()).unwrap();
    let version =
        GroupVersion { group: "apps".to_owned(), version: "v1".to_owned(), problem: None, resources };
    let discovered = choose(vec![version], &Selection::default(), &Discovered::default());
    assert_eq!(names(&discovered), ["Deployment.apps v1"]);
    let served = &discovered.kinds[&Kind::new("apps", "Deployment")];
    assert_eq!(served.path(""), "/apis/apps/v1/deployments");
    assert_eq!(served.path("shop"), "/apis/apps/v1/namespaces/shop/deployments");
}

#[test]
fn nonsense_is_an_error_and_never_an_empty_cluster() {
    for text in ["", "{}", "null", "[]", r#"{"kind":"Status"}"#] {
        assert!(matches!(parse_root(text), Err(Failure::Invalid(_))), "{text}");
    }
}
