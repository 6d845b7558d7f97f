//! Times that make no sense: those of objects, and those that are asked for.

use serde_json::json;

use super::{Hostile, pod};
use strandline_model::Timestamp;

#[test]
fn times_that_no_calendar_has_are_told_or_passed_over() {
    let times = [
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000000001Z",
        "9999-12-31T23:59:59.999999999Z",
        "+262142-12-31T23:59:59Z",
        "-262143-01-01T00:00:00Z",
        "2016-12-31T23:59:60Z",
        "2026-11-20T14:05:00+14:00",
        "2026-11-20T14:05:00-23:59",
        "2026-02-30T00:00:00Z",
        "0",
    ];
    let mut world = Hostile::new();
    let told = times.iter().enumerate().map(|(n, time)| {
        let mut object = pod(&format!("pod-{n}"), &[], true);
        object["metadata"]["creationTimestamp"] = json!(time);
        object["metadata"]["deletionTimestamp"] = json!(time);
        object["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Update", "time": time}]);
        object
    });
    world.apply("east", "Pod", told);
    assert_eq!(world.members().len(), times.len());
    for (n, time) in times.iter().enumerate() {
        let uid = format!("pod-{n}");
        let read: Option<Timestamp> = time.parse().ok();
        assert_eq!(world.detail(&uid, None).unwrap().value.resource.terminating_since, read, "{time}");
        for path in [format!("/resources/{uid}"), format!("/api/v1/resources/{uid}/history?bodies=true")] {
            let (status, body) = world.ask(&path);
            assert!(status == 200 && body.contains(&uid), "{path} at {time}: {status}");
        }
    }
}

#[test]
fn any_moment_is_answered_or_refused() {
    let mut world = Hostile::new();
    world.apply("east", "Pod", [pod("a", &[], true)]);
    let answered = [
        "0001-01-01T00:00:00Z",
        "1969-07-20T20:17:40.123456789Z",
        "1970-01-01T00:00%2B14:00",
        "999w",
        "-1h",
        "yesterday%2002:30&tz=Europe/Berlin",
        "@0",
        "0",
        "1",
        "",
    ];
    let refused = [
        "0000-12-31T23:59:59Z",
        "0001-01-01T00:00%2B14:00",
        "999999w",
        "9999-12-31T23:59:59Z",
        "9223372036854775807",
        "9223372036854775808",
        "1960-12-31T23:59:61Z",
        "1960-02-30T00:00:00Z",
        "+1h",
        "-1h%20ago",
        "14:05:61",
        "1e3",
        "%00",
    ];
    for path in ["/api/v1/environments", "/api/v1/overview", "/api/v1/clusters", "/"] {
        for at in answered {
            assert_eq!(world.ask(&format!("{path}?at={at}")).0, 200, "{path} at {at}");
        }
        for at in refused {
            let (status, body) = world.ask(&format!("{path}?at={at}"));
            assert!((400..500).contains(&status) && !body.is_empty(), "{path} at {at}: {status}");
        }
    }
}
