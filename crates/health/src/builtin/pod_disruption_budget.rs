//! PodDisruptionBudget: works as long as its controller can count the pods, however few they are.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let mut last = None;
    for condition in Section::status(object).list("conditions", "status.conditions")? {
        let reason = condition.text("reason")?;
        // Too few pods are the pods' trouble: the budget does what it is there for.
        if condition.text("status")? == "False" && reason != "InsufficientPods" {
            return Ok(told(Health::Degraded, reason));
        }
        last = Some(reason);
    }
    Ok(match last {
        Some(reason) => told(Health::Healthy, reason),
        None => Finding::progressing("Waiting", "Waiting for status"),
    })
}

fn told(health: Health, reason: &str) -> Finding {
    Finding::new(health, reason, format!("PodDisruptionBudget has {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn only_a_budget_that_cannot_count_is_degraded() {
        let condition = |status: &str, reason: &str| json!({"type": "DisruptionAllowed", "status": status, "reason": reason});
        for (conditions, expected) in [
            (json!([]), "Progressing [Waiting] Waiting for status"),
            (
                json!([condition("True", "SufficientPods")]),
                "Healthy [SufficientPods] PodDisruptionBudget has SufficientPods",
            ),
            (
                json!([condition("False", "InsufficientPods")]),
                "Healthy [InsufficientPods] PodDisruptionBudget has InsufficientPods",
            ),
            (
                json!([condition("False", "InsufficientPods"), condition("False", "SyncFailed")]),
                "Degraded [SyncFailed] PodDisruptionBudget has SyncFailed",
            ),
        ] {
            let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "status": {"conditions": conditions}});
            assert_eq!(line(&budget), format!("builtin/PodDisruptionBudget: {expected}"));
        }
    }
}
