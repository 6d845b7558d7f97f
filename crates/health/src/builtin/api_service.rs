//! APIService: there when the server behind it answers.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let Some(available) = Section::status(object).condition("Available")? else {
        return Ok(Finding::progressing("Waiting", "Waiting to be processed"));
    };
    let reason = available.text("reason")?;
    let health = if available.text("status")? == "True" { Health::Healthy } else { Health::Progressing };
    Ok(Finding::new(health, reason, format!("{reason}: {}", available.text("message")?)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn the_condition_available_decides() {
        let available =
            |status: &str| json!([{"type": "Available", "status": status, "reason": "Why", "message": "so"}]);
        let cases = [
            (available("True"), "Healthy [Why] Why: so"),
            (available("False"), "Progressing [Why] Why: so"),
            (Value::Null, "Progressing [Waiting] Waiting to be processed"),
        ];
        for version in ["v1", "v1beta1"] {
            for (conditions, expected) in &cases {
                let service = json!({"apiVersion": format!("apiregistration.k8s.io/{version}"),
                    "kind": "APIService", "status": {"conditions": conditions}});
                assert_eq!(line(&service), format!("builtin/APIService: {expected}"));
            }
        }
    }
}
