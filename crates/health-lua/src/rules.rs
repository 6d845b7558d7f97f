//! Scripts as rules: one machine for a thread, made when it is first needed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::machine::{Machine, Outcome};
use super::script::Script;
use super::scripts::Scripts;
use strandline_health::Rules;
use strandline_model::{Health, Kind, Verdict};
use strandline_object::Object;

/// Of how many kinds it is remembered which script covers them.
const REMEMBERED_MAX: usize = 4096;

impl Scripts {
    /// These scripts as rules, for one thread.
    pub fn rules(&self) -> ScriptRules {
        ScriptRules { scripts: self.clone(), machine: Cell::new(None), chosen: RefCell::default() }
    }
}

/// Judges by scripts. It stays on its thread; each thread makes its own from the same [`Scripts`].
///
/// A script judges by the object alone, and the same object always gets the same verdict. One that fails says
/// Unknown with the reason `ScriptFailed`, one that returns what is no answer `ScriptInvalid`, and one that uses
/// up what it may `ScriptBudget`; none of them hinders the next. One that returns nothing says that the object
/// has no health, as in Argo CD.
pub struct ScriptRules {
    scripts: Scripts,
    machine: Cell<Option<Machine>>,
    chosen: RefCell<HashMap<Kind, Option<usize>>>,
}

impl std::fmt::Debug for ScriptRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptRules").field("scripts", &self.scripts.len()).finish_non_exhaustive()
    }
}

impl Rules for ScriptRules {
    fn judge(&self, object: &Object<'_>) -> Option<Verdict> {
        if self.scripts.is_empty() {
            return None;
        }
        let place = self.chosen(object)?;
        let script = self.scripts.get(place)?;
        Some(verdict(script, self.run(place, script, object)))
    }
}

impl ScriptRules {
    fn chosen(&self, object: &Object<'_>) -> Option<usize> {
        let kind = object.group_kind();
        let mut chosen = self.chosen.borrow_mut();
        if let Some(place) = chosen.get(&kind) {
            return *place;
        }
        let place = self.scripts.find(object.group(), &object.kind);
        if chosen.len() >= REMEMBERED_MAX {
            chosen.clear();
        }
        chosen.insert(kind, place);
        place
    }

    fn run(&self, place: usize, script: &Script, object: &Object<'_>) -> Outcome {
        let mut machine = match self.machine.take().map_or_else(Machine::new, Ok) {
            Ok(machine) => machine,
            Err(error) => return Outcome::Failed(format!("no Lua machine: {error}")),
        };
        let outcome = machine.run(place, script, object);
        // Whoever used up what there is may have left anything behind.
        if !matches!(outcome, Outcome::Spent(_)) {
            self.machine.set(Some(machine));
        }
        outcome
    }
}

fn verdict(script: &Script, outcome: Outcome) -> Verdict {
    let unknown = |reason: &str, message: String| (Some(Health::Unknown), reason.to_owned(), message);
    let invalid = |why: String| unknown("ScriptInvalid", format!("{}: {why}", script.origin));
    let (health, reason, message) = match outcome {
        Outcome::Silent => (None, String::new(), String::new()),
        Outcome::Said { status, message } => match exactly(&status) {
            Some(health) => (Some(health), String::new(), message),
            None => invalid(format!("`{status}` is no health. {message}")),
        },
        Outcome::Nonsense(problem) => invalid(problem),
        Outcome::Failed(message) => unknown("ScriptFailed", message),
        Outcome::Spent(limit) => unknown("ScriptBudget", format!("{}: {limit}", script.origin)),
    };
    Verdict { health, reason, message, rule: script.rule.clone(), later: None }
}

/// The health that a word names, letter for letter, as in Argo CD.
fn exactly(word: &str) -> Option<Health> {
    Health::ALL.into_iter().find(|health| health.as_str() == word)
}
