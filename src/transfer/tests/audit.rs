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

/// The files that tell of the same two changes, in all forms that are read.
fn forms() -> Vec<(&'static str, String)> {
    let events = [
        event("09:00", "create", settings(1, "red", json!({}))),
        event("09:10", "patch", settings(2, "blue", json!({}))),
    ];
    let each = |of: &dyn Fn(&Value) -> Value| -> Vec<Value> { events.iter().map(of).collect() };
    let lines = |values: Vec<Value>| values.iter().map(|value| format!("{value}\n")).collect::<String>();
    let bare = each(&|event| {
        let mut event = event.clone();
        event.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "apiVersion");
        event
    });
    let list = json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": bare});
    let message = each(&|event| json!({"timestamp": 1_795_167_000, "message": event.to_string()}));
    let subscription =
        json!({"messageType": "DATA_MESSAGE", "logGroup": "/aws/eks/one/cluster", "logEvents": message});
    let azure = each(&|event| {
        json!({"category": "kube-audit", "operationName": "Microsoft.ContainerService/managedClusters/diagnosticLogs/Read",
            "properties": {"log": event.to_string(), "stream": "stdout", "pod": "kube-apiserver-1"}, "time": "2026-11-20T09:00:01Z"})
    });
    let google = each(&|event| {
        let mut response = event["responseObject"].clone();
        response["@type"] = json!("core.k8s.io/v1.ConfigMap");
        json!({"logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity", "resource": {"type": "k8s_cluster"},
            "protoPayload": {"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "serviceName": "k8s.io",
                "methodName": format!("io.k8s.core.v1.configmaps.{}", event["verb"].as_str().unwrap()),
                "resourceName": "core/v1/namespaces/shop/configmaps/settings",
                "authenticationInfo": {"principalEmail": "alice"},
                "requestMetadata": {"callerSuppliedUserAgent": "kubectl/v1.36"}, "response": response},
            "timestamp": event["stageTimestamp"]})
    });
    let yaml = |values: &[Value]| {
        values
            .iter()
            .map(|value| format!("---\n{}", serde_saphyr::to_string(value).unwrap()))
            .collect::<String>()
    };
    let exported = events.iter().map(|event| format!("2026-11-20T09:00:00.000Z {event}\n")).collect();
    vec![
        ("lines", lines(events.to_vec())),
        ("indented JSON", events.iter().map(|event| format!("{event:#}\n")).collect()),
        ("an array", format!("{:#}", json!(events))),
        ("YAML", yaml(&events)),
        ("a list in a line", lines(vec![list.clone()])),
        ("a list in YAML", yaml(&[list])),
        ("CloudWatch", lines(message.clone())),
        ("CloudWatch Insights", lines(each(&|event| json!({"@message": event.to_string()})))),
        ("a subscription to CloudWatch", lines(vec![subscription])),
        ("an indented answer of CloudWatch", format!("{:#}", json!({"events": message}))),
        ("an export of CloudWatch", exported),
        ("Azure", lines(azure.clone())),
        ("Azure's records", lines(vec![json!({"records": azure})])),
        ("Google", lines(google.clone())),
        ("Google as an array", format!("{:#}", json!(google))),
        ("Google in YAML", yaml(&google)),
    ]
}

#[test]
fn audit_events_are_read_in_yaml_and_in_the_records_of_cloud_providers() {
    let mut bodies = Vec::new();
    for (form, text) in forms() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        fs::write(&path, &text).unwrap();
        assert_eq!(content_of(&path).unwrap(), Content::Audit, "{form}");
        let data = folder.path().join("data");
        let imported =
            import_audit(&[path], "one", &data, &rules()).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(
            told(&data),
            [
                "09:00 +ConfigMap/settings by alice (kubectl) create",
                "09:10 +ConfigMap/settings by alice (kubectl) patch",
            ],
            "{form}"
        );
        assert_eq!((imported.read, imported.skipped.len()), (2, 0), "{form}: {imported:?}");
        let log = LogReader::open(&data).unwrap();
        bodies.push((form, log.head().unwrap()));
    }
    assert!(bodies.iter().all(|(_, head)| *head == bodies[0].1), "{bodies:?}");
}

#[test]
fn records_that_tell_of_no_change_are_counted_by_their_reason() {
    let google = |payload: Value| json!({"timestamp": "2026-11-20T09:00:00Z", "protoPayload": payload});
    let of = |verb: &str| {
        json!({"serviceName": "k8s.io", "methodName": format!("io.k8s.core.v1.configmaps.{verb}"),
            "resourceName": "core/v1/namespaces/shop/configmaps/settings"})
    };
    let mut refused = of("update");
    refused["status"] = json!({"code": 7, "message": "denied"});
    let mut named = of("create");
    named["resourceName"] = json!("projects/p");
    let folder = tempfile::tempdir().unwrap();
    let lines = vec![
        event("09:00", "create", settings(1, "red", json!({}))),
        google(of("update")),
        google(of("list")),
        google(refused),
        google(named),
        google(json!({"serviceName": "container.googleapis.com", "methodName": "x", "resourceName": "y"})),
        json!({"category": "kube-scheduler", "properties": {"log": "I1120 scheduled"}}),
        json!({"message": "time=\"2026-11-20T09:00:00Z\" level=info msg=\"access granted\""}),
    ];
    let (imported, _) = imported(&folder, &[lines]);
    let reasons: Vec<_> = imported.skipped.iter().map(|(reason, skipped)| (*reason, skipped.count)).collect();
    assert_eq!(reasons, [("level", 1), ("no_object", 1), ("other_log", 3), ("reads", 1), ("refused", 1)]);
}

#[test]
fn a_file_that_breaks_off_says_where_and_what_could_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for (text, lines) in [
        ("{\n  \"kind\": \"Event\",\n  \"a\": [}\n", 3..=3),
        // YAML may say so only where it expected more.
        ("kind: Event\na: [\n", 2..=3),
        ("- 1\n", 1..=1),
    ] {
        let path = folder.path().join("x");
        fs::write(&path, text).unwrap();
        let refused = import_audit(&[path], "one", &folder.path().join("data"), &rules()).unwrap_err();
        match &refused {
            TransferError::Wrong { line, .. } => assert!(lines.contains(line), "{refused}"),
            _ => panic!("{refused}"),
        }
        assert!(refused.to_string().contains("CloudWatch"), "{refused}");
    }
    let path = folder.path().join("policy.yaml");
    fs::write(&path, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n").unwrap();
    assert_eq!(content_of(&path).unwrap(), Content::Objects, "a policy is no event");
}
