//! Pod: judged by its phase, its containers and, while it runs, its readiness.

use crate::fields::{Malformed, Section};
use crate::finding::{Finding, Wait};
use strandline_model::{Health, Timestamp};
use strandline_object::Object;

/// Argo CD's mark on pods that run on although their restart policy says they come to an end.
const IGNORE_RESTART_POLICY: &str = "argocd.argoproj.io/ignore-restart-policy";
/// Marks of pods that a deployment waits for: these do come to an end.
const HOOKS: [(&str, &str); 2] = [("argocd.argoproj.io/hook", "Skip"), ("helm.sh/hook", "crd-install")];

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["restartPolicy"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    let restart_policy = match spec.text("restartPolicy")? {
        "" => "Always",
        policy => policy,
    };
    let stays = restart_policy == "Always" || runs_on(object);
    if stays && let Some(finding) = stuck(status)? {
        return Ok(finding);
    }
    let message = status.text("message")?;
    match (status.text("phase")?, restart_policy) {
        ("Pending", _) => pending(object, status, message),
        ("Succeeded", _) => Ok(Finding::new(Health::Healthy, status.text("reason")?, message)),
        ("Failed", _) => failed(status, message),
        ("Running", _) if stays => running(status, message),
        // A pod that comes to an end is on its way there, however well it runs.
        ("Running", "OnFailure" | "Never") => Ok(Finding::progressing("RunsToCompletion", message)),
        _ => Ok(Finding::unknown(status.text("reason")?, message)),
    }
}

/// Whether the pod is marked as one that stays and is no hook.
fn runs_on(object: &Object<'_>) -> bool {
    let annotation = |name| object.metadata.annotation(name);
    let hook = || HOOKS.iter().any(|(name, none)| annotation(name).is_some_and(|value| value != *none));
    annotation(IGNORE_RESTART_POLICY).is_some_and(|value| value == "true") && !hook()
}

fn containers<'a>(status: Section<'a>) -> Result<impl Iterator<Item = Section<'a>> + use<'a>, Malformed> {
    status.list("containerStatuses", "status.containerStatuses")
}

fn init_containers<'a>(
    status: Section<'a>,
) -> Result<impl Iterator<Item = Section<'a>> + use<'a>, Malformed> {
    status.list("initContainerStatuses", "status.initContainerStatuses")
}

/// Degraded when a container waits because of an error; the first such error gives the reason.
fn stuck(status: Section<'_>) -> Result<Option<Finding>, Malformed> {
    let mut first = None;
    let mut messages = Vec::new();
    for container in containers(status)? {
        let reason = container.text("state.waiting.reason")?;
        if reason.starts_with("Err") || reason.ends_with("Error") || reason.ends_with("BackOff") {
            first.get_or_insert(reason);
            messages.push(container.text("state.waiting.message")?);
        }
    }
    Ok(first.map(|reason| Finding::new(Health::Degraded, reason, messages.join(", "))))
}

/// Why the scheduler holds a pod back that its own gates do not hold back: these wait for whoever set them.
const GATED: &str = "SchedulingGated";

/// On its way; where no node can take it, only for a time.
fn pending(object: &Object<'_>, status: Section<'_>, message: &str) -> Result<Finding, Malformed> {
    let finding = Finding::progressing(pending_reason(status)?, message);
    let unscheduled = status.condition("PodScheduled")?;
    let Some(unscheduled) = unscheduled.filter(|one| one.text("status").is_ok_and(|is| is == "False")) else {
        return Ok(finding);
    };
    if unscheduled.text("reason")? == GATED {
        return Ok(finding);
    }
    let since = unscheduled.text("lastTransitionTime")?.parse::<Timestamp>().ok();
    // It cannot have waited before it was there.
    let since = since.max(object.metadata.creation_timestamp);
    let told = unscheduled.text("message")?;
    let message = if told.is_empty() { message } else { told }.to_owned();
    Ok(Finding { wait: Some(Wait::Node { since, message }), ..finding })
}

/// Why a pod has not started: the scheduler's word, else that of the first container that waits.
fn pending_reason(status: Section<'_>) -> Result<&str, Malformed> {
    let own = status.text("reason")?;
    if !own.is_empty() {
        return Ok(own);
    }
    if let Some(scheduled) = status.condition("PodScheduled")?
        && scheduled.text("status")? == "False"
    {
        return scheduled.text("reason");
    }
    for container in init_containers(status)?.chain(containers(status)?) {
        let reason = container.text("state.waiting.reason")?;
        if !reason.is_empty() {
            return Ok(reason);
        }
    }
    Ok("")
}

/// The pod's own message, else that of the first container that failed.
fn failed(status: Section<'_>, message: &str) -> Result<Finding, Malformed> {
    let own = status.text("reason")?;
    if !message.is_empty() {
        return Ok(Finding::new(Health::Degraded, own, message));
    }
    for container in init_containers(status)?.chain(containers(status)?) {
        let reason = container.text("state.terminated.reason")?;
        let said = container.text("state.terminated.message")?;
        let code = container.count("state.terminated.exitCode")?;
        let message = if !said.is_empty() {
            said.to_owned()
        } else if reason == "OOMKilled" {
            reason.to_owned()
        } else if code != 0 {
            format!("container \"{}\" failed with exit code {code}", container.text("name")?)
        } else {
            continue;
        };
        let reason = if own.is_empty() { reason } else { own };
        return Ok(Finding::new(Health::Degraded, reason, message));
    }
    Ok(Finding::new(Health::Degraded, own, ""))
}

