//! ResourceClaim: there once devices are allocated, failed when one of them says so.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    if status.section("allocation", "status.allocation")?.is_none() {
        return Ok(Finding::progressing("Pending", "Waiting for allocation"));
    }
    for device in status.list("devices", "status.devices")? {
        let ready = device.condition("Ready")?;
        if let Some(ready) = ready
            && ready.text("status")? == "False"
        {
            return Ok(Finding::new(Health::Degraded, ready.text("reason")?, ready.text("message")?));
        }
    }
    Ok(Finding::healthy())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn a_claim_waits_for_devices_that_work() {
        let device = |ready: &str| {
            json!({"allocation": {"devices": {}}, "devices": [{"conditions":
            [{"type": "Ready", "status": ready, "reason": "Why", "message": "so"}]}]})
        };
        for (status, expected) in [
            (Value::Null, "Progressing [Pending] Waiting for allocation"),
            (json!({"allocation": {}}), "Healthy []"),
            (device("True"), "Healthy []"),
            (device("False"), "Degraded [Why] so"),
        ] {
            let claim =
                json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "status": status});
            assert_eq!(line(&claim), format!("builtin/ResourceClaim: {expected}"));
        }
    }
}
