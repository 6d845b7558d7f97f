//! DaemonSets: rolling out over the nodes, or done.

use super::{Finding, count, is_behind};
use crate::model::Health;
use crate::object::Object;

pub(super) fn assess(object: &Object<'_>) -> Finding {
    if is_behind(object) {
        return Finding::progressing(
            "Waiting for rollout to finish: observed daemon set generation less than desired generation",
        );
    }
    let status = object.status();
    let wanted = count(&status["desiredNumberScheduled"]);
    let (updated, available) = (count(&status["updatedNumberScheduled"]), count(&status["numberAvailable"]));
    let name = object.name();
    if object.spec()["updateStrategy"]["type"] == "OnDelete" {
        let message = format!("daemon set {updated} out of {wanted} new pods have been updated");
        return Finding::new(Health::Healthy, "", message);
    }
    if updated < wanted {
        return Finding::progressing(format!(
            "Waiting for daemon set {name:?} rollout to finish: {updated} out of {wanted} new pods have been updated..."
        ));
    }
    if available < wanted {
        return Finding::progressing(format!(
            "Waiting for daemon set {name:?} rollout to finish: {available} of {wanted} updated pods are available..."
        ));
    }
    Finding::healthy()
}
