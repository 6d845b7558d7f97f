//! PersistentVolume: by phase; one that is kept after its claim has gone is at rest.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["persistentVolumeReclaimPolicy"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    let message = status.text("message")?;
    let phase = status.text("phase")?;
    Ok(match phase {
        "Available" | "Bound" => Finding::new(Health::Healthy, "", message),
        "Released" if spec.text("persistentVolumeReclaimPolicy")? == "Retain" => {
            Finding::new(Health::Suspended, "Released", message)
        }
        "Pending" | "Released" => Finding::progressing(phase, message),
        "Failed" => Finding::new(Health::Degraded, "Failed", message),
        _ => Finding::unknown(phase, message),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn the_phase_decides_and_for_a_released_one_the_policy() {
        for (phase, policy, expected) in [
            ("Available", "Delete", "Healthy [] m"),
            ("Bound", "Delete", "Healthy [] m"),
            ("Pending", "Delete", "Progressing [Pending] m"),
            ("Released", "Delete", "Progressing [Released] m"),
            ("Released", "Retain", "Suspended [Released] m"),
            ("Failed", "Retain", "Degraded [Failed] m"),
            ("", "", "Unknown [NotReported] m"),
        ] {
            let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
                "spec": {"persistentVolumeReclaimPolicy": policy}, "status": {"phase": phase, "message": "m"}});
            assert_eq!(line(&volume), format!("builtin/PersistentVolume: {expected}"));
        }
    }
}
