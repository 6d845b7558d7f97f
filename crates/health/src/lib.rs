//! What the state of an object says about its health.
//!
//! Built-in kinds are judged as Argo CD judges them, message for message, so that people who come from there
//! find what they know; the reason is ours. A kind that has no health says so, and what cannot be known is
//! Unknown, never Healthy by silence. Rules of users' own take precedence over what is built in ([`assess_by`]); scripts in Lua
//! as such rules are the crate `strandline-health-lua`.
//! Pure: no clock, no store.

#![warn(missing_docs)]

mod builtin;
mod cases;
mod conventions;
mod fields;
mod finding;
mod patience;
#[cfg(test)]
mod tests;

use fields::Section;
use finding::{Finding, NOT_REPORTED, verdict, without_health};
use strandline_model::{Health, Verdict};
use strandline_object::Object;

pub use cases::{Agreement, Case};
pub use patience::Patience;

/// Keeps hooks from being deleted before their phase has ended; until then they are judged as ever.
const HOOK_FINALIZER: &str = "argocd.argoproj.io/hook-finalizer";

/// A source of verdicts.
pub trait Rules {
    /// The verdict on an object; none where these rules do not cover its kind.
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

/// Judges by the first of these rules that cover the object, and by conventions where none do.
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

/// What the first page of the crate shows, which has to be true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FirstPage;
