//! What a status says in a word: `phase`, `state`, `health` and their like, wherever they are.

use serde_json::{Map, Value};

use super::opinion::Opinion;
use super::words::{self, Meaning};
use strandline_model::Health;

/// Names under which controllers report the state of the whole.
const STATES: [&str; 14] = [
    "phase",
    "state",
    "status",
    "health",
    "currentState",
    "currentStatus",
    "currentPhase",
    "printableStatus",
    "overallStatus",
    "summary",
    "compliant",
    "conditionStatus",
    "robustness",
    "lifecycle",
];
/// Last words of names under which they report the state of a part.
const ENDINGS: [&str; 4] = ["phase", "state", "status", "health"];
/// First words of names that are about another time.
const OTHER_TIMES: [&str; 10] = [
    "desired",
    "target",
    "previous",
    "last",
    "wanted",
    "expected",
    "requested",
    "old",
    "history",
    "deprecated",
];
/// Names under which an error is reported that has not gone away.
const ERRORS: [&str; 8] = [
    "error",
    "errors",
    "errorMessage",
    "lastError",
    "failureReason",
    "failureMessage",
    "failure",
    "validationError",
];
/// Names under which a sentence is beside a state.
const SENTENCES: [&str; 7] =
    ["message", "reason", "statusMessage", "stateMessage", "phaseMessage", "description", "statusReason"];
/// Names under which it is reported whether what has ended went well.
const OUTCOMES: [&str; 5] = ["pass", "passed", "success", "successful", "succeeded"];
/// How deep parts may be nested below the status.
const DEPTH: usize = 3;
/// How many members of one part are looked at.
const MEMBERS_MAX: usize = 64;

type Members = Map<String, Value>;

/// The state of the whole, by the worst of the words that report it.
pub(super) fn of_whole(status: &Members) -> Option<Opinion> {
    let found = STATES.iter().filter_map(|name| match status.get(*name)? {
        // Some keep the word one object deeper: `health: {status: Healthy}`.
        Value::Object(inner) => worst(STATES.iter().filter_map(|word| told(name, inner.get(*word)?, inner))),
        value => told(name, value, status),
    });
    worst(found)
}

/// The worst state that a word reports of a part, however deep.
pub(super) fn of_parts(status: &Members) -> Option<Opinion> {
    let (mut level, mut found) = (vec![status], Vec::new());
    for _ in 0..DEPTH {
        let members = level.iter().flat_map(|part| part.iter().map(|member| (*part, member)));
        found.extend(
            members
                .filter_map(|(part, (name, value))| told(name, value, part).filter(|_| tells_a_state(name))),
        );
        level = level.into_iter().flatten().flat_map(below).collect();
    }
    worst(found.into_iter())
}

/// An error that is in the status.
pub(super) fn of_error(status: &Members) -> Option<Opinion> {
    let told = |name: &str| {
        let message = sentence(status.get(name)?)?;
        Some(Opinion::new(Health::Degraded, name, "Error", message))
    };
    let by_name = || status.iter().filter(|(name, value)| value.is_string() && tells_an_error(name));
    let failed =
        || status.iter().find(|(name, value)| counts_failures(name) && value.as_u64().is_some_and(|n| n > 0));
    let counted =
        || failed().map(|(name, value)| Opinion::new(Health::Degraded, name, "Failed", value.to_string()));
    ERRORS
        .iter()
        .find_map(|name| told(name))
        .or_else(|| by_name().find_map(|(name, _)| told(name)))
        .or_else(counted)
}

/// How something went that has come to its end: `pass: false` beside `state: Completed`.
pub(super) fn of_outcome(status: &Members) -> Option<Opinion> {
    let name = OUTCOMES.iter().find(|name| status.get(**name) == Some(&Value::Bool(false)))?;
    Some(Opinion::new(Health::Degraded, name, "NotPassed", beside(status)))
}

/// A flag such as `ready: true`.
pub(super) fn of_flag(status: &Members) -> Option<Opinion> {
    let flags = status.iter().filter_map(|(name, value)| Some((name, value.as_bool()?)));
    worst(flags.filter_map(|(name, set)| {
        // The last word is what is reported: `bootstrapReady`, but not `readyReplicas`.
        let health = match (words::of_name(words::words(name).last()?)?, set) {
            (Meaning::Good, true) => Health::Healthy,
            (Meaning::Good, false) | (Meaning::Waiting | Meaning::Lacking, true) => Health::Progressing,
            (Meaning::Bad | Meaning::Missing, true) => Health::Degraded,
            (Meaning::Halted, true) => Health::Suspended,
            _ => return None,
        };
        Some(Opinion::new(health, name, "", beside(status)))
    }))
}

