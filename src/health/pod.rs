//! Pods: by phase, and while running by what their containers go through.

use serde_json::Value;

use super::{Finding, count};
use crate::model::Health;
use crate::object::Object;

/// Lets a Pod that is not restarted always be judged as if it were (Argo CD's annotation).
const IGNORE_RESTART_POLICY: &str = "argocd.argoproj.io/ignore-restart-policy";

pub(super) fn assess(object: &Object<'_>) -> Finding {
    let status = object.status();
    let restarts_always = object.spec()["restartPolicy"].as_str().is_none_or(|policy| policy == "Always");
    // Where containers are not restarted always, waiting is a state in passing that the phase tells in the end.
    if restarts_always && let Some(finding) = failing_to_start(status) {
        return finding;
    }
    let message = status["message"].as_str().unwrap_or_default();
    match status["phase"].as_str() {
        Some("Pending") => Finding::new(Health::Progressing, "Pending", message),
        Some("Succeeded") => Finding::new(Health::Healthy, "Succeeded", message),
        Some("Failed") => failed(status, message),
        Some("Running") => {
            let lasting = restarts_always || object.annotation(IGNORE_RESTART_POLICY) == Some("true");
            running(object, lasting, message)
        }
        _ => Finding::new(Health::Unknown, "Unknown", message),
    }
}

fn containers(status: &Value) -> impl Iterator<Item = &Value> {
    let all = ["initContainerStatuses", "containerStatuses"];
    all.into_iter().flat_map(move |list| status[list].as_array().into_iter().flatten())
}

/// A container that waits for a reason that does not pass by itself.
fn failing_to_start(status: &Value) -> Option<Finding> {
    let waiting = containers(status).map(|container| &container["state"]["waiting"]);
    let failing = waiting.filter(|waiting| {
        let reason = waiting["reason"].as_str().unwrap_or_default();
        reason.starts_with("Err") || reason.ends_with("Error") || reason.ends_with("BackOff")
    });
    let failing: Vec<&Value> = failing.collect();
    let first = failing.first()?;
    let messages: Vec<&str> = failing.iter().filter_map(|waiting| waiting["message"].as_str()).collect();
    let reason = match first["reason"].as_str() {
        Some("CrashLoopBackOff") => "CrashLoopBackOff",
        Some("ImagePullBackOff" | "ErrImagePull") => "ImagePullBackOff",
        _ => "ContainerError",
    };
    Some(Finding::degraded(reason, messages.join(", ")))
}

fn failed(status: &Value, message: &str) -> Finding {
    if !message.is_empty() {
        return Finding::degraded("Failed", message);
    }
    let reasons = containers(status).filter_map(|container| {
        let terminated = container["state"].get("terminated")?;
        let told = terminated["message"].as_str().filter(|text| !text.is_empty());
        match told {
            Some(message) => Some(message.to_owned()),
            None if terminated["reason"] == "OOMKilled" => Some("OOMKilled".to_owned()),
            None => {
                let (name, code) = (container["name"].as_str()?, count(&terminated["exitCode"]));
                (code != 0).then(|| format!("container {name:?} failed with exit code {code}"))
            }
        }
    });
    Finding::degraded("Failed", reasons.collect::<Vec<_>>().join(", "))
}

/// Whether a Pod that is meant to last does, or one that is meant to end goes on.
fn running(object: &Object<'_>, lasting: bool, message: &str) -> Finding {
    if !lasting {
        return Finding::progressing(message);
    }
    let ready = object.condition("Ready").is_some_and(|condition| condition["status"] == "True");
    if ready {
        return Finding::new(Health::Healthy, "", message);
    }
    let mut ended =
        containers(object.status()).filter(|container| container["lastState"]["terminated"].is_object());
    match ended.next() {
        Some(_) => Finding::degraded("Restarted", message),
        None => Finding::new(Health::Progressing, "NotReady", message),
    }
}
