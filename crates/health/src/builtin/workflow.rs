//! Workflow of Argo: done when it has run, so that one that runs is on its way.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    let (phase, message) = (status.text("phase")?, status.text("message")?);
    Ok(match phase {
        "" | "Pending" | "Running" => Finding::progressing(phase, message),
        "Succeeded" => Finding::new(Health::Healthy, "", message),
        "Failed" | "Error" => Finding::new(Health::Degraded, phase, message),
        _ => Finding::unknown(phase, message),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn the_phase_decides() {
        for (phase, expected) in [
            ("", "Progressing [] m"),
            ("Running", "Progressing [Running] m"),
            ("Succeeded", "Healthy [] m"),
            ("Error", "Degraded [Error] m"),
            ("Omitted", "Unknown [Omitted] m"),
        ] {
            let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
                "status": {"phase": phase, "message": "m"}});
            assert_eq!(line(&workflow), format!("builtin/Workflow: {expected}"));
        }
    }
}
