//! The operations that make one state another, as RFC 6902 has them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::lens::Lens;
use super::merge::merge;
use super::pair::pair;
use super::path::{push_index, push_member};
use super::{Class, DEPTH_MAX};
use strandline_model::Kind;

/// The most work that is spent on telling what moved in a list; beyond that the list is replaced.
const MOVES_MAX: usize = 10_000_000;

/// One operation on a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Operation {
    /// Puts a value where there is none, or into a list before what stands there.
    Add {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Takes a value away.
    Remove {
        /// Where.
        path: String,
    },
    /// Puts another value in the place of one.
    Replace {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Moves an element of a list.
    Move {
        /// From where.
        from: String,
        /// To where, once it is taken out.
        path: String,
    },
}

/// The operations that, applied to the earlier state in this order, make it the later one as far as the lens tells of
/// it; a state that is not there is `null`. With [`Lens::whole`] they make it exactly the later one.
pub fn patch(kind: &Kind, before: Option<&Value>, after: Option<&Value>, lens: &Lens) -> Vec<Operation> {
    let whole = Class::ALL.into_iter().all(|class| lens.tells(class)) && !lens.ignores();
    let merged = if whole { after.cloned() } else { merge(kind, before, after, lens) };
    let mut patch = Patch { operations: Vec::new(), path: String::new(), list: String::new(), depth: 0 };
    patch.values(before.unwrap_or(&Value::Null), &merged.unwrap_or(Value::Null));
    patch.operations
}

struct Patch {
    operations: Vec<Operation>,
    path: String,
    /// The name of the member that was stepped into last.
    list: String,
    depth: usize,
}

impl Patch {
    /// Runs with the path one step longer.
    fn below(&mut self, step: impl FnOnce(&mut String), run: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        step(&mut self.path);
        self.depth += 1;
        run(self);
        self.depth -= 1;
        self.path.truncate(length);
    }

    fn member(&mut self, name: &str, run: impl FnOnce(&mut Self)) {
        let list = std::mem::replace(&mut self.list, name.to_owned());
        self.below(|path| push_member(path, name), run);
        self.list = list;
    }

    fn at(&self, index: usize) -> String {
        let mut path = self.path.clone();
        push_index(&mut path, index);
        path
    }

    fn replace(&mut self, value: &Value) {
        self.operations.push(Operation::Replace { path: self.path.clone(), value: value.clone() });
    }

    fn values(&mut self, before: &Value, after: &Value) {
        if before == after {
            return;
        }
        match (before, after) {
            (Value::Object(before), Value::Object(after)) if self.depth < DEPTH_MAX => {
                self.members(before, after);
            }
            (Value::Array(one), Value::Array(other)) if self.depth < DEPTH_MAX => {
                if !self.elements(one, other) {
                    self.replace(after);
                }
            }
            _ => self.replace(after),
        }
    }

    fn members(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        for (name, one) in before {
            self.member(name, |patch| match after.get(name) {
                Some(other) => patch.values(one, other),
                None => patch.operations.push(Operation::Remove { path: patch.path.clone() }),
            });
        }
        for (name, value) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            self.member(name, |patch| {
                let (path, value) = (patch.path.clone(), value.clone());
                patch.operations.push(Operation::Add { path, value });
            });
        }
    }

    /// Takes out what is gone, from the end; then goes through the later list from its start and puts what belongs at each
    /// place there; then changes what stands there. False where it would take too long.
    fn elements(&mut self, before: &[Value], after: &[Value]) -> bool {
        let pairs = pair(&self.list, before, after, false).pairs;
        let mut stays = vec![false; before.len()];
        pairs.iter().for_each(|(place, _)| stays[*place] = true);
        let out_of_order = pairs.windows(2).filter(|two| two[0].0 > two[1].0).count();
        if out_of_order.saturating_mul(before.len()) > MOVES_MAX {
            return false;
        }
        for gone in (0..before.len()).rev().filter(|gone| !stays[*gone]) {
            self.operations.push(Operation::Remove { path: self.at(gone) });
        }
        let mut left: Vec<usize> = (0..before.len()).filter(|place| stays[*place]).collect();
        left.reverse();
        let mut paired = pairs.iter().peekable();
        for (place, value) in after.iter().enumerate() {
            let Some((one, _)) = paired.next_if(|(_, paired)| *paired == place) else {
                self.operations.push(Operation::Add { path: self.at(place), value: value.clone() });
                continue;
            };
            if left.last() == Some(one) {
                left.pop();
            } else if let Some(found) = left.iter().rposition(|waiting| waiting == one) {
                let ahead = left.len() - 1 - found;
                left.remove(found);
                self.operations.push(Operation::Move { from: self.at(place + ahead), path: self.at(place) });
            }
        }
        for (one, place) in pairs {
            self.below(|path| push_index(path, place), |patch| patch.values(&before[one], &after[place]));
        }
        true
    }
}
