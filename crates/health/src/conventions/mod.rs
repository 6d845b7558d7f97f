//! Kinds without a rule of their own, by the conventions that most controllers keep.
//!
//! In the order of trust: a wish to pause, whether the newest spec was seen, conditions, words such as
//! `phase`, errors, counts of replicas, flags. What says nothing of these has no health, unless it was made a
//! moment ago: then somebody may still report on it.
//!
//! Why: docs/decisions/0010-kinds-without-a-rule-are-judged-by-words.md.

mod conditions;
mod opinion;
mod replicas;
mod states;
#[cfg(test)]
mod tests;
mod words;

use serde_json::{Map, Value};

use self::conditions::Generations;
use self::opinion::Opinion;
use crate::fields::{Malformed, Section};
use crate::finding::{Finding, NOT_OBSERVED, verdict, without_health};
use crate::patience::Patience;
use strandline_model::{Health, Verdict};
use strandline_object::Object;

/// Members of a spec by which people ask a controller to leave the object alone.
const PAUSES: [&str; 4] = ["paused", "suspend", "suspended", "pause"];
/// The member of a spec by which they ask for a state in a word, such as `paused`.
const WISH: &str = "state";

/// Judges by conventions.
pub(super) fn judge(patience: Patience, object: &Object<'_>) -> Verdict {
    let asked =
        PAUSES.into_iter().chain([WISH, "instances", "replicas", "updateStrategy"]).collect::<Vec<_>>();
    let spec = object.spec_part(&asked);
    if let Some(opinion) = paused(&spec) {
        return opinion.into();
    }
    match object.status() {
        Value::Null if object.field("status").is_some_and(|text| text != "null") => {
            verdict("conventions", Finding::unknown("Malformed", "status nests too deeply"))
        }
        Value::Null => unreported(patience, object),
        Value::Object(status) => match by_status(object, &spec, status) {
            Ok(found) => found.map_or_else(|| unreported(patience, object), Verdict::from),
            Err(malformed) => verdict("conventions", malformed.into()),
        },
        _ => verdict("conventions", Section::status(object).malformed("", "an object").into()),
    }
}

/// A pause that people asked for, of the object or of its rollout.
fn paused(spec: &Value) -> Option<Opinion> {
    let strategy = spec.get("updateStrategy");
    let places = [Some(spec), strategy, strategy.and_then(|strategy| strategy.get("rollingUpdate"))];
    let asked = |place: &Value| PAUSES.into_iter().find(|name| place.get(name) == Some(&Value::Bool(true)));
    let rests = || {
        let text = spec.get(WISH)?.as_str()?;
        (words::of_state(text) == Some(words::Meaning::Halted)).then_some(WISH)
    };
    let name = places.into_iter().flatten().find_map(asked).or_else(rests)?;
    Some(Opinion::new(Health::Suspended, name, "Suspended", ""))
}

/// An object of which nothing is known. Whether anybody is to report on it no object reports, neither by a finalizer nor
/// by what it asks for; who is to does so soon. On data nobody does.
fn unreported(patience: Patience, object: &Object<'_>) -> Verdict {
    match object.holds_data() {
        true => without_health(),
        false => patience.verdict("conventions/status", Finding::unreported(object)),
    }
}

/// What the status says; none where it says nothing that is known here.
fn by_status(
    object: &Object<'_>,
    spec: &Value,
    status: &Map<String, Value>,
) -> Result<Option<Opinion>, Malformed> {
    let section = Section::status(object);
    let generations = Generations { newest: object.metadata.generation, seen: observed_generation(section)? };
    if generations.is_behind() {
        let ahead = conditions::judge_ahead(section, generations)?;
        let message = "Waiting for the newest spec to be seen";
        let behind = || Opinion::progressing("observedGeneration", NOT_OBSERVED, message);
        return Ok(Some(ahead.unwrap_or_else(behind)));
    }
    let state = states::of_whole(status);
    let settled = state.as_ref().is_some_and(|one| one.health == Health::Healthy);
    let ended = state.as_ref().is_some_and(|one| words::tells_an_end(&one.reason));
    let conditions = conditions::judge(section, generations, settled)?;
    let parts = conditions::of_parts(status, generations).or_else(|| states::of_parts(status));
    let said = Said {
        conditions,
        state,
        error: states::of_error(status).or_else(|| states::of_outcome(status).filter(|_| ended)),
        counts: replicas::judge(spec, status),
        parts,
    };
    if let Some(found) = said.weigh() {
        return Ok(Some(with_sentence(found, status)));
    }
    let found = states::of_flag(status).or_else(|| replicas::none_ready(status));
    Ok(found.or_else(|| states::of_sentence(status)).or_else(|| seen_alone(generations)))
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
        // A part can only report that a whole is not well everywhere, and of `health` not even that.
        let known = state.is_some() || counts.is_some() || conditions.is_some();
        let tells = |part: &Opinion| {
            matches!(part.health, Health::Progressing | Health::Degraded | Health::Unknown) && !last
        };
        let parts = parts.filter(|part| !known || tells(part));
        let order = [error, state, counts, parts, conditions];
        order.iter().find(unwell).cloned().or_else(|| order.into_iter().find(Option::is_some)).flatten()
    }
}

/// A status that reports only that the newest spec was seen has found nothing wrong with it.
fn seen_alone(Generations { seen, .. }: Generations) -> Option<Opinion> {
    seen.map(|_| Opinion::new(Health::Healthy, "observedGeneration", "", ""))
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
