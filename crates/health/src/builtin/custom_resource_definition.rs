//! CustomResourceDefinition: there when its names are accepted and its resources are served.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    let met = |of_type: &str, wanted: &str| -> Result<Option<Section<'_>>, Malformed> {
        let Some(condition) = status.condition(of_type)? else { return Ok(None) };
        Ok((condition.text("status")? == wanted).then_some(condition))
    };
    let told = |condition: Section<'_>, health| {
        Ok(Finding::new(health, condition.text("reason")?, condition.text("message")?))
    };
    if met("Terminating", "True")?.is_some() {
        return Ok(Finding::progressing("Terminating", "CRD is terminating"));
    }
    if let Some(refused) = met("NamesAccepted", "False")? {
        return told(refused, Health::Degraded);
    }
    if let Some(vague) = met("NonStructuralSchema", "True")? {
        return told(vague, Health::Degraded);
    }
    if let Some(established) = met("Established", "True")? {
        return told(established, Health::Healthy);
    }
    match met("Established", "False")? {
        Some(refused) if refused.text("reason")? != "Installing" => told(refused, Health::Degraded),
        Some(installing) => told(installing, Health::Progressing),
        None => Ok(Finding::progressing("Waiting", "Waiting to be established")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn names_schema_and_service_must_be_in_order() {
        let condition = |of_type: &str, status: &str, reason: &str| json!({"type": of_type, "status": status, "reason": reason, "message": "why"});
        let established = || condition("Established", "True", "InitialNamesAccepted");
        let cases: [(Value, &str); 7] = [
            (json!([]), "Progressing [Waiting] Waiting to be established"),
            (json!([established()]), "Healthy [InitialNamesAccepted] why"),
            (json!([condition("Established", "False", "Installing")]), "Progressing [Installing] why"),
            (json!([condition("Established", "False", "NotAccepted")]), "Degraded [NotAccepted] why"),
            (
                json!([condition("NamesAccepted", "False", "ListKindConflict"), established()]),
                "Degraded [ListKindConflict] why",
            ),
            (
                json!([established(), condition("NonStructuralSchema", "True", "Violations")]),
                "Degraded [Violations] why",
            ),
            (
                json!([established(), condition("Terminating", "True", "InstanceDeletionInProgress")]),
                "Progressing [Terminating] CRD is terminating",
            ),
        ];
        for (conditions, expected) in cases {
            let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "status": {"conditions": conditions}});
            assert_eq!(line(&definition), format!("builtin/CustomResourceDefinition: {expected}"));
        }
    }
}
