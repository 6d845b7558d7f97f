use serde_json::{Value, json};

use crate::assess;
use crate::tests::line;
use strandline_model::Health;
use strandline_object::Object;

/// The verdict on a custom resource with this spec and status.
fn judged(spec: Value, status: Value) -> String {
    line(&json!({"apiVersion": "example.dev/v1", "kind": "Database", "metadata": {"generation": 2},
        "spec": spec, "status": status}))
    .replace("conventions/", "")
}

/// The verdict on a status alone.
fn told(status: Value) -> String {
    judged(json!({"size": 3}), status)
}

/// The verdict on conditions alone, each a type, a status and a reason.
fn conditions(list: &[(&str, &str, &str)]) -> String {
    let list = list
        .iter()
        .map(|(of_type, status, reason)| json!({"type": of_type, "status": status, "reason": reason}));
    told(json!({"conditions": list.collect::<Vec<_>>()}))
}

#[test]
fn a_condition_is_judged_by_its_type_its_status_and_its_reason() {
    for ((of_type, status, reason), expected) in [
        (("Ready", "True", "Up"), "Ready: Healthy [Up]"),
        (("Ready", "true", ""), "Ready: Healthy []"),
        (("Ready", "False", "BadPassword"), "Ready: Degraded [BadPassword]"),
        (("Ready", "False", "Peculiar"), "Ready: Degraded [Peculiar]"),
        (("Ready", "False", "WaitingForVolume"), "Ready: Progressing [WaitingForVolume]"),
        (("Ready", "False", "PodsNotReady"), "Ready: Progressing [PodsNotReady]"),
        (("Ready", "False", ""), "Ready: Progressing [Ready]"),
        (("Ready", "Unknown", "Reconciling"), "Ready: Progressing [Reconciling]"),
        (("Established", "True", ""), "Established: Healthy []"),
        (("DatabaseSynchronized", "False", "ApplyFailed"), "DatabaseSynchronized: Degraded [ApplyFailed]"),
        (("Stalled", "True", "Peculiar"), "Stalled: Degraded [Peculiar]"),
        (("Degraded", "False", ""), "Degraded: Healthy []"),
        (("SpecError", "True", ""), "SpecError: Degraded [SpecError]"),
        (("NotReady", "True", "Initializing"), "NotReady: Progressing [Initializing]"),
        (("Progressing", "True", "Scaling"), "Progressing: Progressing [Scaling]"),
        (
            ("Progressing", "False", "ProgressDeadlineExceeded"),
            "Progressing: Degraded [ProgressDeadlineExceeded]",
        ),
        (("Paused", "True", ""), "Paused: Suspended [Paused]"),
        (("Ready", "False", "NotReady"), "Ready: Degraded [NotReady]"),
        (("Available", "Degraded", "SomePodsNotReady"), "Available: Degraded [SomePodsNotReady]"),
        (("Available", "Progressing", "Rollout"), "Available: Progressing [Rollout]"),
        (("Available", "Purple", "Peculiar"), "Available: Progressing [Peculiar]"),
    ] {
        assert_eq!(conditions(&[(of_type, status, reason)]), expected, "{of_type} {status} {reason}");
    }
}

