//! Kubernetes' Event, read from either of its two shapes into one.
//!
//! `core/v1` and `events.k8s.io/v1` serve the same objects under different names of fields. What has another type
//! than it should is left empty: an Event is a message, and half a message is better than none.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Number;

use crate::json::Members;
use strandline_model::{Kind, Timestamp};

/// The longest note that is kept.
pub const NOTE_BYTES_MAX: usize = 4096;

/// The longest other text that is kept; Kubernetes' own limits lie far below.
const TEXT_BYTES_MAX: usize = 1024;

/// What an Event says, and of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeEvent {
    /// The object it speaks of.
    pub regarding: Regarding,
    /// `Normal` or `Warning`, or whatever else stands there.
    pub r#type: String,
    /// One word, such as `BackOff`.
    pub reason: String,
    /// A sentence, cut at [`NOTE_BYTES_MAX`].
    pub note: String,
    /// The component that reports it, such as `kubelet`.
    pub component: String,
    /// How often it has happened, as this object counts; at least once.
    pub count: u32,
    /// When it happened first, by the cluster's clock.
    pub first_at: Option<Timestamp>,
    /// When it happened last, by the cluster's clock; never before `first_at`.
    pub last_at: Option<Timestamp>,
}

/// The types of Events that Kubernetes knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum EventType {
    /// Says that something happened as it should.
    Normal,
    /// Says that something may be wrong.
    Warning,
}

impl EventType {
    /// All types.
    pub const ALL: [EventType; 2] = [EventType::Normal, EventType::Warning];

    /// Kubernetes' word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EventType {
    type Err = String;

    /// Capitals do not matter.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = EventType::ALL.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| format!("invalid event type `{text}`; use Normal or Warning"))
    }
}

/// The object that an Event speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regarding {
    /// Group and kind.
    pub kind: Kind,
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identity; empty where the Event has none, or gives the name in its place as the kubelet does for Nodes.
    pub uid: String,
}

/// Reads an Event of either shape; of a text that is no object all is empty.
pub fn read(body: &str) -> KubeEvent {
    let event = Members::parse(body).unwrap_or_default();
    let series = part(&event, &["series"]);
    let source = part(&event, &["source", "deprecatedSource"]);
    let created_at = time(&part(&event, &["metadata"]), &["creationTimestamp"]);
    let happened_at = time(&event, &["eventTime"]).or(created_at);
    let first_at = time(&event, &["firstTimestamp", "deprecatedFirstTimestamp"]).or(happened_at);
    let last_at = time(&event, &["lastTimestamp", "deprecatedLastTimestamp"]);
    let last_at = last_at.max(time(&series, &["lastObservedTime"])).or(happened_at);
    let component = text(&event, &["reportingController", "reportingComponent"]);
    KubeEvent {
        regarding: regarding(&part(&event, &["regarding", "involvedObject"])),
        r#type: text(&event, &["type"]),
        reason: text(&event, &["reason"]),
        note: text_to(&event, &["note", "message"], NOTE_BYTES_MAX),
        component: if component.is_empty() { text(&source, &["component"]) } else { component },
        count: count(&event, &["count", "deprecatedCount"]).max(count(&series, &["count"])).max(1),
        first_at,
        last_at: last_at.max(first_at),
    }
}

fn regarding(object: &Members<'_>) -> Regarding {
    let (name, uid) = (text(object, &["name"]), text(object, &["uid"]));
    Regarding {
        kind: Kind::from_api_version(&text(object, &["apiVersion"]), &text(object, &["kind"])),
        namespace: text(object, &["namespace"]),
        uid: if uid == name { String::new() } else { uid },
        name,
    }
}

/// The first of these members that is an object and not empty.
fn part<'a>(of: &Members<'a>, names: &[&str]) -> Members<'a> {
    let found = names.iter().filter_map(|name| of.members(name));
    found.into_iter().find(|part| !part.0.is_empty()).unwrap_or_default()
}

/// The first of these members that is a text and not empty.
fn text(of: &Members<'_>, names: &[&str]) -> String {
    text_to(of, names, TEXT_BYTES_MAX)
}

fn text_to(of: &Members<'_>, names: &[&str], limit: usize) -> String {
    let found = names.iter().filter_map(|name| of.text(name)).find(|text| !text.is_empty());
    found.map(|text| cut(&text, limit).to_owned()).unwrap_or_default()
}

/// The text up to a limit, and no half character at its end.
fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or_default()
}

fn time(of: &Members<'_>, names: &[&str]) -> Option<Timestamp> {
    names.iter().find_map(|name| of.text(name)?.parse().ok())
}