/// A sentence that means failure, where nothing else reports anything.
pub(super) fn of_sentence(status: &Members) -> Option<Opinion> {
    SENTENCES.iter().find_map(|name| {
        let text = status.get(*name)?.as_str()?;
        let failed = matches!(words::of_sentence(text), Some(Meaning::Bad | Meaning::Missing));
        failed.then(|| Opinion::new(Health::Degraded, name, "", text.to_owned()))
    })
}

/// The sentence that is beside a state; empty where there is none.
pub(super) fn beside(status: &Members) -> String {
    let texts = SENTENCES.iter().chain(&ERRORS).filter_map(|name| sentence(status.get(*name)?));
    texts.into_iter().next().unwrap_or_default()
}

/// What a value under such a name says; none where it is no word or one without meaning.
fn told(name: &str, value: &Value, beside_in: &Members) -> Option<Opinion> {
    let text = value.as_str()?;
    let health = match words::of_state(text)? {
        Meaning::Lacking if text.eq_ignore_ascii_case("unavailable") => Health::Degraded,
        // Not yet, or not at all: the sentence beside it reports.
        Meaning::Lacking if words::of_sentence(&beside(beside_in)) == Some(Meaning::Bad) => Health::Degraded,
        Meaning::Good => Health::Healthy,
        Meaning::Lacking | Meaning::Waiting => Health::Progressing,
        Meaning::Halted => Health::Suspended,
        Meaning::Unknown => Health::Unknown,
        Meaning::Missing => Health::Missing,
        Meaning::Bad => Health::Degraded,
    };
    Some(worded(health, name, text, beside_in))
}

/// A word is a reason; a sentence is a message, unless another is beside it.
fn worded(health: Health, name: &str, text: &str, beside_in: &Members) -> Opinion {
    match (beside(beside_in), text.contains(char::is_whitespace)) {
        (message, false) => Opinion::new(health, name, text, message),
        (message, true) if message.is_empty() => Opinion::new(health, name, "", text),
        (message, true) => Opinion::new(health, name, "", format!("{text}: {message}")),
    }
}

fn is_of_another_time(words: &[String]) -> bool {
    words.first().is_some_and(|word| OTHER_TIMES.contains(&word.as_str()))
}

/// Whether a text of this name is an error: `errMsg`, `errorDescription`.
fn tells_an_error(name: &str) -> bool {
    words::words(name).first().is_some_and(|word| ["err", "error"].contains(&word.as_str()))
}

/// Whether a number of this name counts what has failed and not been mended: `failedTasksCount`.
fn counts_failures(name: &str) -> bool {
    let words = words::words(name);
    words.len() > 2
        && words.first().is_some_and(|word| word == "failed")
        && words.last().is_some_and(|word| word == "count")
}

fn tells_a_state(name: &str) -> bool {
    let words = words::words(name);
    !is_of_another_time(&words) && words.last().is_some_and(|word| ENDINGS.contains(&word.as_str()))
}

/// The objects directly below a member, in a list or not; conditions are read by rules of their own.
pub(super) fn below<'a>((name, value): (&'a String, &'a Value)) -> Vec<&'a Members> {
    match value {
        Value::Object(_) | Value::Array(_)
            if name == "conditions" || is_of_another_time(&words::words(name)) =>
        {
            Vec::new()
        }
        Value::Object(members) => vec![members],
        Value::Array(list) => list.iter().take(MEMBERS_MAX).filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    }
}

/// The text of an error or a message: itself, its `message`, or the first in a list.
fn sentence(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Object(members) => members.get("message")?.as_str().map(str::to_owned),
        Value::Array(list) => list.first().and_then(|first| match first {
            Value::String(text) => Some(text.clone()),
            Value::Object(members) => members.get("message")?.as_str().map(str::to_owned),
            _ => None,
        }),
        _ => None,
    }
}

/// The worst of several; what nobody can say counts least, as another may know.
fn worst(opinions: impl Iterator<Item = Opinion>) -> Option<Opinion> {
    let weight = |opinion: &Opinion| (opinion.health != Health::Unknown, opinion.health);
    opinions.reduce(|one, other| if weight(&other) > weight(&one) { other } else { one })
}
