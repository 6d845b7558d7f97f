//! Deployments: paused, stuck, rolling out, or done.

use super::{Finding, count, is_behind};
use crate::model::Health;
use crate::object::Object;

pub(super) fn assess(object: &Object<'_>) -> Finding {
    let (spec, status) = (object.spec(), object.status());
    if spec["paused"] == true {
        return Finding::new(Health::Suspended, "Paused", "Deployment is paused");
    }
    if is_behind(object) {
        return Finding::progressing(
            "Waiting for rollout to finish: observed deployment generation less than desired generation",
        );
    }
    let stuck = object.condition("Progressing").is_some_and(|c| c["reason"] == "ProgressDeadlineExceeded");
    if stuck {
        let message = format!("Deployment {:?} exceeded its progress deadline", object.name());
        return Finding::degraded("ProgressDeadlineExceeded", message);
    }
    let (replicas, updated) = (count(&status["replicas"]), count(&status["updatedReplicas"]));
    let available = count(&status["availableReplicas"]);
    match spec["replicas"].as_i64() {
        Some(wanted) if updated < wanted => Finding::progressing(format!(
            "Waiting for rollout to finish: {updated} out of {wanted} new replicas have been updated..."
        )),
        _ if replicas > updated => Finding::progressing(format!(
            "Waiting for rollout to finish: {} old replicas are pending termination...",
            replicas - updated
        )),
        _ if available < updated => Finding::progressing(format!(
            "Waiting for rollout to finish: {available} of {updated} updated replicas are available..."
        )),
        _ => Finding::healthy(),
    }
}
