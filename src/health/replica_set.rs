//! ReplicaSets: failing to make Pods, short of Pods, or complete.

use super::{Finding, count, is_behind};
use crate::object::Object;

pub(super) fn assess(object: &Object<'_>) -> Finding {
    if is_behind(object) {
        return Finding::progressing(
            "Waiting for rollout to finish: observed replica set generation less than desired generation",
        );
    }
    if let Some(failure) = object.condition("ReplicaFailure").filter(|c| c["status"] == "True") {
        return Finding::degraded("ReplicaFailure", failure["message"].as_str().unwrap_or_default());
    }
    let available = count(&object.status()["availableReplicas"]);
    match object.spec()["replicas"].as_i64() {
        Some(wanted) if available < wanted => Finding::progressing(format!(
            "Waiting for rollout to finish: {available} out of {wanted} new replicas are available..."
        )),
        _ => Finding::healthy(),
    }
}
