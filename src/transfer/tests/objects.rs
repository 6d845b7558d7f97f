//! Dumps as `kubectl get` prints them.

use std::fs;

use super::*;
use strandline_log::ChangeType;
use strandline_model::DeletionCause;
use strandline_redact::Rules;

const CANARY: &str = "canary-5f4dcc3b5aa765d61d8327deb882cf99";

pub(super) fn rules() -> Rules {
    Rules::new([7; 32])
}

pub(super) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Each change of a resource in words, with its time.
pub(super) fn told(directory: &Path) -> Vec<String> {
    let of_resource = |entry: &Entry| matches!(entry.r#type, ChangeType::Applied | ChangeType::Deleted);
    let word = |entry: Entry| {
        let sign = if entry.r#type == ChangeType::Applied { '+' } else { '-' };
        let by =
            entry.changed_by.map(|by| format!(" by {} {}", by.manager, by.operation)).unwrap_or_default();
        let at = entry.observed_at.to_string();
        format!("{} {sign}{}/{}{by}", &at[11..16], entry.key.kind.kind, entry.key.name)
    };
    entries(directory).into_iter().filter(of_resource).map(word).collect()
}

fn pod(name: &str, namespace: &str, version: u64, image: &str) -> Value {
    serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace,
        "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
        "managedFields": [{"manager": "kubectl", "operation": "Update", "time": "2026-11-20T08:00:00Z"}]},
        "spec": {"containers": [{"name": "web", "image": image}]}})
}

fn list(items: &[Value]) -> String {
    serde_json::json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}).to_string()
}

fn dump(folder: &TempDir, name: &str, text: &str) -> Dump {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    Dump { at: time_in_name(&path).unwrap(), path }
}

/// Three dumps of one cluster: a list in JSON, documents in YAML, a list of Pods.
fn three(folder: &TempDir) -> [Dump; 3] {
    let (a, b, c) =
        (pod("a", "shop", 1, "web:1"), pod("b", "shop", 2, "web:1"), pod("c", "other", 3, "web:1"));
    let namespace = serde_json::json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "uid": "uid-shop", "resourceVersion": "1"}});
    let yaml = [pod("a", "shop", 7, "web:2"), c.clone(), namespace.clone()]
        .map(|object| serde_saphyr::to_string(&object).unwrap())
        .join("---\n");
    [
        dump(folder, "one-2026-11-20T10-00-00Z.yaml", &yaml),
        dump(folder, "one-2026-11-20T09-00-00Z.json", &list(&[a, b, c, namespace])),
        dump(folder, "one-2026-11-20T11-00-00Z.json", &list(&[pod("a", "shop", 9, "web:2")])),
    ]
}

#[test]
fn dumps_become_history_in_the_order_of_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let imported = import_objects(&three(&folder), "one", false, &data, &rules()).unwrap();
    assert_eq!(
        told(&data),
        [
            "09:00 +Pod/a by kubectl Update",
            "09:00 +Pod/b by kubectl Update",
            "09:00 +Pod/c by kubectl Update",
            "09:00 +Namespace/shop",
            "10:00 +Pod/a by kubectl Update"
        ]
    );
    assert_eq!((imported.read, imported.unchanged), (8, 3), "{imported:?}");
    assert_eq!(
        (imported.first, imported.last),
        (Some(time("2026-11-20T09:00:00Z")), Some(time("2026-11-20T11:00:00Z")))
    );
    let marks: Vec<_> =
        entries(&data).into_iter().filter(|entry| entry.r#type == ChangeType::Coverage).collect();
    assert_eq!(marks.len(), 2, "one for each kind");
    assert!(marks.iter().all(|mark| mark.body.contains("\"gap\"") && mark.body.contains("\"imported\"")));
    project(&data);
}

#[test]
fn what_a_complete_dump_misses_was_gone_since_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    import_objects(&three(&folder), "one", true, &data, &rules()).unwrap();
    assert_eq!(
        told(&data)[4..],
        ["10:00 +Pod/a by kubectl Update", "10:00 -Pod/b"],
        "the last one holds no Namespace and nothing of `other`, so it says nothing of them"
    );
    let end = entries(&data).pop().unwrap();
    let cause: DeletionCause = serde_json::from_str(&end.body).unwrap();
    assert_eq!(cause, DeletionCause::Relist { last_seen: time("2026-11-20T09:00:00Z") });
}

#[test]
fn dumps_go_behind_what_is_recorded_and_never_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let [second, first, third] = three(&folder);
    import_objects(&[first.clone(), second], "one", true, &data, &rules()).unwrap();
    let before = entries(&data);
    let refused = import_objects(&[third.clone(), first], "one", true, &data, &rules()).unwrap_err();
    assert!(matches!(refused, TransferError::NotOlder { .. }), "{refused}");
    fs::write(folder.path().join("bad"), list(&[pod("z", "shop", 1, "x")]) + "\n---\nkind: [\n").unwrap();
    let bad = Dump { path: folder.path().join("bad"), at: third.at };
    let refused = import_objects(&[third, bad], "one", true, &data, &rules()).unwrap_err();
    assert!(refused.to_string().contains("line 3"), "{refused}");
    assert_eq!(entries(&data), before, "nothing was written");
}

#[test]
fn secrets_stay_outside_and_what_is_no_object_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let secret = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": CANARY},
        "metadata": {"name": "s", "namespace": "shop", "uid": "u", "resourceVersion": "1"}});
    let nameless = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"uid": "u"}});
    let kindless = serde_json::json!({"metadata": {"name": "k", "uid": "u", "resourceVersion": "1"}});
    let dump = dump(&folder, "2026-11-20T09-00.json", &list(&[secret, nameless, kindless]));
    let imported = import_objects(&[dump], "one", false, &data, &rules()).unwrap();
    assert_eq!(told(&data), ["09:00 +Secret/s"]);
    let reasons: Vec<_> = imported.skipped.iter().map(|(reason, skipped)| (*reason, skipped.count)).collect();
    assert_eq!(reasons, [("no_kind", 1), ("no_name", 1)]);
    for file in fs::read_dir(&data).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
    }
}

#[test]
fn a_secret_of_an_odd_kind_stays_outside() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let secret = |api_version: &str, kind: &str, name: &str| {
        serde_json::json!({"apiVersion": api_version, "kind": kind, "data": {"x": "dHVsaXA="}, "stringData": {"y": "tulip"},
            "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1",
                "annotations": {"note": "tulip"}}})
    };
    let odd =
        [secret("v1", "secret", "a"), secret("core/v1", "Secret", "b"), secret("v1beta1", "SECRET", "c")];
    let dumps = [dump(&folder, "one-2026-11-20T10-00-00Z.json", &list(&odd))];
    let imported = import_objects(&dumps, "one", false, &data, &rules()).unwrap();
    assert_eq!(imported.read, 3);
    for entry in entries(&data) {
        assert!(!entry.body.contains("tulip") && !entry.body.contains("dHVsaXA"), "{}", entry.body);
    }
}
