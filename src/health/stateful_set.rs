//! StatefulSets: waiting for Pods, rolling out (in part or in whole), or done.

use super::{Finding, count, is_behind};
use crate::model::Health;
use crate::object::Object;

pub(super) fn assess(object: &Object<'_>) -> Finding {
    let (spec, status) = (object.spec(), object.status());
    if count(&status["observedGeneration"]) == 0 || is_behind(object) {
        return Finding::progressing("Waiting for statefulset spec update to be observed...");
    }
    let (ready, updated) = (count(&status["readyReplicas"]), count(&status["updatedReplicas"]));
    let wanted = spec["replicas"].as_i64();
    if let Some(missing) = wanted.map(|wanted| wanted - ready).filter(|missing| *missing > 0) {
        return Finding::progressing(format!("Waiting for {missing} pods to be ready..."));
    }
    let strategy = &spec["updateStrategy"];
    if strategy["type"] == "OnDelete" {
        return Finding::new(Health::Healthy, "", format!("statefulset has {ready} ready pods"));
    }
    if let Some(partition) = strategy["rollingUpdate"]["partition"].as_i64().filter(|n| *n > 0) {
        let share = wanted.unwrap_or(1) - partition;
        return if updated < share {
            Finding::progressing(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {share} new pods have been updated..."
            ))
        } else {
            let message = format!("partitioned roll out complete: {updated} new pods have been updated...");
            Finding::new(Health::Healthy, "", message)
        };
    }
    let revision = status["updateRevision"].as_str().unwrap_or_default();
    if status["updateRevision"] != status["currentRevision"] {
        return Finding::progressing(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {revision}..."
        ));
    }
    let current = count(&status["currentReplicas"]);
    let message = format!("statefulset rolling update complete {current} pods at revision {revision}...");
    Finding::new(Health::Healthy, "", message)
}
