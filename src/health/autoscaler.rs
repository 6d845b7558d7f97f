//! HorizontalPodAutoscaler: whether it can scale and knows by what.

use serde_json::Value;

use super::Finding;
use super::fields::{Malformed, Section};
use crate::model::Health;
use crate::object::Object;

/// Where `autoscaling/v1`, which has no conditions of its own, keeps them.
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Reasons why scaling fails that do not pass by themselves.
const FAILURES: [(&str, &[&str]); 2] = [
    ("AbleToScale", &["FailedGetScale", "FailedUpdateScale"]),
    ("ScalingActive", &["FailedGetResourceMetric", "InvalidSelector"]),
];

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let annotated = object.metadata.annotation(CONDITIONS);
    let annotated: Option<Value> = annotated.and_then(|text| serde_json::from_str(&text).ok());
    let own = object.status().get("conditions");
    let conditions = own.or(annotated.as_ref()).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for condition in conditions {
        let condition = Section::of(condition, "status.conditions");
        let (of_type, reason) = (condition.text("type")?, condition.text("reason")?);
        let met = condition.text("status")? == "True";
        if !met && FAILURES.iter().any(|(failing, reasons)| *failing == of_type && reasons.contains(&reason))
        {
            return Ok(Finding::new(Health::Degraded, reason, condition.text("message")?));
        }
        if met && matches!(of_type, "AbleToScale" | "ScalingLimited") {
            return Ok(Finding::new(Health::Healthy, "", condition.text("message")?));
        }
    }
    Ok(Finding::progressing("Waiting", "Waiting to Autoscale"))
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
            let newer =
                json!({"apiVersion": "autoscaling/v2", "kind": kind, "status": {"conditions": conditions}});
            let older = json!({"apiVersion": "autoscaling/v1", "kind": kind,
                "metadata": {"annotations": {super::CONDITIONS: conditions.to_string()}}});
            for autoscaler in [newer, older] {
                assert_eq!(line(&autoscaler), format!("builtin/{kind}: {expected}"));
            }
        }
    }
}
