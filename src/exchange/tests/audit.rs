//! Audit logs: who did what, in the order of their times.

use std::fs;

use serde_json::json;

use super::objects::{rules, told};
use super::*;

/// An event of a request that was carried out.
fn event(time: &str, verb: &str, response: Value) -> Value {
    json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
        "auditID": "a", "verb": verb, "requestURI": "/api/v1/namespaces/shop/configmaps/settings",
        "user": {"username": "alice"}, "userAgent": "kubectl/v1.36 (linux/amd64)",
        "objectRef": {"resource": "configmaps", "namespace": "shop", "name": "settings", "apiVersion": "v1"},
        "responseStatus": {"code": 200}, "responseObject": response,
        "requestReceivedTimestamp": format!("2026-11-20T{time}:00.000000Z"),
        "stageTimestamp": format!("2026-11-20T{time}:00.500000Z")})
}

fn settings(version: u64, value: &str, metadata: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"color": value},
        "metadata": {"name": "settings", "namespace": "shop", "uid": "u1", "resourceVersion": version.to_string()}});
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().cloned().unwrap());
    object
}

fn imported(folder: &TempDir, files: &[Vec<Value>]) -> (Imported, PathBuf) {
    let write = |(n, lines): (usize, &Vec<Value>)| {
        let path = folder.path().join(format!("audit-{n}.log"));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).unwrap();
        path
    };
    let paths: Vec<_> = files.iter().enumerate().map(write).collect();
    let data = folder.path().join("data");
    (import_audit(&paths, "one", &data, &rules()).unwrap(), data)
}

#[test]
fn audit_logs_tell_who_did_what_in_the_order_of_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": "settings", "uid": "u1"}});
    let mut by_controller = event("09:20", "update", settings(3, "green", json!({})));
    by_controller["user"] = json!({"username": "system:serviceaccount:kube-system:painter"});
    by_controller["userAgent"] = json!("painter/v2");
    by_controller["impersonatedUser"] = json!({"username": "bob"});
    let files = [
        vec![by_controller, event("09:30", "delete", status)],
        vec![
            event("09:10", "patch", settings(2, "blue", json!({}))),
            event("09:00", "create", settings(1, "red", json!({}))),
        ],
    ];
    let (imported, data) = imported(&folder, &files);
    assert_eq!(
        told(&data),
        [
            "09:00 +ConfigMap/settings by alice (kubectl) create",
            "09:10 +ConfigMap/settings by alice (kubectl) patch",
            "09:20 +ConfigMap/settings by bob (painter) update",
            "09:30 -ConfigMap/settings"
        ]
    );
    assert_eq!((imported.read, imported.skipped.len()), (4, 0), "{imported:?}");
    project(&data);
}

#[test]
fn deletions_are_told_by_what_the_response_holds() {
    let gone = json!({"deletionTimestamp": "2026-11-20T09:05:00Z", "deletionGracePeriodSeconds": 0});
    let held = json!({"deletionTimestamp": "2026-11-20T09:05:00Z", "deletionGracePeriodSeconds": 0, "finalizers": ["a/b"]});
    let grace = json!({"deletionTimestamp": "2026-11-20T09:05:00Z", "deletionGracePeriodSeconds": 30});
    let created = || event("09:00", "create", settings(1, "red", json!({})));
    let state = "09:05 +ConfigMap/settings by alice (kubectl) delete";
    let end = "09:05 -ConfigMap/settings";
    let mut forced = event("09:05", "delete", settings(2, "red", grace.clone()));
    forced["requestObject"] = json!({"kind": "DeleteOptions", "gracePeriodSeconds": 0});
    let mut nameless = json!({"kind": "Status", "apiVersion": "v1", "status": "Success"});
    nameless["details"] = json!({"name": "settings"});
    let list = json!({"kind": "ConfigMapList", "apiVersion": "v1", "items": [settings(1, "red", json!({}))]});
    for (event, expected) in [
        (event("09:05", "delete", settings(1, "red", json!({}))), vec![end]),
        (event("09:05", "delete", settings(2, "red", gone.clone())), vec![end]),
        (event("09:05", "delete", settings(2, "red", held)), vec![state]),
        (event("09:05", "delete", settings(2, "red", grace)), vec![state]),
        (forced, vec![end]),
        (event("09:05", "delete", nameless), vec![end]),
        (event("09:05", "deletecollection", list), vec![end]),
        (
            event("09:05", "update", settings(2, "red", gone)),
            vec!["09:05 +ConfigMap/settings by alice (kubectl) update", end],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (_, data) = imported(&folder, &[vec![created(), event.clone()]]);
        assert_eq!(told(&data)[1..], expected, "{event:#}");
    }
}

#[test]
fn what_tells_of_no_change_is_counted_by_its_reason() {
    let with = |name: &str, value: Value| {
        let mut event = event("09:05", "update", settings(5, "x", json!({})));
        event[name] = value;
        event
    };
    let scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "settings", "uid": "u1"}});
    let mut scaled = event("09:05", "patch", scale);
    scaled["objectRef"]["subresource"] = json!("scale");
    let mut status = event("09:06", "update", settings(6, "y", json!({})));
    status["objectRef"]["subresource"] = json!("status");
    let mut silent = event("09:05", "update", json!({}));
    silent.as_object_mut().unwrap().remove("responseObject");
    let folder = tempfile::tempdir().unwrap();
    let lines = vec![
        with("level", json!("Metadata")),
        with("level", json!("Request")),
        with("stage", json!("RequestReceived")),
        with("verb", json!("get")),
        with("responseStatus", json!({"code": 409})),
        with("requestURI", json!("/api/v1/namespaces/shop/configmaps/settings?dryRun=All")),
        with("apiVersion", json!("audit.k8s.io/v1beta1")),
        with("stageTimestamp", json!("noon")),
        with("objectRef", Value::Null),
        scaled,
        silent,
        json!("garbage"),
        status,
        event("09:06", "update", settings(4, "older", json!({}))),
    ];
    let (imported, data) = imported(&folder, &[lines]);
    assert_eq!(told(&data), ["09:06 +ConfigMap/settings by alice (kubectl) update"]);
    let reasons: Vec<_> = imported.skipped.iter().map(|(reason, skipped)| (*reason, skipped.count)).collect();
    assert_eq!(
        reasons,
        [
            ("dry_run", 1),
            ("level", 2),
            ("no_object", 1),
            ("no_response", 1),
            ("no_time", 1),
            ("other_stage", 1),
            ("other_version", 1),
            ("reads", 1),
            ("refused", 1),
            ("subresource", 1),
            ("unreadable", 1)
        ]
    );
    assert!(imported.skipped["level"].first.ends_with("audit-0.log: line 1"), "{imported:?}");
    assert_eq!(imported.unchanged, 1, "what is older than what is recorded changes nothing");
}

#[test]
fn a_file_without_any_event_is_no_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, "a\nb\n").unwrap();
    let refused = import_audit(&[path], "one", &folder.path().join("data"), &rules()).unwrap_err();
    assert!(refused.to_string().contains("audit.k8s.io/v1"), "{refused}");
    assert!(!folder.path().join("data").exists());
}
