//! StatefulSet: there when its pods are ready and at the revision its update strategy asks for.

use super::surplus::surplus;
use crate::fields::{Malformed, Section, observed};
use crate::finding::{Finding, NOT_OBSERVED};
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["replicas", "updateStrategy"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    if status.count("observedGeneration")? == 0 || !observed(object, status)? {
        let message = "Waiting for statefulset spec update to be observed...";
        return Ok(Finding::progressing(NOT_OBSERVED, message));
    }
    let wanted = spec.integer("replicas")?;
    let ready = status.count("readyReplicas")?;
    if let Some(wanted) = wanted
        && ready < wanted
    {
        let message = format!("Waiting for {} pods to be ready...", wanted.saturating_sub(ready));
        return Ok(Finding::progressing("PodsNotReady", message));
    }
    if let Some(finding) = surplus("Waiting for statefulset to scale down", wanted, status.count("replicas")?)
    {
        return Ok(finding);
    }
    match spec.text("updateStrategy.type")? {
        "RollingUpdate" if spec.section("updateStrategy.rollingUpdate", "spec")?.is_some() => {
            partitioned(spec, status, wanted)
        }
        "OnDelete" => Ok(healthy(format!("statefulset has {ready} ready pods"))),
        _ => rolling(status),
    }
}

/// With a partition only the pods above it are to be new.
fn partitioned(spec: Section<'_>, status: Section<'_>, wanted: Option<i64>) -> Result<Finding, Malformed> {
    let updated = status.count("updatedReplicas")?;
    if let (Some(wanted), Some(partition)) = (wanted, spec.integer("updateStrategy.rollingUpdate.partition")?)
    {
        let above = wanted.saturating_sub(partition);
        if updated < above {
            let message = format!(
                "Waiting for partitioned roll out to finish: {updated} out of {above} new pods have been updated..."
            );
            return Ok(Finding::progressing("PodsNotUpdated", message));
        }
    }
    Ok(healthy(format!("partitioned roll out complete: {updated} new pods have been updated...")))
}

fn rolling(status: Section<'_>) -> Result<Finding, Malformed> {
    let (current, update) = (status.text("currentRevision")?, status.text("updateRevision")?);
    if current != update {
        let updated = status.count("updatedReplicas")?;
        let message = format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {update}..."
        );
        return Ok(Finding::progressing("PodsNotUpdated", message));
    }
    let pods = status.count("currentReplicas")?;
    Ok(healthy(format!("statefulset rolling update complete {pods} pods at revision {current}...")))
}

fn healthy(message: String) -> Finding {
    Finding::new(Health::Healthy, "", message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    fn stateful_set(strategy: Value, status: Value) -> String {
        line(&json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "db", "generation": 2},
            "spec": {"replicas": 3, "updateStrategy": strategy}, "status": status}))
    }

    #[test]
    fn pods_must_be_observed_and_ready_under_every_strategy() {
        for strategy in [json!({"type": "OnDelete"}), json!({"type": "RollingUpdate"}), Value::Null] {
            assert_eq!(
                stateful_set(strategy.clone(), json!({"readyReplicas": 3})),
                "builtin/StatefulSet: Progressing [GenerationNotObserved] Waiting for statefulset spec update to be observed..."
            );
            assert_eq!(
                stateful_set(strategy, json!({"observedGeneration": 2, "readyReplicas": 1})),
                "builtin/StatefulSet: Progressing [PodsNotReady] Waiting for 2 pods to be ready..."
            );
        }
    }

    #[test]
    fn the_strategy_says_which_pods_must_be_new() {
        let rolling = json!({"type": "RollingUpdate"});
        let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
        let cases = [
            (
                &rolling,
                json!({"updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b"}),
                "Progressing [PodsNotUpdated] waiting for statefulset rolling update to complete 1 pods at revision b...",
            ),
            (
                &rolling,
                json!({"currentReplicas": 3, "currentRevision": "b", "updateRevision": "b"}),
                "Healthy [] statefulset rolling update complete 3 pods at revision b...",
            ),
            (
                &partition,
                json!({"updatedReplicas": 1}),
                "Progressing [PodsNotUpdated] Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
            ),
            (
                &partition,
                json!({"updatedReplicas": 2}),
                "Healthy [] partitioned roll out complete: 2 new pods have been updated...",
            ),
            (&json!({"type": "OnDelete"}), json!({}), "Healthy [] statefulset has 3 ready pods"),
            (
                &json!({"type": "OnDelete"}),
                json!({"replicas": 5}),
                "Progressing [TooManyPods] Waiting for statefulset to scale down: 2 pods are pending termination...",
            ),
            (
                &rolling,
                json!({"replicas": 4, "currentRevision": "a", "updateRevision": "b"}),
                "Progressing [TooManyPods] Waiting for statefulset to scale down: 1 pods are pending termination...",
            ),
        ];
        for (strategy, mut status, expected) in cases {
            status["observedGeneration"] = json!(2);
            status["readyReplicas"] = json!(3);
            assert_eq!(
                stateful_set(strategy.clone(), status),
                format!("builtin/StatefulSet: {expected}"),
                "{strategy}"
            );
        }
    }
}