/// The largest of these numbers; Kubernetes' own have 32 bits, so that no sum of them runs over.
fn count(of: &Members<'_>, names: &[&str]) -> u32 {
    let numbers = names.iter().filter_map(|name| of.read::<Number>(name)?.as_u64());
    numbers.max().map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn moment(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    fn core() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "web-0.17", "namespace": "shop", "uid": "e", "creationTimestamp": "2026-11-20T11:00:00Z"},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "u-0"},
            "type": "Warning", "reason": "BackOff", "message": "Back-off restarting failed container",
            "source": {"component": "kubelet", "host": "node-1"},
            "reportingComponent": "", "eventTime": null,
            "firstTimestamp": "2026-11-20T11:00:00Z", "lastTimestamp": "2026-11-20T12:00:00Z", "count": 7,
        })
    }

    /// The same Event by its other door.
    fn events_k8s_io() -> Value {
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "web-0.17", "namespace": "shop", "uid": "e", "creationTimestamp": "2026-11-20T11:00:00Z"},
            "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "u-0"},
            "type": "Warning", "reason": "BackOff", "note": "Back-off restarting failed container",
            "deprecatedSource": {"component": "kubelet", "host": "node-1"},
            "reportingController": "", "eventTime": null,
            "deprecatedFirstTimestamp": "2026-11-20T11:00:00Z", "deprecatedLastTimestamp": "2026-11-20T12:00:00Z",
            "deprecatedCount": 7,
        })
    }

    fn read_value(value: &Value) -> KubeEvent {
        read(&value.to_string())
    }

    /// What is read of the second shape with some fields changed; null stands for absent.
    fn changed(changes: Value) -> KubeEvent {
        let mut event = events_k8s_io();
        event.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        read_value(&event)
    }

    #[test]
    fn both_shapes_say_the_same() {
        let expected = KubeEvent {
            regarding: Regarding {
                kind: Kind::new("", "Pod"),
                namespace: "shop".into(),
                name: "web-0".into(),
                uid: "u-0".into(),
            },
            r#type: "Warning".into(),
            reason: "BackOff".into(),
            note: "Back-off restarting failed container".into(),
            component: "kubelet".into(),
            count: 7,
            first_at: moment("2026-11-20T11:00:00Z"),
            last_at: moment("2026-11-20T12:00:00Z"),
        };
        assert_eq!(read_value(&core()), expected);
        assert_eq!(read_value(&events_k8s_io()), expected);
    }

    #[test]
    fn counts_are_found_wherever_they_stand() {
        for (changes, expected) in [
            (json!({}), 7),
            (json!({"deprecatedCount": null}), 1),
            (json!({"deprecatedCount": null, "series": {"count": 3}}), 3),
            (json!({"series": {"count": 9, "lastObservedTime": null}}), 9),
            (json!({"deprecatedCount": 0}), 1),
            (json!({"deprecatedCount": -4, "series": {"count": "9"}}), 1),
            (json!({"deprecatedCount": 1.5, "series": []}), 1),
            (json!({"deprecatedCount": u64::MAX}), u32::MAX),
        ] {
            assert_eq!(changed(changes.clone()).count, expected, "{changes}");
        }
    }

    #[test]
    fn times_are_found_wherever_they_stand() {
        let none = json!({"deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null});
        let with = |more: Value| {
            let mut changes = none.clone();
            changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let event = changed(changes);
            (event.first_at, event.last_at)
        };
        let (created, eight, nine) =
            ("2026-11-20T11:00:00Z", "2026-11-20T08:00:00.000001Z", "2026-11-20T09:00:00Z");
        for (more, first, last) in [
            (json!({}), created, created),
            (json!({"eventTime": eight}), eight, eight),
            (json!({"eventTime": eight, "series": {"lastObservedTime": nine}}), eight, nine),
            (json!({"deprecatedFirstTimestamp": eight}), eight, created),
            (
                json!({"deprecatedLastTimestamp": eight, "series": {"lastObservedTime": nine}}),
                created,
                created,
            ),
            (json!({"firstTimestamp": eight, "lastTimestamp": nine}), eight, nine),
            (json!({"eventTime": "yesterday"}), created, created),
        ] {
            assert_eq!(with(more.clone()), (moment(first), moment(last)), "{more}");
        }
        assert_eq!(with(json!({"metadata": 7})), (None, None), "the last resort is missing too");
    }

    #[test]
    fn a_uid_that_is_the_name_is_none() {
        let regarding = json!({"kind": "Node", "name": "node-1", "uid": "node-1"});
        let node = changed(json!({"regarding": regarding})).regarding;
        assert_eq!((node.kind, node.uid.as_str(), node.name.as_str()), (Kind::new("", "Node"), "", "node-1"));
        let apps = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        assert_eq!(changed(json!({"regarding": apps})).regarding.kind, Kind::new("apps", "Deployment"));
    }

    #[test]
    fn the_newer_name_goes_first_where_it_says_something() {
        let event = changed(json!({"reportingController": "kube-scheduler", "message": "old"}));
        assert_eq!(
            (event.component.as_str(), &*event.note),
            ("kube-scheduler", "Back-off restarting failed container")
        );
        let event =
            changed(json!({"note": "", "message": "old", "regarding": {}, "involvedObject": {"name": "x"}}));
        assert_eq!((event.note.as_str(), event.regarding.name.as_str()), ("old", "x"));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let event =
            changed(json!({"note": "é".repeat(NOTE_BYTES_MAX), "reason": format!("x{}", "é".repeat(9999))}));
        assert_eq!((event.note.len(), event.reason.len()), (NOTE_BYTES_MAX, TEXT_BYTES_MAX - 1));
    }

    #[test]
    fn wrong_types_leave_holes_and_nothing_panics() {
        let fields = core()
            .as_object()
            .unwrap()
            .keys()
            .chain(events_k8s_io().as_object().unwrap().keys())
            .cloned()
            .collect::<Vec<_>>();
        for field in fields {
            for odd in [
                json!(7),
                json!("x"),
                json!([]),
                json!([{}]),
                json!({}),
                json!({"count": {}}),
                json!(null),
                json!(true),
            ] {
                for mut event in [core(), events_k8s_io()] {
                    event[&field] = odd.clone();
                    let read = read_value(&event);
                    assert!(read.count >= 1 && read.last_at >= read.first_at, "{field}: {odd}");
                }
            }
        }
        for text in ["", "7", "[]", "{", r#"{"a":"#] {
            assert_eq!((read(text).count, read(text).first_at), (1, None), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[\{\}\[\]":,a-z0-9 \\]{0,60}"#) {
            let _ = read(&text);
        }
    }
}