#[test]
fn of_several_conditions_trouble_counts_and_a_summary_covers_its_parts() {
    let ready = ("Ready", "True", "Up");
    for (list, expected) in [
        (vec![ready, ("Synced", "False", "ReconcileError")], "Synced: Degraded [ReconcileError]"),
        (vec![ready, ("TestSuccess", "False", "TestFailed")], "Ready: Healthy [Up]"),
        (vec![ready, ("LiveMigratable", "False", "CannotMigrate")], "Ready: Healthy [Up]"),
        (vec![ready, ("Fallback", "False", "NoFallbackFound")], "Ready: Healthy [Up]"),
        (vec![("Available", "True", ""), ("Degraded", "True", "Sync")], "Degraded: Degraded [Sync]"),
        (vec![ready, ("Synced", "False", "Peculiar")], "Ready: Healthy [Up]"),
        (vec![ready, ("PartiallyReady", "True", "")], "Ready: Healthy [Up]"),
        (
            vec![ready, ("LastAsyncOperation", "False", "AsyncUpdateFailure")],
            "LastAsyncOperation: Degraded [AsyncUpdateFailure]",
        ),
        (vec![ready, ("LastAsyncOperation", "False", "Ongoing")], "Ready: Healthy [Up]"),
        (vec![ready, ("LastSyncSucceeded", "False", "SyncError")], "LastSyncSucceeded: Degraded [SyncError]"),
        (vec![ready, ("LastSyncSucceeded", "True", "")], "Ready: Healthy [Up]"),
        (
            vec![ready, ("ContinuousArchiving", "False", "ContinuousArchivingFailing")],
            "ContinuousArchiving: Degraded [ContinuousArchivingFailing]",
        ),
        (vec![ready, ("ProxyReady", "False", "PodsCrash")], "ProxyReady: Degraded [PodsCrash]"),
        (vec![ready, ("ProxyReady", "False", "")], "ProxyReady: Progressing [ProxyReady]"),
        (vec![ready, ("Cache", "Degraded", "Cold")], "Cache: Degraded [Cold]"),
        (vec![ready, ("Cache", "Progressing", "Cold")], "Ready: Healthy [Up]"),
        (vec![ready, ("Progressing", "True", "NewReplicaSetAvailable")], "Ready: Healthy [Up]"),
        (vec![ready, ("Paused", "True", "ByUser")], "Paused: Suspended [ByUser]"),
        (vec![("Healthy", "True", "Up"), ("Ready", "Unknown", "Peculiar")], "Ready: Progressing [Peculiar]"),
        (vec![ready, ("Healthy", "Unknown", "Peculiar")], "Ready: Healthy [Up]"),
        (vec![ready, ("Synced", "False", "ReconcilePaused")], "Synced: Suspended [ReconcilePaused]"),
        (vec![ready, ("ScalerActive", "False", "GetFailed")], "ScalerActive: Degraded [GetFailed]"),
        (vec![ready, ("ScalerActive", "False", "Peculiar")], "Ready: Healthy [Up]"),
        (vec![ready, ("ScalerActive", "False", "ScalingDisabled")], "Ready: Healthy [Up]"),
        (
            vec![("Ready", "False", "NameMismatch"), ("Issuing", "True", "NameMismatch")],
            "Issuing: Progressing [NameMismatch]",
        ),
        (
            vec![("Ready", "False", "UpdateFailed"), ("Updating", "True", "UpdateFailed")],
            "Ready: Degraded [UpdateFailed]",
        ),
        (
            vec![("Ready", "False", "TokenNotFound"), ("Reconciling", "True", "ProgressingWithRetry")],
            "Ready: Degraded [TokenNotFound]",
        ),
        (
            vec![("Ready", "False", "OtherNotReady"), ("Reconciling", "True", "ProgressingWithRetry")],
            "Reconciling: Progressing [ProgressingWithRetry]",
        ),
        (vec![ready, ("Warning", "True", "DeprecatedFields")], "Ready: Healthy [Up]"),
        (
            vec![("Ready", "False", "DoesNotExist"), ("Issuing", "True", "DoesNotExist")],
            "Issuing: Progressing [DoesNotExist]",
        ),
        (vec![("Available", "True", ""), ("Degraded", "True", "Slow")], "Degraded: Degraded [Slow]"),
        (
            vec![("JobCreated", "True", ""), ("JobCompleted", "False", "Waiting")],
            "JobCompleted: Progressing [Waiting]",
        ),
    ] {
        assert_eq!(conditions(&list), expected, "{list:?}");
    }
}

