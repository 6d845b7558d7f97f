//! Node: ready and without pressure; one that takes no new pods was cordoned on purpose.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

/// Conditions that are bad when they hold.
const PRESSURES: [&str; 4] = ["NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure"];

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["unschedulable"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    let Some(ready) = status.condition("Ready")? else {
        return Ok(Finding::progressing("Waiting", "Waiting for the kubelet"));
    };
    if ready.text("status")? != "True" {
        // Unknown means that the kubelet has gone silent: its pods run elsewhere soon.
        return Ok(Finding::new(Health::Degraded, ready.text("reason")?, ready.text("message")?));
    }
    for pressure in PRESSURES {
        if let Some(condition) = status.condition(pressure)?
            && condition.text("status")? == "True"
        {
            return Ok(Finding::new(Health::Degraded, pressure, condition.text("message")?));
        }
    }
    if spec.flag("unschedulable")? {
        return Ok(Finding::new(Health::Suspended, "Cordoned", "Node takes no new pods"));
    }
    Ok(Finding::new(Health::Healthy, "", ready.text("message")?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn a_node_is_ready_free_of_pressure_and_schedulable() {
        let condition = |of_type: &str, status: &str| json!({"type": of_type, "status": status, "reason": "Why", "message": "so"});
        for (conditions, unschedulable, expected) in [
            (json!([]), false, "Progressing [Waiting] Waiting for the kubelet"),
            (json!([condition("Ready", "True")]), false, "Healthy [] so"),
            (json!([condition("Ready", "True")]), true, "Suspended [Cordoned] Node takes no new pods"),
            (json!([condition("Ready", "False")]), true, "Degraded [Why] so"),
            (json!([condition("Ready", "Unknown")]), false, "Degraded [Why] so"),
            (
                json!([condition("DiskPressure", "True"), condition("Ready", "True")]),
                false,
                "Degraded [DiskPressure] so",
            ),
        ] {
            let node = json!({"apiVersion": "v1", "kind": "Node", "spec": {"unschedulable": unschedulable},
                "status": {"conditions": conditions}});
            assert_eq!(line(&node), format!("builtin/Node: {expected}"));
        }
    }
}
