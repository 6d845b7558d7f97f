//! Deployment: rolled out when every replica is new, no old one is left and all are available.

use super::surplus::surplus;
use crate::fields::{Malformed, Section, observed};
use crate::finding::{Finding, NOT_OBSERVED};
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["paused", "replicas"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    if spec.flag("paused")? {
        return Ok(Finding::new(Health::Suspended, "Paused", "Deployment is paused"));
    }
    if !observed(object, status)? {
        let message =
            "Waiting for rollout to finish: observed deployment generation less than desired generation";
        return Ok(Finding::progressing(NOT_OBSERVED, message));
    }
    if let Some(progressing) = status.condition("Progressing")?
        && progressing.text("reason")? == "ProgressDeadlineExceeded"
    {
        let message = format!("Deployment \"{}\" exceeded its progress deadline", object.metadata.name);
        return Ok(Finding::new(Health::Degraded, "ProgressDeadlineExceeded", message));
    }
    let wanted = spec.integer("replicas")?;
    let updated = status.count("updatedReplicas")?;
    let replicas = status.count("replicas")?;
    let available = status.count("availableReplicas")?;
    let waiting = |reason, what: String| {
        Ok(Finding::progressing(reason, format!("Waiting for rollout to finish: {what}...")))
    };
    match wanted {
        Some(wanted) if updated < wanted => {
            waiting("ReplicasNotUpdated", format!("{updated} out of {wanted} new replicas have been updated"))
        }
        _ if replicas > updated => {
            let old = replicas.saturating_sub(updated);
            waiting("OldReplicasPending", format!("{old} old replicas are pending termination"))
        }
        _ if available < updated => waiting(
            "ReplicasNotAvailable",
            format!("{available} of {updated} updated replicas are available"),
        ),
        _ => {
            let found = surplus("Waiting for rollout to finish", wanted, replicas);
            Ok(found.unwrap_or_else(Finding::healthy))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    fn deployment(spec: Value, status: Value) -> String {
        line(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status}))
    }

    #[test]
    fn a_rollout_is_followed_to_its_end() {
        let steps = [
            (
                json!({"observedGeneration": 1, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3}),
                "Progressing [GenerationNotObserved] Waiting for rollout to finish: observed deployment generation less than desired generation",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 1, "replicas": 4, "availableReplicas": 3}),
                "Progressing [ReplicasNotUpdated] Waiting for rollout to finish: 1 out of 3 new replicas have been updated...",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 4, "availableReplicas": 3}),
                "Progressing [OldReplicasPending] Waiting for rollout to finish: 1 old replicas are pending termination...",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 2}),
                "Progressing [ReplicasNotAvailable] Waiting for rollout to finish: 2 of 3 updated replicas are available...",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3}),
                "Healthy []",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 4, "replicas": 4, "availableReplicas": 4}),
                "Progressing [TooManyPods] Waiting for rollout to finish: 1 pods are pending termination...",
            ),
        ];
        for (status, expected) in steps {
            assert_eq!(deployment(json!({"replicas": 3}), status), format!("builtin/Deployment: {expected}"));
        }
    }

    #[test]
    fn a_missed_deadline_is_degraded_and_a_pause_is_not_a_fault() {
        let conditions = json!([
            {"type": "Available", "status": "False"},
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
        ]);
        let status = json!({"observedGeneration": 2, "conditions": conditions});
        assert_eq!(
            deployment(json!({"replicas": 3}), status.clone()),
            "builtin/Deployment: Degraded [ProgressDeadlineExceeded] Deployment \"web\" exceeded its progress deadline"
        );
        assert_eq!(
            deployment(json!({"replicas": 3, "paused": true}), status),
            "builtin/Deployment: Suspended [Paused] Deployment is paused"
        );
    }

    #[test]
    fn a_deployment_nobody_has_looked_at_yet_is_not_healthy() {
        assert!(
            deployment(json!({"replicas": 0}), Value::Null).contains("Progressing [GenerationNotObserved]")
        );
    }
}
