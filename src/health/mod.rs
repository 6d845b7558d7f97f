//! What the state of an object says about its health.
//!
//! Built-in kinds are judged as Argo CD judges them, message for message, so that people who come from there
//! find what they know; the reason is ours. A kind that has no health says so, and what cannot be known is
//! Unknown, never Healthy by silence. Scripts of users' own go before what is built in ([`Judge`]).
//! Pure: no clock, no store.

mod builtin;
mod conventions;
mod fields;
mod lua;
#[cfg(test)]
mod tests;

use crate::model::{Health, Verdict};
use crate::object::Object;
use fields::Malformed;

pub use lua::{SCRIPT_BYTES_MAX, SCRIPTS_MAX, ScriptMistake, ScriptRules, Scripts, ScriptsError};

/// What a rule finds; the rule's own name is added by [`assess`].
#[derive(Debug)]
struct Finding {
    health: Health,
    reason: String,
    message: String,
}

impl Finding {
    fn new(health: Health, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { health, reason: reason.into(), message: message.into() }
    }

    fn healthy() -> Self {
        Finding::new(Health::Healthy, "", "")
    }

    /// What cannot be known, by the word that says nothing to us.
    fn unknown(word: &str, message: &str) -> Self {
        Finding::new(Health::Unknown, if word.is_empty() { "NotReported" } else { word }, message)
    }

    fn progressing(reason: &str, message: impl Into<String>) -> Self {
        Finding::new(Health::Progressing, reason, message)
    }
}

/// The reason while a controller has not yet looked at the newest spec.
const NOT_OBSERVED: &str = "GenerationNotObserved";

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
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn;

/// Judges an object by its state alone.
pub fn assess(object: &Object<'_>) -> Verdict {
    assess_by(&[&Deletion, &BuiltIn], object)
}

/// Judges objects with a set of scripts, as Argo CD does: what is being deleted, then scripts, then built-in
/// kinds, then conventions. It stays on its thread; each thread makes its own.
#[derive(Debug)]
pub struct Judge {
    scripts: ScriptRules,
}

impl Judge {
    /// A judge who asks these scripts; without any, the verdicts are those of [`assess`].
    pub fn new(scripts: &Scripts) -> Self {
        Judge { scripts: scripts.rules() }
    }

    /// Judges an object by its state alone; the same object always gets the same verdict.
    pub fn judge(&self, object: &Object<'_>) -> Verdict {
        assess_by(&[&Deletion, &self.scripts, &BuiltIn], object)
    }
}

/// Judges by the first of these rules that speak of the object, and by conventions where none do.
pub fn assess_by(rules: &[&dyn Rules], object: &Object<'_>) -> Verdict {
    rules.iter().find_map(|rules| rules.judge(object)).unwrap_or_else(|| conventions::judge(object))
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
            Some((rule, judge)) => Some(verdict(rule, judge(object).unwrap_or_else(Finding::from))),
            None => builtin::has_no_health(group, kind).then(without_health),
        }
    }
}

fn verdict(rule: &str, finding: Finding) -> Verdict {
    let Finding { health, reason, message } = finding;
    Verdict { health: Some(health), reason, message, rule: rule.to_owned() }
}

/// The verdict on what has no state that could be good or bad.
fn without_health() -> Verdict {
    Verdict { health: None, reason: String::new(), message: String::new(), rule: "none".to_owned() }
}
