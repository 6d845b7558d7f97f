//! What counts of replicas say, in the manner of Deployments.

use serde_json::{Map, Value};

use super::opinion::Opinion;
use strandline_model::Health;

/// What is counted, each with the counters that must reach the number that is wanted.
const COUNTED: [(&str, &[&str]); 3] = [
    ("replicas", &["readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas"]),
    ("instances", &["readyInstances"]),
    ("desiredNumberScheduled", &["numberReady", "numberAvailable", "updatedNumberScheduled"]),
];

/// What the counts say; none where nothing is counted.
pub(super) fn judge(spec: &Value, status: &Map<String, Value>) -> Option<Opinion> {
    COUNTED.iter().find_map(|(counted, counters)| {
        // What is no number counts as nothing.
        let counts =
            counters.iter().filter_map(|name| Some((*name, status.get(*name)?.as_i64().unwrap_or(0))));
        let wanted = spec.get(*counted).or_else(|| status.get(*counted)).and_then(Value::as_i64)?;
        let least = counts.min_by_key(|(_, count)| *count)?;
        Some(told(least, wanted, partition(spec)))
    })
}

/// What it means that replicas are counted and none of them as ready: most controllers leave out zeros.
pub(super) fn none_ready(status: &Map<String, Value>) -> Option<Opinion> {
    let wanted = status.get("replicas")?.as_i64()?;
    Some(told(("readyReplicas", 0), wanted, 0))
}

fn told((name, count): (&str, i64), wanted: i64, partition: i64) -> Opinion {
    let message = format!("{name}: {count} of {wanted}");
    if count >= wanted {
        Opinion::new(Health::Healthy, name, "", "")
    } else if name.starts_with("updated") && count >= wanted.saturating_sub(partition) {
        Opinion::new(Health::Suspended, name, "RolloutPartitioned", message)
    } else {
        Opinion::new(Health::Progressing, name, "ReplicasNotReady", message)
    }
}

/// How many replicas a rollout leaves as they were until people move on.
fn partition(spec: &Value) -> i64 {
    let strategy = spec.get("updateStrategy");
    let places = [strategy, strategy.and_then(|strategy| strategy.get("rollingUpdate"))];
    places.into_iter().flatten().find_map(|place| place.get("partition")?.as_i64()).unwrap_or(0)
}
