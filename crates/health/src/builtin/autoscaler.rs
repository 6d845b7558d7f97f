//! HorizontalPodAutoscaler: whether it can scale and knows by what.

use serde_json::{Value, json};

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

/// Where `autoscaling/v1`, which has no conditions of its own, keeps them.
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Conditions with the reasons for which they fail until someone steps in.
const FAILURES: [(&str, &[&str]); 2] = [
    ("AbleToScale", &["FailedGetScale", "FailedUpdateScale"]),
    (
        "ScalingActive",
        &[
            "FailedGetResourceMetric",
            "FailedGetObjectMetric",
            "FailedGetPodsMetric",
            "FailedGetExternalMetric",
            "FailedComputeMetricsReplicas",
            "InvalidSelector",
        ],
    ),
];

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    if object.api_version != "autoscaling/v1" {
        return by_conditions(Section::status(object));
    }
    let Some(text) = object.metadata.annotation(CONDITIONS) else { return Ok(waiting()) };
    let conditions: Value = serde_json::from_str(&text).unwrap_or_else(|_| text.into());
    by_conditions(Section::of(&json!({ "conditions": conditions }), "annotation"))
}

/// A failure anywhere comes before what is well elsewhere.
fn by_conditions(status: Section<'_>) -> Result<Finding, Malformed> {
    for condition in status.list("conditions", "status.conditions")? {
        let (of_type, reason) = (condition.text("type")?, condition.text("reason")?);
        if FAILURES.iter().any(|(failing, reasons)| *failing == of_type && reasons.contains(&reason)) {
            return Ok(Finding::new(Health::Degraded, reason, condition.text("message")?));
        }
    }
    for condition in status.list("conditions", "status.conditions")? {
        if matches!(condition.text("type")?, "AbleToScale" | "ScalingLimited")
            && condition.text("status")? == "True"
        {
            return Ok(Finding::new(Health::Healthy, "", condition.text("message")?));
        }
    }
    Ok(waiting())
}

fn waiting() -> Finding {
    Finding::progressing("Waiting", "Waiting to Autoscale")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn conditions_decide_wherever_they_stand() {
        let condition = |of_type: &str, status: &str, reason: &str| json!([{"type": of_type, "status": status, "reason": reason, "message": "why"}]);
        for (conditions, expected) in [
            (condition("AbleToScale", "True", ""), "Healthy [] why"),
            (condition("AbleToScale", "False", "FailedGetScale"), "Degraded [FailedGetScale] why"),
            (
                condition("ScalingActive", "False", "FailedGetResourceMetric"),
                "Degraded [FailedGetResourceMetric] why",
            ),
            (condition("ScalingActive", "True", ""), "Progressing [Waiting] Waiting to Autoscale"),
            (json!([]), "Progressing [Waiting] Waiting to Autoscale"),
        ] {
            let kind = "HorizontalPodAutoscaler";
            for version in ["v2", "v2beta1", "v2beta2"] {
                let newer = json!({"apiVersion": format!("autoscaling/{version}"), "kind": kind,
                    "status": {"conditions": conditions}});
                assert_eq!(line(&newer), format!("builtin/{kind}: {expected}"));
            }
            let older = json!({"apiVersion": "autoscaling/v1", "kind": kind,
                "metadata": {"annotations": {super::CONDITIONS: conditions.to_string()}}});
            assert_eq!(line(&older), format!("builtin/{kind}: {expected}"));
        }
    }

    #[test]
    fn a_failure_after_a_good_condition_is_not_missed() {
        let conditions = json!([{"type": "AbleToScale", "status": "True"},
            {"type": "ScalingActive", "status": "False", "reason": "FailedGetExternalMetric", "message": "no metric"}]);
        let autoscaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "status": {"conditions": conditions}});
        assert_eq!(
            line(&autoscaler),
            "builtin/HorizontalPodAutoscaler: Degraded [FailedGetExternalMetric] no metric"
        );
    }

    #[test]
    fn an_annotation_that_cannot_be_read_says_so() {
        let autoscaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {"annotations": {super::CONDITIONS: "[{"}}});
        assert_eq!(
            line(&autoscaler),
            "builtin/HorizontalPodAutoscaler: Unknown [Malformed] annotation.conditions is not a list"
        );
    }
}
