//! Namespace: by phase.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    Ok(match Section::status(object).text("phase")? {
        "Active" => Finding::healthy(),
        "Terminating" => Finding::progressing("Terminating", ""),
        phase => Finding::unknown(phase, ""),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn the_phase_decides() {
        for (phase, expected) in [
            ("Active", "Healthy []"),
            ("Terminating", "Progressing [Terminating]"),
            ("", "Unknown [NotReported]"),
        ] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "status": {"phase": phase}});
            assert_eq!(line(&namespace), format!("builtin/Namespace: {expected}"));
        }
    }
}
