//! PersistentVolumeClaim: by phase.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    Ok(match Section::status(object).text("phase")? {
        "Bound" => Finding::healthy(),
        "Pending" => Finding::progressing("Pending", ""),
        "Lost" => Finding::new(Health::Degraded, "Lost", ""),
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
            ("Bound", "Healthy []"),
            ("Pending", "Progressing [Pending]"),
            ("Lost", "Degraded [Lost]"),
            ("", "Unknown [NotReported]"),
        ] {
            let claim =
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": phase}});
            assert_eq!(line(&claim), format!("builtin/PersistentVolumeClaim: {expected}"));
        }
    }
}