#[test]
fn what_was_said_of_an_earlier_spec_does_not_hold() {
    let ready = |seen: Value| json!([{"type": "Ready", "status": "True", "observedGeneration": seen}]);
    assert_eq!(told(json!({"conditions": ready(json!(1))})), "Ready: Progressing [GenerationNotObserved]");
    assert_eq!(told(json!({"conditions": ready(json!(2))})), "Ready: Healthy []");
    let unseen =
        "observedGeneration: Progressing [GenerationNotObserved] Waiting for the newest spec to be seen";
    for seen in [json!(1), json!("1"), json!(-1)] {
        let status = |of_type: &str, is: &str, own: Value| {
            json!({"observedGeneration": seen, "phase": "Failed", "conditions": [
                {"type": of_type, "status": is, "reason": "Why", "observedGeneration": own}]})
        };
        for own in [json!(1), Value::Null] {
            assert_eq!(told(status("Ready", "True", own.clone())), unseen, "{seen} {own}");
            assert_eq!(told(status("Ready", "False", own.clone())), unseen, "{seen} {own}");
        }
        // A condition speaks for itself; one part that is well does not speak for the whole.
        assert_eq!(told(status("Ready", "True", json!(2))), "Ready: Healthy [Why]");
        assert_eq!(told(status("Ready", "False", json!(2))), "Ready: Degraded [Why]");
        assert_eq!(told(status("Stalled", "True", json!(2))), "Stalled: Degraded [Why]");
        assert_eq!(told(status("Accepted", "True", json!(2))), unseen);
    }
    assert_eq!(told(json!({"observedGeneration": 2})), "observedGeneration: Healthy []");
    // Who is paused looks at no newer spec.
    let paused = |own: Value| {
        told(json!({"observedGeneration": 1, "conditions": [
            {"type": "ReconciliationPaused", "status": "True", "observedGeneration": own}]}))
    };
    assert_eq!(paused(Value::Null), "ReconciliationPaused: Suspended [ReconciliationPaused]");
    assert_eq!(paused(json!(1)), unseen);
}

#[test]
fn a_word_for_the_state_counts_wherever_it_stands() {
    for (status, expected) in [
        (json!({"phase": "Running"}), "phase: Healthy [Running]"),
        (json!({"state": "FAILED", "message": "disk full"}), "state: Degraded [FAILED] disk full"),
        (json!({"health": "yellow", "phase": "Ready"}), "health: Progressing [yellow]"),
        (json!({"printableStatus": "Stopped"}), "printableStatus: Suspended [Stopped]"),
        (json!({"state": "NotFound"}), "state: Missing [NotFound]"),
        (json!({"phase": "Unknown"}), "phase: Unknown [Unknown]"),
        (json!({"applicationState": {"state": "SUBMITTED"}}), "state: Progressing [SUBMITTED]"),
        (json!({"phase": "Running", "nodes": [{"state": "Failed"}]}), "state: Degraded [Failed]"),
        (json!({"phase": "Running", "lastBackup": {"state": "Failed"}}), "phase: Healthy [Running]"),
        (json!({"phase": "Running", "lastBackupState": "Failed"}), "phase: Healthy [Running]"),
        (json!({"phase": "Running", "nodes": [{"state": "Disabled"}]}), "phase: Healthy [Running]"),
        (json!({"phase": "Running", "deprecated": {"v1": {"state": "Failed"}}}), "phase: Healthy [Running]"),
        (json!({"phase": "NotReady"}), "phase: Progressing [NotReady]"),
        (
            json!({"phase": "NotReady", "message": "no nodes yet"}),
            "phase: Progressing [NotReady] no nodes yet",
        ),
        (
            json!({"phase": "NotReady", "message": "access denied"}),
            "phase: Degraded [NotReady] access denied",
        ),
        (
            json!({"health": {"status": "Healthy"}, "sync": {"status": "OutOfSync"}}),
            "health: Healthy [Healthy]",
        ),
        (json!({"state": "Cluster in healthy state"}), "state: Healthy [] Cluster in healthy state"),
        (json!({"state": {"phase": "Pending"}}), "state: Progressing [Pending]"),
        (json!({"ready": false}), "ready: Progressing []"),
        (json!({"ready": true}), "ready: Healthy []"),
        (json!({"error": {"message": "no disk"}}), "error: Degraded [Error] no disk"),
        (json!({"reason": "the spec was rejected"}), "reason: Degraded [] the spec was rejected"),
    ] {
        assert_eq!(told(status.clone()), expected, "{status}");
    }
}

