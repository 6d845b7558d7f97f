//! What the words mean by which controllers report a state: `InProgress`, `PENDING_RERUN`, `not found`.
//!
//! Words are distinguished by their meaning, never by who says them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a word or a phrase says of a state, each value outweighing the ones before it in a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    /// As it should be.
    Good,
    /// Not yet, or no longer, as it should be: `NotReady`.
    Lacking,
    /// Under way.
    Waiting,
    /// At rest on purpose.
    Halted,
    /// Nobody can say.
    Unknown,
    /// Not there.
    Missing,
    /// Failed.
    Bad,
}

/// The words of an identifier or a phrase, in lower case: `ACMEAccountReady` is three.
pub(super) fn words(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let starts = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || letters.get(at + 1).is_some_and(|next| next.is_lowercase())
            });
        // An apostrophe stays inside its word, as in `doesn't`.
        let inside = letter.is_alphanumeric() || *letter == '\'';
        if starts || !inside {
            words.push(String::new());
        }
        if inside && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The meaning of a name, such as a condition's type: explicit words first, then the form of the verb.
pub(super) fn of_name(text: &str) -> Option<Meaning> {
    let words = words(text);
    phrase(&words).or_else(|| words.iter().any(|word| is_under_way(word)).then_some(Meaning::Waiting))
}

/// The meaning of a state, such as a phase: what begins with an activity is under way.
pub(super) fn of_state(text: &str) -> Option<Meaning> {
    let words = words(text);
    // Alone these are states; elsewhere they mean something else.
    let floor = match words.first().map(String::as_str) {
        Some("new") if words.len() == 1 => Some(Meaning::Waiting),
        Some("detached") if words.len() == 1 => Some(Meaning::Halted),
        Some(first) => is_an_activity(first).then_some(Meaning::Waiting),
        None => None,
    };
    // A whole sentence that denies something is a complaint: `the volume is not mounted`.
    let complains = words.len() > 3 && words.iter().any(|word| is_denial(word));
    phrase(&words).max(floor).or(complains.then_some(Meaning::Bad)).or_else(|| of_name(text))
}

/// The meaning of a sentence, where only explicit words count.
pub(super) fn of_sentence(text: &str) -> Option<Meaning> {
    phrase(&words(text))
}

/// The weightiest meaning among the words; a denial reaches over the next three.
fn phrase(words: &[String]) -> Option<Meaning> {
    let holds = |phrase: &[&str]| words.windows(phrase.len()).any(|some| some == phrase);
    let (mut found, mut denied) = (PHRASES.iter().find(|one| holds(&one.1)).map(|one| one.0), 0);
    for word in words {
        // `already exists` is a complaint.
        if word == "already" {
            found = found.max(Some(Meaning::Bad));
            continue;
        }
        if is_denial(word) {
            denied = 3;
            continue;
        }
        let meaning = if denied > 0 { denial_of(word) } else { of_word(word) };
        denied = if meaning.is_some() { 0 } else { denied - 1 }.max(0);
        found = found.max(meaning);
    }
    found
}

/// Words that say together what none of them says.
const PHRASES: [(Meaning, [&str; 3]); 2] =
    [(Meaning::Waiting, ["ready", "to", "start"]), (Meaning::Halted, ["scaled", "to", "zero"])];

fn is_denial(word: &str) -> bool {
    matches!(word, "not" | "no" | "non" | "never" | "without" | "out" | "isn't" | "doesn't" | "0")
}

/// What remains of a word that is denied: `not ready` lacks, `not found` is missing, `no error` is good.
fn denial_of(word: &str) -> Option<Meaning> {
    match of_word(word) {
        _ if matches!(word, "found" | "find" | "exist" | "exists" | "existing" | "present") => {
            Some(Meaning::Missing)
        }
        _ if matches!(word, "compliant" | "valid" | "allowed" | "supported" | "permitted") => {
            Some(Meaning::Bad)
        }
        Some(Meaning::Good) => Some(Meaning::Lacking),
        Some(Meaning::Bad) => Some(Meaning::Good),
        _ => None,
    }
}

/// Words that end like activities and are none.
const THINGS: &str = "string thing nothing setting binding mapping rating routing matching during using \
    billing monitoring logging networking scheduling peering";

/// Whether a word is an activity by its form.
fn is_under_way(word: &str) -> bool {
    word.len() >= 6 && word.ends_with("ing") && !THINGS.split(' ').any(|thing| thing == word)
}

/// Whether a word is an activity, and none of the words by which anything reports that it is not there yet.
pub(super) fn is_an_activity(word: &str) -> bool {
    of_word(word).is_none() && is_under_way(word)
}

/// Whether the last word of a name reports that something has come to its end, be it a good one or not.
pub(super) fn tells_an_end(text: &str) -> bool {
    words(text)
        .last()
        .is_some_and(|word| ["complete", "completed", "finished", "done"].contains(&word.as_str()))
}

/// Whether something was tried and did not go well, other than that something is wrong: `UpdateFailed`, but not `Mismatch`.
pub(super) fn tells_an_attempt(text: &str) -> bool {
    let failed = |word: &String| ATTEMPTS.iter().any(|stem| word.starts_with(stem));
    words(text).iter().any(failed)
}

const ATTEMPTS: [&str; 9] =
    ["fail", "err", "abort", "timeout", "timedout", "exceed", "reject", "crash", "retr"];

