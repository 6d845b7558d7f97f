//! VolumeSnapshot and VolumeSnapshotContent: there when ready to use.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    if let Some(error) = status.section("error", "status.error")? {
        return Ok(Finding::new(Health::Degraded, "Error", error.text("message")?));
    }
    Ok(if status.flag("readyToUse")? {
        Finding::new(Health::Healthy, "", "Ready to use")
    } else {
        Finding::progressing("Waiting", "Waiting for status")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn a_snapshot_is_awaited_until_it_can_be_used() {
        for (status, expected) in [
            (Value::Null, "Progressing [Waiting] Waiting for status"),
            (json!({"readyToUse": false}), "Progressing [Waiting] Waiting for status"),
            (json!({"readyToUse": true}), "Healthy [] Ready to use"),
            (json!({"readyToUse": false, "error": {"message": "no disk"}}), "Degraded [Error] no disk"),
        ] {
            for kind in ["VolumeSnapshot", "VolumeSnapshotContent"] {
                let snapshot =
                    json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": kind, "status": status});
                assert_eq!(line(&snapshot), format!("builtin/{kind}: {expected}"));
            }
        }
    }
}