#[test]
fn conditions_and_states_are_weighed_against_each_other() {
    let ready = |status: &str, reason: &str| json!([{"type": "Ready", "status": status, "reason": reason}]);
    for (phase, conditions, expected) in [
        ("Starting", ready("False", "Peculiar"), "phase: Progressing [Starting]"),
        ("Starting", ready("False", "BadImage"), "Ready: Degraded [BadImage]"),
        ("Scaling", ready("True", ""), "Ready: Healthy []"),
        (
            "Ready",
            json!([{"type": "Ready", "status": "True"},
                {"type": "RollingOut", "status": "True", "observedGeneration": 2}]),
            "RollingOut: Progressing [RollingOut]",
        ),
        (
            "Ready",
            json!([{"type": "Ready", "status": "True"}, {"type": "Initializing", "status": "True"}]),
            "Ready: Healthy []",
        ),
        ("Attached", json!([{"type": "Restore", "status": "False"}]), "phase: Healthy [Attached]"),
        ("Failed", ready("True", ""), "phase: Degraded [Failed]"),
        ("Stopped", ready("False", "Peculiar"), "phase: Suspended [Stopped]"),
        ("Running", ready("False", "Peculiar"), "Ready: Degraded [Peculiar]"),
    ] {
        assert_eq!(told(json!({"phase": phase, "conditions": conditions})), expected);
    }
}

#[test]
fn what_goes_wrong_is_told_beside_what_goes_well() {
    let ready = json!([{"type": "Ready", "status": "True", "reason": "Up"}]);
    for (status, expected) in [
        // Ready to work is not to have worked.
        (json!({"conditions": ready, "tasks": [{"phase": "failure"}]}), "phase: Degraded [failure]"),
        (json!({"conditions": ready, "tasks": [{"phase": "pending"}]}), "Ready: Healthy [Up]"),
        (json!({"conditions": ready, "previousTask": {"phase": "failure"}}), "Ready: Healthy [Up]"),
        // What has ended says nothing of how.
        (json!({"state": "Completed", "pass": false}), "pass: Degraded [NotPassed]"),
        (json!({"state": "Running", "pass": false}), "state: Healthy [Running]"),
        (json!({"state": "Completed", "pass": true}), "state: Healthy [Completed]"),
        (json!({"state": "Created", "failedTasksCount": 1}), "failedTasksCount: Degraded [Failed] 1"),
        (json!({"state": "Created", "failedTasksCount": 0}), "state: Healthy [Created]"),
        (json!({"value": 3, "errMsg": "no route to host"}), "errMsg: Degraded [Error] no route to host"),
        (json!({"state": "Created", "errorCode": ""}), "state: Healthy [Created]"),
        (
            json!({"conditions": [{"type": "Applied", "status": "True"}], "nodes": [{"health": "Unknown"}]}),
            "health: Unknown [Unknown]",
        ),
    ] {
        assert_eq!(told(status.clone()), expected, "{status}");
    }
    for (list, expected) in [
        (vec![("Complete", "True", "JobFailed")], "Complete: Degraded [JobFailed]"),
        (
            vec![("Healthy", "True", "Up"), ("Installed", "False", "Unpacking")],
            "Installed: Progressing [Unpacking]",
        ),
        (vec![("Ready", "True", "Up"), ("Fallback", "True", "Exists")], "Fallback: Degraded [Exists]"),
    ] {
        assert_eq!(conditions(&list), expected, "{list:?}");
    }
    let running = |message: &str| {
        told(
            json!({"conditions": [{"type": "Running", "status": "True", "reason": "Running", "message": message}]}),
        )
    };
    assert_eq!(running("Creating the autoscaler"), "Running: Progressing [Running] Creating the autoscaler");
    assert_eq!(running("3 nodes"), "Running: Healthy [Running] 3 nodes");
}

