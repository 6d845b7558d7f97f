//! Job: running, suspended, complete or failed, as its conditions report.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    let outcomes =
        [("Failed", Health::Degraded), ("Complete", Health::Healthy), ("Suspended", Health::Suspended)];
    for (condition, health) in outcomes {
        let Some(met) = status.condition(condition)? else { continue };
        if met.text("status")? == "True" {
            // Argo CD says nothing of a suspended job, and of a resumed one that it is Healthy; ours still runs.
            let message = if health == Health::Suspended { "" } else { met.text("message")? };
            return Ok(Finding::new(health, condition, message));
        }
    }
    Ok(Finding::progressing("Running", ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn a_condition_that_is_met_decides() {
        for (condition, status, expected) in [
            ("Failed", "True", "Degraded [Failed] why"),
            ("Complete", "True", "Healthy [Complete] why"),
            ("Suspended", "True", "Suspended [Suspended]"),
            ("Suspended", "False", "Progressing [Running]"),
            ("Failed", "False", "Progressing [Running]"),
        ] {
            let conditions = json!([{"type": condition, "status": status, "message": "why"}]);
            let job = json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": conditions}});
            assert_eq!(line(&job), format!("builtin/Job: {expected}"));
        }
    }
}
