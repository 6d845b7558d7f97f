//! DaemonSet: rolled out when every node that should has a new and available pod.

use crate::fields::{Malformed, Section, observed};
use crate::finding::{Finding, NOT_OBSERVED};
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["updateStrategy"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    if !observed(object, status)? {
        let message =
            "Waiting for rollout to finish: observed daemon set generation less than desired generation";
        return Ok(Finding::progressing(NOT_OBSERVED, message));
    }
    let desired = status.count("desiredNumberScheduled")?;
    let updated = status.count("updatedNumberScheduled")?;
    let available = status.count("numberAvailable")?;
    if spec.text("updateStrategy.type")? == "OnDelete" {
        let message = format!("daemon set {updated} out of {desired} new pods have been updated");
        return Ok(Finding::new(Health::Healthy, "", message));
    }
    let waiting = |reason, what: String| {
        let name = &object.metadata.name;
        let message = format!("Waiting for daemon set \"{name}\" rollout to finish: {what}...");
        Ok(Finding::progressing(reason, message))
    };
    if updated < desired {
        waiting("PodsNotUpdated", format!("{updated} out of {desired} new pods have been updated"))
    } else if available < desired {
        waiting("PodsNotAvailable", format!("{available} of {desired} updated pods are available"))
    } else {
        Ok(Finding::healthy())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    fn daemon_set(strategy: &str, status: Value) -> String {
        line(&json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "agent", "generation": 2},
            "spec": {"updateStrategy": {"type": strategy}}, "status": status}))
    }

    #[test]
    fn every_node_needs_a_new_and_available_pod() {
        let cases = [
            (
                "RollingUpdate",
                json!({"observedGeneration": 1}),
                "Progressing [GenerationNotObserved] Waiting for rollout to finish: observed daemon set generation less than desired generation",
            ),
            (
                "RollingUpdate",
                json!({"observedGeneration": 2, "desiredNumberScheduled": 5, "updatedNumberScheduled": 2}),
                "Progressing [PodsNotUpdated] Waiting for daemon set \"agent\" rollout to finish: 2 out of 5 new pods have been updated...",
            ),
            (
                "RollingUpdate",
                json!({"observedGeneration": 2, "desiredNumberScheduled": 5, "updatedNumberScheduled": 5, "numberAvailable": 4}),
                "Progressing [PodsNotAvailable] Waiting for daemon set \"agent\" rollout to finish: 4 of 5 updated pods are available...",
            ),
            (
                "RollingUpdate",
                json!({"observedGeneration": 2, "desiredNumberScheduled": 5, "updatedNumberScheduled": 5, "numberAvailable": 5}),
                "Healthy []",
            ),
            (
                "OnDelete",
                json!({"observedGeneration": 2, "desiredNumberScheduled": 5, "updatedNumberScheduled": 2}),
                "Healthy [] daemon set 2 out of 5 new pods have been updated",
            ),
        ];
        for (strategy, status, expected) in cases {
            assert_eq!(daemon_set(strategy, status), format!("builtin/DaemonSet: {expected}"));
        }
    }
}