/// Healthy when ready; not ready after a container has ended once is Degraded.
fn running(status: Section<'_>, message: &str) -> Result<Finding, Malformed> {
    let ready = status.condition("Ready")?;
    if let Some(ready) = ready
        && ready.text("status")? == "True"
    {
        return Ok(Finding::new(Health::Healthy, "", message));
    }
    for container in containers(status)? {
        if let Some(ended) =
            container.section("lastState.terminated", "status.containerStatuses.lastState")?
        {
            return Ok(Finding::new(Health::Degraded, ended.text("reason")?, message));
        }
    }
    let reason = ready.map(|ready| ready.text("reason")).transpose()?.unwrap_or("");
    Ok(Finding::progressing(reason, message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    fn pod(restart_policy: &str, status: Value) -> String {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": restart_policy}, "status": status});
        line(&pod).replace("builtin/Pod: ", "")
    }

    fn waiting(reason: &str, message: &str) -> Value {
        json!({"name": "main", "state": {"waiting": {"reason": reason, "message": message}}})
    }

    fn unready(last_state: Value) -> Value {
        json!({
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
            "containerStatuses": [{"name": "main", "lastState": last_state}],
        })
    }

    #[test]
    fn a_container_that_waits_because_of_an_error_degrades_a_pod_meant_to_stay() {
        let status = json!({"phase": "Running", "containerStatuses": [
            waiting("ContainerCreating", "soon"),
            waiting("CrashLoopBackOff", "back-off 5m0s"),
            waiting("ErrImagePull", "no such image"),
        ]});
        assert_eq!(pod("Always", status.clone()), "Degraded [CrashLoopBackOff] back-off 5m0s, no such image");
        assert_eq!(pod("", status.clone()), "Degraded [CrashLoopBackOff] back-off 5m0s, no such image");
        assert_eq!(pod("Never", status), "Progressing [RunsToCompletion]");
        let config = json!({"phase": "Pending", "containerStatuses": [waiting("CreateContainerConfigError", "no key")]});
        assert_eq!(pod("Always", config), "Degraded [CreateContainerConfigError] no key");
    }

    #[test]
    fn a_running_pod_is_judged_by_its_readiness() {
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        assert_eq!(pod("Always", ready.clone()), "Healthy []");
        assert_eq!(pod("OnFailure", ready.clone()), "Progressing [RunsToCompletion]");
        assert_eq!(pod("Always", unready(json!({}))), "Progressing [ContainersNotReady]");
        let killed = unready(json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}}));
        assert_eq!(pod("Always", killed), "Degraded [OOMKilled]");
        assert_eq!(pod("Sometimes", ready.clone()), "Unknown [NotReported]");
        let kept = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "Never"}, "status": ready,
            "metadata": {"annotations": {"argocd.argoproj.io/ignore-restart-policy": "true"}}});
        assert_eq!(line(&kept), "builtin/Pod: Healthy []");
        for (annotation, value) in [("argocd.argoproj.io/hook", "PreSync"), ("helm.sh/hook", "test")] {
            let mut hook = kept.clone();
            hook["metadata"]["annotations"][annotation] = json!(value);
            assert_eq!(line(&hook), "builtin/Pod: Progressing [RunsToCompletion]");
        }
        let mut unmarked = kept;
        unmarked["metadata"]["annotations"][super::IGNORE_RESTART_POLICY] = json!("false");
        assert_eq!(line(&unmarked), "builtin/Pod: Progressing [RunsToCompletion]");
    }

    #[test]
    fn a_pending_pod_says_what_it_waits_for() {
        let unschedulable = json!({"phase": "Pending", "message": "m",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]});
        assert_eq!(pod("Always", unschedulable), "Progressing [Unschedulable] m");
        let starting = json!({"phase": "Pending", "initContainerStatuses": [waiting("PodInitializing", "")],
            "containerStatuses": [waiting("ContainerCreating", "")]});
        assert_eq!(pod("Always", starting), "Progressing [PodInitializing]");
    }

    #[test]
    fn a_failed_pod_tells_the_first_failure_it_knows() {
        let ended = |name: &str, ended: Value| json!({"name": name, "state": {"terminated": ended}});
        let failed = |init: Value, main: Value| json!({"phase": "Failed", "initContainerStatuses": [init], "containerStatuses": [main]});
        let fine = ended("init", json!({"exitCode": 0, "reason": "Completed"}));
        let cases = [
            (
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}),
                "Degraded [Evicted] The node was low on memory.",
            ),
            (
                failed(fine.clone(), ended("main", json!({"exitCode": 3, "reason": "Error"}))),
                "Degraded [Error] container \"main\" failed with exit code 3",
            ),
            (
                failed(fine.clone(), ended("main", json!({"exitCode": 137, "reason": "OOMKilled"}))),
                "Degraded [OOMKilled] OOMKilled",
            ),
            (
                failed(ended("init", json!({"exitCode": 1, "message": "no database"})), fine.clone()),
                "Degraded [] no database",
            ),
            (failed(fine.clone(), fine), "Degraded []"),
        ];
        for (status, expected) in cases {
            assert_eq!(pod("Never", status), expected);
        }
    }

    #[test]
    fn other_phases() {
        assert_eq!(pod("Never", json!({"phase": "Succeeded"})), "Healthy []");
        assert_eq!(pod("Always", json!({"phase": "Unknown", "reason": "NodeLost"})), "Unknown [NodeLost]");
        assert_eq!(pod("Always", json!({"podIP": "10.0.0.1"})), "Unknown [NotReported]");
    }
}
