//! Health by Lua scripts in Argo CD's own layout, unchanged.
//!
//! Scripts come from someone else, so they get a machine in which they can judge and nothing more: no files, no
//! modules, no processes, no clock, no chance, no bytecode, no coroutines, no finalizers. What a script may use
//! up is counted in instructions and bytes, never in time, and the tables of an object are walked in the order
//! of their keys, so that a replay judges as the first time. Matching patterns is done by code of our own that
//! counts its steps; in Lua's, one call may take years.
//!
//! Argo CD runs scripts in an interpreter of its own, Lua 5.1 with `goto`. Here they run in Lua 5.2, which comes
//! nearest: numbers are floats that read as `3` where they are whole, and `goto` is there; the prelude adds what
//! 5.2 has dropped (`table.getn`, `unpack`, `loadstring`, `string.gfind`). 5.4 is newer, but numbers would read
//! as `3.0`, and its to-be-closed variables let a script run on after its budget: what stops it from within a hook
//! runs their `__close` with hooks off. What is known to be
//! broken in 5.2 lies in coroutines, `debug` and bytecode, and scripts have none of these.
//!
//! `os.time` and `os.date` report moments they are given, in UTC. They refuse to give the present: a verdict that
//! depends on it would be another one when the view is built anew, and wrong as soon as time went by without a
//! change. None of the scripts that Argo CD brings asks for it.
//!
//! Why: docs/decisions/0011-health-scripts-run-in-a-counting-lua.md.

#![warn(missing_docs)]

mod budget;
mod glob;
mod library;
mod machine;
mod pattern;
mod rules;
mod script;
mod scripts;
mod sources;
#[cfg(test)]
mod tests;
mod time;
mod values;

use strandline_health::{BuiltIn, Deletion, Patience, assess_by};
use strandline_model::Verdict;
use strandline_object::Object;

pub use rules::ScriptRules;
pub use scripts::{SCRIPT_BYTES_MAX, SCRIPTS_MAX, ScriptMistake, Scripts, ScriptsError};

/// Judges objects with a set of scripts, as Argo CD does: what is being deleted, then scripts, then built-in
/// kinds, then conventions. It stays on its thread; each thread makes its own.
#[derive(Debug)]
pub struct Judge {
    scripts: ScriptRules,
    patience: Patience,
}

impl Judge {
    /// A judge who asks these scripts and has this patience; without any scripts and with the patience that nobody has
    /// set otherwise, the verdicts are those of [`strandline_health::assess`].
    pub fn new(scripts: &Scripts, patience: Patience) -> Self {
        Judge { scripts: scripts.rules(), patience }
    }

    /// Judges an object by its state alone; the same object always gets the same verdict.
    pub fn judge(&self, object: &Object<'_>) -> Verdict {
        assess_by(&[&Deletion, &self.scripts, &BuiltIn(self.patience)], self.patience, object)
    }
}

/// What the first page of the crate shows, which has to be true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FirstPage;
