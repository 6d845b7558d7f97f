//! CronJob: whether its last run came to a good end, as far as the object reports.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::{Health, Timestamp};
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["suspend"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    if spec.flag("suspend")? {
        return Ok(Finding::new(Health::Suspended, "Suspended", "CronJob is Suspended"));
    }
    if status.is_absent() {
        return Ok(Finding::progressing("Waiting", "Waiting for CronJob"));
    }
    let healthy = |message| Ok(Finding::new(Health::Healthy, "", message));
    let Some(scheduled) = time(status, "lastScheduleTime")? else {
        return healthy("CronJob has not been scheduled yet");
    };
    let Some(succeeded) = time(status, "lastSuccessfulTime")? else {
        // The first run may still be under way; only its Job knows.
        return healthy("The CronJob never completed successfully. It may not be healthy");
    };
    if status.list("active", "status.active")?.next().is_some() {
        return healthy("The job is running. Its last execution may not have been successful");
    }
    if succeeded < scheduled {
        let message = "CronJob has not completed its last execution successfully";
        return Ok(Finding::new(Health::Degraded, "LastRunFailed", message));
    }
    healthy("CronJob has completed its last execution successfully")
}

fn time(status: Section<'_>, path: &str) -> Result<Option<Timestamp>, Malformed> {
    match status.text(path)? {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| status.malformed(path, "a time")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    const EARLY: &str = "2026-11-20T14:05:00Z";
    const LATE: &str = "2026-11-20T14:06:00Z";

    #[test]
    fn the_last_run_decides_once_it_has_ended() {
        let cases = [
            (Value::Null, "Progressing [Waiting] Waiting for CronJob"),
            (json!({}), "Healthy [] CronJob has not been scheduled yet"),
            (
                json!({"lastScheduleTime": EARLY}),
                "Healthy [] The CronJob never completed successfully. It may not be healthy",
            ),
            (
                json!({"lastScheduleTime": LATE, "lastSuccessfulTime": EARLY, "active": [{}]}),
                "Healthy [] The job is running. Its last execution may not have been successful",
            ),
            (
                json!({"lastScheduleTime": LATE, "lastSuccessfulTime": EARLY}),
                "Degraded [LastRunFailed] CronJob has not completed its last execution successfully",
            ),
            (
                json!({"lastScheduleTime": EARLY, "lastSuccessfulTime": LATE}),
                "Healthy [] CronJob has completed its last execution successfully",
            ),
            (
                json!({"lastScheduleTime": "noon"}),
                "Unknown [Malformed] status.lastScheduleTime is not a time",
            ),
        ];
        for version in ["v1", "v1beta1"] {
            for (status, expected) in &cases {
                let job =
                    json!({"apiVersion": format!("batch/{version}"), "kind": "CronJob", "status": status});
                assert_eq!(line(&job), format!("builtin/CronJob: {expected}"));
            }
        }
        let paused = json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"suspend": true}});
        assert_eq!(line(&paused), "builtin/CronJob: Suspended [Suspended] CronJob is Suspended");
    }
}
