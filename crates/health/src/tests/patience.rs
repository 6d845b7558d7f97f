//! What a state means that has lasted for too long.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{BuiltIn, Deletion, Patience, assess_by};
use strandline_model::{Health, Timestamp, Verdict};
use strandline_object::Object;

/// When everything here is made.
const MADE: &str = "2026-11-20T14:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn judged(patience: Patience, object: &Value) -> Verdict {
    let text = object.to_string();
    assess_by(&[&Deletion, &BuiltIn(patience)], patience, &Object::parse(&text).unwrap())
}

/// What is said of an object that was first seen at a time, and from when on it is something else by itself.
fn seen(patience: Patience, object: &Value, at: &str) -> String {
    let said = |health: Option<Health>, reason: &str, message: &str| {
        format!("{} [{reason}] {message}", health.map_or("none", Health::as_str)).trim_end().to_owned()
    };
    let Verdict { health, reason, message, later, .. } = judged(patience, object).seen_at(time(at));
    let now = said(health, &reason, &message);
    match later {
        Some(later) => {
            let then = said(later.health, &later.reason, &later.message);
            format!("{now}, from {} on {then}", later.due(time(at)))
        }
        None => now,
    }
}

fn pod(condition: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": MADE},
        "status": {"phase": "Pending", "conditions": [condition]}})
}

fn unscheduled(reason: &str, since: Value) -> Value {
    pod(
        json!({"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/3 nodes are available",
        "lastTransitionTime": since}),
    )
}

#[test]
fn a_pod_that_no_node_takes_is_degraded_after_a_time() {
    let patience = Patience::default();
    let waits = |since: Value, at: &str| seen(patience, &unscheduled("Unschedulable", since), at);
    let then = "Degraded [Unschedulable] 0/3 nodes are available";
    let by = |due: &str| format!("Progressing [Unschedulable], from {due} on {then}");
    assert_eq!(waits(json!("2026-11-20T14:00:30Z"), "2026-11-20T14:00:31Z"), by("2026-11-20T14:05:30Z"));
    assert_eq!(waits(json!("2026-11-20T14:00:30Z"), "2026-11-20T14:05:29Z"), by("2026-11-20T14:05:30Z"));
    assert_eq!(waits(json!("2026-11-20T14:00:30Z"), "2026-11-20T14:05:30Z"), then, "it has lasted already");
    // A time that is absent, no time, before the Pod's own, or yet to come.
    for absent in [Value::Null, json!("soon"), json!("1970-01-01T00:00:00Z")] {
        assert_eq!(waits(absent.clone(), "2026-11-20T14:01:00Z"), by("2026-11-20T14:05:00Z"), "{absent}");
    }
    assert_eq!(waits(json!("9999-01-01T00:00:00Z"), "2026-11-20T14:01:00Z"), by("2026-11-20T14:06:00Z"));
    let mut nothing = unscheduled("Unschedulable", Value::Null);
    nothing["metadata"] = json!({});
    assert_eq!(seen(patience, &nothing, "2026-11-20T14:01:00Z"), by("2026-11-20T14:06:00Z"));
}

#[test]
fn only_who_waits_for_a_node_is_given_that_time() {
    let patience = Patience::default();
    let said = |object: &Value| seen(patience, object, "2026-11-21T00:00:00Z");
    let since = json!(MADE);
    assert_eq!(
        said(&unscheduled("SchedulerError", since.clone())),
        "Degraded [SchedulerError] 0/3 nodes are available"
    );
    assert_eq!(said(&unscheduled("SchedulingGated", since)), "Progressing [SchedulingGated]");
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": MADE});
    assert_eq!(said(&pod(scheduled)), "Progressing []");
    let mut deleted = unscheduled("Unschedulable", json!(MADE));
    deleted["metadata"]["deletionTimestamp"] = json!(MADE);
    assert_eq!(said(&deleted), "Progressing [PendingDeletion] Pending deletion");
}

#[test]
fn how_long_is_a_setting() {
    let pod = unscheduled("Unschedulable", json!(MADE));
    let patience = |unschedulable| Patience { unschedulable, ..Patience::default() };
    let by = |unschedulable| seen(patience(unschedulable), &pod, "2026-11-20T14:00:10Z");
    assert_eq!(by(None), "Progressing [Unschedulable]");
    assert_eq!(by(Some(Duration::from_secs(10))), "Degraded [Unschedulable] 0/3 nodes are available");
    assert!(by(Some(Duration::from_secs(3600))).contains("from 2026-11-20T15:00:00Z on Degraded"));
}

#[test]
fn what_nobody_reports_on_has_no_health_after_a_time() {
    let made = json!({"name": "it", "creationTimestamp": MADE});
    let claimed = json!({"name": "it", "creationTimestamp": MADE, "finalizers": ["acme.example/keep"]});
    let widget = |metadata: &Value, more: Value| {
        let mut object = json!({"apiVersion": "acme.example/v1", "kind": "Widget", "metadata": metadata});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let awaited = [
        widget(&made, json!({"spec": {"replicas": 2}})),
        widget(&made, json!({"spec": {"size": 1}, "status": {}})),
        widget(&claimed, json!({"spec": {"size": 1}})),
        widget(&made, json!({"spec": {"size": 1}, "status": {"note": "nothing known"}})),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": made}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": made}),
    ];
    let now = "Progressing [NotReported] Waiting for a status";
    let never = Patience { unreported: Duration::ZERO, ..Patience::default() };
    for object in &awaited {
        let by = |patience: Patience, at: &str| seen(patience, object, at);
        let usual = Patience::default();
        let until = format!("{now}, from 2026-11-20T14:01:00Z on none []");
        assert_eq!(by(usual, "2026-11-20T14:00:59Z"), until, "{object}");
        assert_eq!(by(usual, "2026-11-20T14:01:00Z"), "none []", "{object}");
        assert_eq!(by(never, MADE), "none []", "{object}");
        assert_eq!(by(never, "2020-01-01T00:00:00Z"), "none []", "{object}");
    }
    // Of what nobody is to report on nothing is awaited, and what was reported stays.
    let plain = widget(&made, json!({"data": {"size": 1}}));
    assert_eq!(seen(Patience::default(), &plain, MADE), "none []");
    let reported = widget(&made, json!({"spec": {"replicas": 2}, "status": {"phase": "Ready"}}));
    assert_eq!(seen(Patience::default(), &reported, "2027-01-01T00:00:00Z"), "Healthy [Ready]");
}
