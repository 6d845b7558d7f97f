//! What the state of an object says about its health.
//!
//! Built-in kinds are judged as Argo CD judges them, message for message, so that people who come from there
//! find what they know; the reason is ours. A kind that has no health says so, and what cannot be known is
//! Unknown, never Healthy by silence. Rules of users' own go before what is built in ([`assess_by`]); scripts in Lua
//! as such rules are the crate `strandline-health-lua`.
//! Pure: no clock, no store.

#![warn(missing_docs)]

mod builtin;
mod cases;
mod conventions;
mod fields;
mod patience;
#[cfg(test)]
mod tests;

use fields::{Malformed, Section};
use patience::Wait;
use strandline_model::{Health, Verdict};
use strandline_object::Object;

pub use cases::{Agreement, Case};
pub use patience::Patience;

/// What a rule finds; the rule's own name is added by [`assess`].
#[derive(Debug)]
struct Finding {
    health: Health,
    reason: String,
    message: String,
    /// For what the object waits, where it may do so for a time only.
    wait: Option<Wait>,
}

impl Finding {
    fn new(health: Health, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { health, reason: reason.into(), message: message.into(), wait: None }
    }

    fn healthy() -> Self {
        Finding::new(Health::Healthy, "", "")
    }

    /// What cannot be known, by the word that says nothing to us.
    fn unknown(word: &str, message: &str) -> Self {
        Finding::new(Health::Unknown, if word.is_empty() { NOT_REPORTED } else { word }, message)
    }

    fn progressing(reason: &str, message: impl Into<String>) -> Self {
        Finding::new(Health::Progressing, reason, message)
    }

    /// What was found on an object on which somebody is to report who has not yet.
    fn unreported(object: &Object<'_>) -> Self {
        let wait = Wait::Report { since: object.metadata.creation_timestamp };
        Finding { wait: Some(wait), ..Finding::progressing(NOT_REPORTED, "Waiting for a status") }
    }
}

/// The reason while a controller has not yet looked at the newest spec.
const NOT_OBSERVED: &str = "GenerationNotObserved";

/// The reason where nobody has said anything yet.
const NOT_REPORTED: &str = "NotReported";

type Rule = fn(&Object<'_>) -> Result<Finding, Malformed>;

/// Keeps hooks from being deleted before their phase has ended; until then they are judged as ever.
const HOOK_FINALIZER: &str = "argocd.argoproj.io/hook-finalizer";

/// A source of verdicts.
pub trait Rules {
    /// The verdict on an object; none where these rules do not speak of its kind.
    fn judge(&self, object: &Object<'_>) -> Option<Verdict>;
}

/// What is being deleted is on its way, whatever its kind.
#[derive(Clone, Copy, Debug)]
pub struct Deletion;

/// The kinds that Kubernetes itself brings.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn(pub Patience);

/// Judges an object by its state alone, with the patience that nobody has set otherwise.
pub fn assess(object: &Object<'_>) -> Verdict {
    let patience = Patience::default();
    assess_by(&[&Deletion, &BuiltIn(patience)], patience, object)
}

/// Judges by the first of these rules that speak of the object, and by conventions where none do.
pub fn assess_by(rules: &[&dyn Rules], patience: Patience, object: &Object<'_>) -> Verdict {
    rules.iter().find_map(|rules| rules.judge(object)).unwrap_or_else(|| conventions::judge(patience, object))
}

impl Rules for Deletion {
    fn judge(&self, object: &Object<'_>) -> Option<Verdict> {
        object.metadata.deletion_timestamp?;
        let held = object.metadata.finalizers().iter().any(|finalizer| finalizer == HOOK_FINALIZER);
        let finding = Finding::progressing("PendingDeletion", "Pending deletion");
        (!held).then(|| verdict("builtin/deletion", finding))
    }
}

impl Rules for BuiltIn {
    fn judge(&self, object: &Object<'_>) -> Option<Verdict> {
        let (group, kind) = (object.group(), object.kind.as_ref());
        match builtin::rule(group, kind) {
            Some((rule, judge)) => {
                let found = judge(object).unwrap_or_else(Finding::from);
                // Of each of these kinds somebody reports.
                let silent = found.health == Health::Unknown && found.reason == NOT_REPORTED;
                let silent = silent && Section::status(object).is_absent();
                let found = if silent { Finding::unreported(object) } else { found };
                Some(self.0.verdict(rule, found))
            }
            None => builtin::has_no_health(group, kind).then(without_health),
        }
    }
}

fn verdict(rule: &str, finding: Finding) -> Verdict {
    let Finding { health, reason, message, .. } = finding;
    Verdict { health: Some(health), reason, message, rule: rule.to_owned(), later: None }
}

/// The verdict on what has no state that could be good or bad.
fn without_health() -> Verdict {
    let (reason, message) = (String::new(), String::new());
    Verdict { health: None, reason, message, rule: "none".to_owned(), later: None }
}

/// What the first page of the crate shows, which has to be true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FirstPage;
