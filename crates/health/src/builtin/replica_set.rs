//! ReplicaSet: there when all its replicas are available, failed when it cannot create them.

use super::surplus::surplus;
use crate::fields::{Malformed, Section, observed};
use crate::finding::{Finding, NOT_OBSERVED};
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["replicas"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    if !observed(object, status)? {
        let message =
            "Waiting for rollout to finish: observed replica set generation less than desired generation";
        return Ok(Finding::progressing(NOT_OBSERVED, message));
    }
    if let Some(failure) = status.condition("ReplicaFailure")?
        && failure.text("status")? == "True"
    {
        return Ok(Finding::new(Health::Degraded, failure.text("reason")?, failure.text("message")?));
    }
    let (available, wanted) = (status.count("availableReplicas")?, spec.integer("replicas")?);
    match wanted {
        Some(wanted) if available < wanted => Ok(Finding::progressing(
            "ReplicasNotAvailable",
            format!(
                "Waiting for rollout to finish: {available} out of {wanted} new replicas are available..."
            ),
        )),
        _ => {
            let waiting = "Waiting for replica set to scale down";
            Ok(surplus(waiting, wanted, status.count("replicas")?).unwrap_or_else(Finding::healthy))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    fn replica_set(status: Value) -> String {
        line(&json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web-1", "generation": 2}, "spec": {"replicas": 3}, "status": status}))
    }

    #[test]
    fn replicas_must_be_observed_created_and_available() {
        let failure = json!([{"type": "ReplicaFailure", "status": "True",
            "reason": "FailedCreate", "message": "exceeded quota"}]);
        let over = json!([{"type": "ReplicaFailure", "status": "False", "reason": "FailedCreate"}]);
        let cases = [
            (
                json!({"observedGeneration": 1, "availableReplicas": 3}),
                "Progressing [GenerationNotObserved] Waiting for rollout to finish: observed replica set generation less than desired generation",
            ),
            (
                json!({"observedGeneration": 2, "conditions": failure}),
                "Degraded [FailedCreate] exceeded quota",
            ),
            (
                json!({"observedGeneration": 2, "conditions": over, "availableReplicas": 2}),
                "Progressing [ReplicasNotAvailable] Waiting for rollout to finish: 2 out of 3 new replicas are available...",
            ),
            (json!({"observedGeneration": 2, "availableReplicas": 3, "replicas": 3}), "Healthy []"),
            (
                json!({"observedGeneration": 2, "availableReplicas": 5, "replicas": 5}),
                "Progressing [TooManyPods] Waiting for replica set to scale down: 2 pods are pending termination...",
            ),
        ];
        for (status, expected) in cases {
            assert_eq!(replica_set(status), format!("builtin/ReplicaSet: {expected}"));
        }
    }
}