#[test]
fn replicas_are_counted_unless_people_hold_a_rollout_back() {
    let counted = |spec: Value, ready: i64, updated: i64| {
        judged(spec, json!({"replicas": 3, "readyReplicas": ready, "updatedReplicas": updated}))
    };
    assert_eq!(counted(json!({"replicas": 3}), 3, 3), "readyReplicas: Healthy []");
    assert_eq!(
        counted(json!({"replicas": 3}), 1, 3),
        "readyReplicas: Progressing [ReplicasNotReady] readyReplicas: 1 of 3"
    );
    let held = json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}});
    assert_eq!(
        counted(held, 3, 1),
        "updatedReplicas: Suspended [RolloutPartitioned] updatedReplicas: 1 of 3"
    );
    assert_eq!(
        judged(json!({}), json!({"desiredNumberScheduled": 2, "numberReady": 1, "observedGeneration": 2})),
        "numberReady: Progressing [ReplicasNotReady] numberReady: 1 of 2"
    );
    assert_eq!(
        judged(json!({"replicas": 3}), json!({"replicas": 3})),
        "readyReplicas: Progressing [ReplicasNotReady] readyReplicas: 0 of 3"
    );
}

#[test]
fn a_wish_to_pause_comes_first() {
    let failed = || json!({"phase": "Failed"});
    for spec in
        [json!({"suspend": true}), json!({"paused": true}), json!({"updateStrategy": {"paused": true}})]
    {
        assert!(judged(spec.clone(), failed()).contains(": Suspended [Suspended]"), "{spec}");
    }
    assert_eq!(judged(json!({"suspend": false}), failed()), "phase: Degraded [Failed]");
    assert_eq!(judged(json!({"state": "paused"}), failed()), "state: Suspended [Suspended]");
    assert_eq!(judged(json!({"state": "running"}), failed()), "phase: Degraded [Failed]");
}

/// The verdict on a thing with these members, and what the same state means once it has lasted.
fn lasting(members: &Value) -> (String, Option<Option<Health>>) {
    let mut object = json!({"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "it"}});
    let more = members.as_object().cloned().unwrap_or_default();
    object.as_object_mut().into_iter().for_each(|object| object.extend(more.clone()));
    let text = object.to_string();
    let later = Object::parse(&text).ok().and_then(|object| assess(&object).later);
    (line(&object), later.map(|later| later.health))
}

#[test]
fn what_says_nothing_known_has_no_health_but_for_a_moment() {
    let awaited =
        ("conventions/status: Progressing [NotReported] Waiting for a status".to_owned(), Some(None));
    for members in [
        json!({}),
        json!({"spec": {"rules": []}}),
        json!({"spec": {"replicas": 1, "template": {}}}),
        json!({"spec": {"rules": []}, "metadata": {"finalizers": ["example.dev/keep"]}}),
        json!({"spec": {"rules": []}, "status": null}),
        json!({"status": {}}),
        json!({"status": {"users": 3}}),
        json!({"status": {"phase": "Peculiar"}}),
        json!({"status": {"conditions": []}}),
        json!({"status": {"conditions": [{"type": "Peculiar", "status": "True"}]}}),
        json!({"status": {"conditions": [{"type": "Peculiar", "status": "Unknown"}]}}),
    ] {
        assert_eq!(lasting(&members), awaited, "{members}");
    }
    for data in [json!({"data": {"a": 1}}), json!({"results": [7], "status": {}})] {
        assert_eq!(lasting(&data), ("none: none []".to_owned(), None), "{data}");
    }
}

#[test]
fn a_status_of_the_wrong_type_says_so() {
    assert_eq!(told(json!(7)), "conventions: Unknown [Malformed] status is not an object");
    assert_eq!(
        told(json!({"conditions": {"type": "Ready"}})),
        "conventions: Unknown [Malformed] status.conditions is not a list"
    );
    assert_eq!(
        told(json!({"conditions": [{"type": "Ready", "status": 1}]})),
        "conventions: Unknown [Malformed] status.conditions.status is not text"
    );
}
