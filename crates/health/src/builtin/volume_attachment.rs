//! VolumeAttachment: there when the volume is attached to its node.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    for (error, reason) in [("attachError", "AttachError"), ("detachError", "DetachError")] {
        if let Some(error) = status.section(error, "status.error")? {
            return Ok(Finding::new(Health::Degraded, reason, error.text("message")?));
        }
    }
    Ok(if status.flag("attached")? { Finding::healthy() } else { Finding::progressing("Attaching", "") })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn an_attachment_waits_for_the_volume() {
        for (status, expected) in [
            (Value::Null, "Progressing [Attaching]"),
            (json!({"attached": true}), "Healthy []"),
            (
                json!({"attached": false, "attachError": {"message": "no node"}}),
                "Degraded [AttachError] no node",
            ),
            (json!({"attached": true, "detachError": {"message": "busy"}}), "Degraded [DetachError] busy"),
        ] {
            let attachment =
                json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "status": status});
            assert_eq!(line(&attachment), format!("builtin/VolumeAttachment: {expected}"));
        }
    }
}
