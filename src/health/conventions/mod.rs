//! Kinds without a rule of their own, by the conventions that most controllers keep.
//!
//! In the order of trust: a wish to pause, whether the newest spec was seen, conditions, words such as
//! `phase`, errors, counts of replicas, flags. An object that nobody reports on is configuration and has no
//! health.

mod conditions;
mod replicas;
mod states;
#[cfg(test)]
mod tests;
mod words;

use serde_json::{Map, Value};

use super::fields::{Malformed, Section};
use super::{Finding, NOT_OBSERVED, Patience, verdict, without_health};
use crate::model::{Health, Verdict};
use crate::object::Object;

/// What one convention says.
#[derive(Clone, Debug)]
struct Opinion {
    health: Health,
    /// Said in so many words, not guessed from what is not said.
    sure: bool,
    /// Said of the whole object, not of a part.
    summary: bool,
    rule: String,
    reason: String,
    message: String,
}

impl Opinion {
    /// What stands under a name in the status.
    fn new(health: Health, name: &str, reason: &str, message: impl Into<String>) -> Self {
        let rule = format!("conventions/{name}");
        Opinion {
            health,
            sure: true,
            summary: false,
            rule,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    fn progressing(name: &str, reason: &str, message: &str) -> Self {
        Opinion::new(Health::Progressing, name, reason, message)
    }
}

impl From<Opinion> for Verdict {
    fn from(Opinion { health, rule, reason, message, .. }: Opinion) -> Self {
        verdict(&rule, Finding::new(health, reason, message))
    }
}

/// Members of a spec by which people ask a controller to leave the object alone.
const PAUSES: [&str; 4] = ["paused", "suspend", "suspended", "pause"];
/// Members of a spec that ask for something to run, so that a controller must answer for it.
const WORKLOADS: [&str; 3] = ["replicas", "instances", "template"];

/// Judges by conventions.
pub(super) fn judge(patience: Patience, object: &Object<'_>) -> Verdict {
    let asked: Vec<&str> = PAUSES.iter().chain(&WORKLOADS).copied().chain(["updateStrategy"]).collect();
    let spec = object.spec_part(&asked);
    if let Some(opinion) = paused(&spec) {
        return opinion.into();
    }
    match object.status() {
        Value::Null if object.field("status").is_some_and(|text| text != "null") => {
            verdict("conventions", Finding::unknown("Malformed", "status nests too deeply"))
        }
        Value::Null if !is_awaited(object, &spec) => without_health(),
        // Who writes an empty status means to fill it.
        status if status.is_null() || is_empty(status) => {
            patience.verdict("conventions/status", Finding::unreported(object))
        }
        Value::Object(status) => by_status(object, &spec, status)
            .map_or_else(|malformed| verdict("conventions", malformed.into()), Verdict::from),
        _ => verdict("conventions", Section::status(object).malformed("", "an object").into()),
    }
}

/// A pause that people asked for, of the object or of its rollout.
fn paused(spec: &Value) -> Option<Opinion> {
    let strategy = spec.get("updateStrategy");
    let places = [Some(spec), strategy, strategy.and_then(|strategy| strategy.get("rollingUpdate"))];
    let asked = |place: &Value| PAUSES.into_iter().find(|name| place.get(name) == Some(&Value::Bool(true)));
    let name = places.into_iter().flatten().find_map(asked)?;
    Some(Opinion::new(Health::Suspended, name, "Suspended", ""))
}

fn is_empty(status: &Value) -> bool {
    status.as_object().is_some_and(Map::is_empty)
}

/// Whether somebody is to report on an object without a status: a controller holds it or must answer. All else is
/// configuration.
fn is_awaited(object: &Object<'_>, spec: &Value) -> bool {
    let asks = WORKLOADS.iter().any(|name| spec.get(name).is_some());
    let claimed = !object.metadata.finalizers().is_empty();
    let says_nothing = object.is_bare();
    asks || claimed || says_nothing
}

fn by_status(object: &Object<'_>, spec: &Value, status: &Map<String, Value>) -> Result<Opinion, Malformed> {
    let section = Section::status(object);
    let generation = object.metadata.generation;
    let seen = observed_generation(section)?;
    if seen.is_some_and(|seen| seen < generation) {
        let message = "Waiting for the newest spec to be seen";
        return Ok(Opinion::progressing("observedGeneration", NOT_OBSERVED, message));
    }
    let state = states::of_whole(status);
    let settled = state.as_ref().is_some_and(|one| one.health == Health::Healthy);
    let ended = state.as_ref().is_some_and(|one| words::tells_an_end(&one.reason));
    let conditions = conditions::judge(section, generation, settled)?;
    let parts = conditions::of_parts(status, generation).or_else(|| states::of_parts(status));
    let said = Said {
        conditions,
        state,
        error: states::of_error(status).or_else(|| states::of_outcome(status).filter(|_| ended)),
        counts: replicas::judge(spec, status),
        parts,
    };
    if let Some(found) = said.weigh() {
        return Ok(with_sentence(found, status));
    }
    let found = states::of_flag(status).or_else(|| replicas::none_ready(status));
    let found = found.or_else(|| states::of_sentence(status)).or_else(|| states::strange(status));
    Ok(found.unwrap_or_else(|| silent(status, seen)))
}

/// What several conventions say of one status.
struct Said {
    conditions: Option<Opinion>,
    state: Option<Opinion>,
    error: Option<Opinion>,
    counts: Option<Opinion>,
    parts: Option<Opinion>,
}

impl Said {
    /// What has the last word.
    fn weigh(self) -> Option<Opinion> {
        let is = |opinion: &Option<Opinion>, health| opinion.as_ref().is_some_and(|one| one.health == health);
        let unwell =
            |opinion: &&Option<Opinion>| opinion.as_ref().is_some_and(|one| one.health != Health::Healthy);
        let Said { conditions, state, error, counts, parts } = self;
        let sure = conditions.as_ref().is_some_and(|one| one.sure);
        let whole = conditions.as_ref().is_some_and(|one| one.summary);
        if is(&conditions, Health::Degraded) && sure {
            return conditions;
        }
        if is(&state, Health::Degraded) || is(&state, Health::Suspended) {
            return state;
        }
        // A state that is under way explains why what is wanted is not there yet.
        if is(&state, Health::Progressing) && is(&conditions, Health::Degraded) {
            return state;
        }
        if unwell(&&conditions) {
            return conditions;
        }
        let last = state.as_ref().is_some_and(|one| one.rule == "conventions/health");
        // Who is ready to work may have failed at it: then a part says so in a word.
        if whole && sure {
            return parts.filter(|part| part.health == Health::Degraded && !last).or(conditions);
        }
        // A part can only tell that a whole is not well everywhere, and of `health` not even that.
        let known = state.is_some() || counts.is_some() || conditions.is_some();
        let tells = |part: &Opinion| {
            matches!(part.health, Health::Progressing | Health::Degraded | Health::Unknown) && !last
        };
        let parts = parts.filter(|part| !known || tells(part));
        let order = [error, state, counts, parts, conditions];
        order.iter().find(unwell).cloned().or_else(|| order.into_iter().find(Option::is_some)).flatten()
    }
}

/// A status in which no convention was found.
fn silent(status: &Map<String, Value>, seen: Option<i64>) -> Opinion {
    // Those who report conditions report that something is ready, in the end.
    if status.get("conditions").is_some_and(Value::is_array) {
        return Opinion::progressing("conditions", "NotReported", "No condition tells of readiness yet");
    }
    match seen {
        Some(_) => Opinion::new(Health::Healthy, "observedGeneration", "", ""),
        None => {
            Opinion::new(Health::Unknown, "status", "NotUnderstood", "The status tells nothing of health")
        }
    }
}

/// The spec that the controller has seen; some write it as text, and -1 for none.
fn observed_generation(status: Section<'_>) -> Result<Option<i64>, Malformed> {
    match status.at("observedGeneration")? {
        Some(Value::String(text)) => Ok(text.parse().ok()),
        _ => status.integer("observedGeneration"),
    }
}

/// With the sentence beside it, where the opinion has none.
fn with_sentence(found: Opinion, status: &Map<String, Value>) -> Opinion {
    match found.message.is_empty() && found.health != Health::Healthy {
        true => Opinion { message: states::beside(status), ..found },
        false => found,
    }
}