/// Words with their meaning.
const VOCABULARY: [(Meaning, &str); 6] = [
    (
        Meaning::Good,
        "ready running healthy available active succeeded success successful successfully complete \
         completed completion done finished bound ok okay green normal online up valid accepted approved \
         synced sync synchronized synchronised deployed installed established programmed reconciled \
         registered promoted applied enabled connected created provisioned configured exists found \
         initialized initialised resolved verified validated compliant passed passing stable steady \
         optimal operational serving listening streaming working latest current updated issued attached \
         alive live sufficient bootstrapped fresh uptodate allocated joined formed adopted published \
         loaded started idle satisfied reachable imported granted ensured met provided admitted \
         generated discovered delivered released upgraded",
    ),
    (
        Meaning::Waiting,
        "pending progress progressing inprogress queued scheduled waiting wait requested submitted retry \
         retries rerun requeued init initial partial partially yellow backoff reconciling creating \
         updating deleting terminating provisioning initializing initialising installing upgrading \
         restarting deploying scaling starting stopping syncing recovering rebuilding restoring \
         uninstalling importing unpacking rolling awaiting await incomplete unfinished yet soon",
    ),
    (
        Meaning::Halted,
        "suspended suspend paused pause stopped halted disabled hibernated hibernating hibernation \
         inactive sleeping asleep parked dormant ignored cordoned shelved maintenance archived",
    ),
    (Meaning::Unknown, "unknown undetermined indeterminate unspecified inconclusive"),
    (Meaning::Missing, "missing absent notfound vanished"),
    (
        Meaning::Bad,
        "err unhealthy unreachable unresolved unusable unsupported unauthorized unauthorised \
         unschedulable unsatisfiable unsatisfied denied refused lost broken red critical fatal dead \
         evicted insufficient forbidden unable cannot couldn't can't warning warn disconnected offline \
         down noncompliant problem bad wrong incompatible inaccessible duplicate duplicated dangling \
         dropped oomkilled killed pressure exception illegal impossible unprocessable undefined \
         unrecognized timedout blocked revoked compromised terminal faulted faulty fallback canceled cancelled aborted",
    ),
];

/// Beginnings of words that mean failure whatever their ending.
const FAILURES: [&str; 21] = [
    "fail",
    "error",
    "crash",
    "corrupt",
    "degrad",
    "invalid",
    "reject",
    "conflict",
    "exceed",
    "expir",
    "violat",
    "misconfig",
    "mismatch",
    "abort",
    "timeout",
    "malform",
    "stall",
    "exhaust",
    "unexpect",
    "orphan",
    "unrecover",
];

static MEANINGS: LazyLock<HashMap<&str, Meaning>> = LazyLock::new(|| {
    let entries =
        VOCABULARY.iter().flat_map(|(meaning, words)| words.split(' ').map(|word| (word, *meaning)));
    entries.collect()
});

fn of_word(word: &str) -> Option<Meaning> {
    let fails = || FAILURES.iter().any(|stem| word.starts_with(stem)).then_some(Meaning::Bad);
    MEANINGS.get(word).copied().or_else(fails).or_else(|| lacking(word))
}

/// `unready`, `uninitialized`: what is good with a denial in front.
fn lacking(word: &str) -> Option<Meaning> {
    let denied = MEANINGS.get(word.strip_prefix("un")?)?;
    (*denied == Meaning::Good).then_some(Meaning::Lacking)
}

#[cfg(test)]
mod tests {
    use super::Meaning::*;
    use super::*;

    #[test]
    fn identifiers_fall_apart_into_their_words() {
        assert_eq!(words("ACMEAccountReady"), ["acme", "account", "ready"]);
        assert_eq!(words("PENDING_RERUN"), ["pending", "rerun"]);
        assert_eq!(words("in-progress 2/3, isn't it?"), ["in", "progress", "2", "3", "isn't", "it"]);
        assert_eq!(words("Ω→"), ["ω"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn states_mean_what_they_say() {
        for (text, expected) in [
            ("Ready", Some(Good)),
            ("ClusterRunning", Some(Good)),
            ("AtLatestKnown", Some(Good)),
            ("NotReady", Some(Lacking)),
            ("uninitialized", Some(Lacking)),
            ("ImportInProgress", Some(Waiting)),
            ("MigratingData", Some(Waiting)),
            ("Provisioning ready nodes", Some(Waiting)),
            ("New", Some(Waiting)),
            ("Stopped", Some(Halted)),
            ("ReadyToStart", Some(Waiting)),
            ("detached", Some(Halted)),
            ("ScaledToZero", Some(Halted)),
            ("failed when scaled to zero", Some(Bad)),
            ("Inconclusive", Some(Unknown)),
            ("UNKNOWN", Some(Unknown)),
            ("NotFound", Some(Missing)),
            ("FAILED", Some(Bad)),
            ("CompletedWithErrors", Some(Bad)),
            ("No error", Some(Good)),
            ("NonCompliant", Some(Bad)),
            ("credentials are not set properly", Some(Bad)),
            ("Not applicable", None),
            ("Blue", None),
            ("", None),
        ] {
            assert_eq!(of_state(text), expected, "{text}");
        }
    }

    #[test]
    fn in_names_explicit_words_come_before_forms_of_verbs() {
        assert_eq!(of_name("ScalableActive"), Some(Good));
        assert_eq!(of_name("MigratingActive"), Some(Good));
        assert_eq!(of_name("BundleMigrating"), Some(Waiting));
        assert_eq!(of_name("StatefulSetNotReady"), Some(Lacking));
        assert_eq!(of_name("NoMatchingNode"), None);
    }

    #[test]
    fn in_sentences_only_explicit_words_count() {
        assert_eq!(of_sentence("could not get secret: permission denied"), Some(Bad));
        assert_eq!(of_sentence("mounting the volume"), None);
    }
}
