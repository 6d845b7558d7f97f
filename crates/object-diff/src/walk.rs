//! Walks two states side by side and tells what differs.

use serde_json::{Map, Value};

use super::cursor::Cursor;
use super::excerpt::told;
use super::lens::{Class, Lens, Standing};
use super::path::{Side, Step, pointer, readable};
use super::{Comparison, Difference, DifferenceType};
use strandline_model::Kind;

/// The most bytes of values that one comparison tells.
const BYTES_MAX: usize = 1 << 20;

/// Compares two states of an object of a kind; a state that is not there is none.
pub fn compare(kind: &Kind, before: Option<&Value>, after: Option<&Value>, lens: &Lens) -> Comparison {
    let lens = lens.on(kind);
    let mapped = before.filter(|_| !lens.names.is_empty()).map(|before| lens.names.applied(before));
    let original = before.filter(|_| mapped.is_some());
    let mut walk = Walk { at: Cursor::new(&lens), original, found: Comparison::default(), bytes: 0 };
    match (mapped.as_ref().or(before), after) {
        (Some(before), Some(after)) => walk.differ(before, after),
        (Some(before), None) => walk.only(before, Side::Before),
        (None, Some(after)) => walk.only(after, Side::After),
        (None, None) => {}
    }
    walk.found.differences.sort_by_key(|difference| difference.class as u8);
    walk.found
}

struct Walk<'a> {
    at: Cursor<'a>,
    /// The earlier state before its names were mapped.
    original: Option<&'a Value>,
    found: Comparison,
    bytes: usize,
}

impl Walk<'_> {
    /// Takes a step and looks there, unless it leads to what is ignored or to noise that nobody asked for.
    fn step<T>(&mut self, step: Step, look: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let (standing, outside) = self.at.enter(step);
        let result = match standing {
            Standing::Ignored => {
                self.found.hidden.ignored += 1;
                None
            }
            Standing::Hidden(Class::Noise) => {
                self.found.hidden.noise += 1;
                None
            }
            Standing::Told(_) | Standing::Hidden(_) => Some(look(self)),
        };
        self.at.leave(outside);
        result
    }

    fn differ(&mut self, before: &Value, after: &Value) {
        match (before, after) {
            (before, after) if before == after => self.count_renamed(before),
            (Value::Object(before), Value::Object(after)) if self.at.goes_on() => self.members(before, after),
            (Value::Array(before), Value::Array(after)) if self.at.goes_on() => self.elements(before, after),
            (Value::String(_), Value::String(other)) if self.is_renamed(before, other) => {
                self.found.hidden.renamed += u64::from(self.at.lens.tells(self.at.within));
            }
            _ => self.tell(DifferenceType::Changed, Some(before), Some(after)),
        }
    }

    fn members(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        for (name, one) in before {
            match after.get(name) {
                Some(other) if one == other => self.count_renamed_at(Step::Member(name.clone()), one),
                Some(other) => {
                    self.step(Step::Member(name.clone()), |walk| walk.differ(one, other));
                }
                None => {
                    self.step(Step::Member(name.clone()), |walk| walk.only(one, Side::Before));
                }
            }
        }
        for (name, other) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            self.step(Step::Member(name.clone()), |walk| walk.only(other, Side::After));
        }
    }

    /// Elements in the order of the later list; what is gone is told where it stood.
    fn elements(&mut self, before: &[Value], after: &[Value]) {
        let pairing = self.at.pair(before, after);
        let (moved, gone) = (pairing.moved(), pairing.gone(before.len()));
        let (mut moved, mut gone) = (moved.iter().peekable(), gone.into_iter().peekable());
        let mut pairs = pairing.pairs.iter().peekable();
        for (place, other) in after.iter().enumerate() {
            let Some((one, _)) = pairs.next_if(|(_, paired)| *paired == place) else {
                self.step(pairing.step(None, Some(place)), |walk| walk.only(other, Side::After));
                continue;
            };
            while let Some(gone) = gone.next_if(|gone| gone < one) {
                self.step(pairing.step(Some(gone), None), |walk| walk.only(&before[gone], Side::Before));
            }
            let has_moved = moved.next_if(|(_, to)| *to == place).is_some();
            if has_moved || before[*one] != *other {
                self.step(pairing.step(Some(*one), Some(place)), |walk| {
                    if has_moved {
                        walk.tell(DifferenceType::Moved, Some(&(*one).into()), Some(&place.into()));
                    }
                    walk.differ(&before[*one], other);
                });
            } else {
                self.count_renamed_at(pairing.step(Some(*one), Some(place)), other);
            }
        }
        for gone in gone {
            self.step(pairing.step(Some(gone), None), |walk| walk.only(&before[gone], Side::Before));
        }
    }

    /// Tells what only one state has. An object as a whole is told by its members, since they are of several classes.
    fn only(&mut self, value: &Value, side: Side) {
        if let (Value::Object(members), true) = (value, self.at.steps.is_empty()) {
            for (name, value) in members {
                self.step(Step::Member(name.clone()), |walk| walk.only(value, side));
            }
            return;
        }
        let value = self.as_it_was(value, side).clone();
        let Some(value) = self.without_hidden(&value) else { return };
        match side {
            Side::Before => self.tell(DifferenceType::Removed, Some(&value), None),
            Side::After => self.tell(DifferenceType::Added, None, Some(&value)),
        }
    }

    /// The value before its names were mapped.
    fn as_it_was<'v>(&'v self, value: &'v Value, side: Side) -> &'v Value {
        let original = self.original.filter(|_| side == Side::Before);
        original.and_then(|object| object.pointer(&pointer(&self.at.steps, Side::Before))).unwrap_or(value)
    }

    /// Whether a text says the same as the other but for names.
    fn is_renamed(&self, before: &Value, other: &str) -> bool {
        let text = self.original.and_then(|_| self.as_it_was(before, Side::Before).as_str());
        text.is_some_and(|text| self.at.lens.names.equates(text, other))
    }

    /// Counts the texts behind a step that are equal only because names were mapped.
    fn count_renamed_at(&mut self, step: Step, value: &Value) {
        if self.original.is_none() {
            return;
        }
        let (standing, outside) = self.at.enter(step);
        if let Standing::Told(_) = standing {
            self.count_renamed(value);
        }
        self.at.leave(outside);
    }

    /// The same of the texts in a value.
    fn count_renamed(&mut self, value: &Value) {
        if self.original.is_none() || self.as_it_was(value, Side::Before) == value {
            return;
        }
        match value {
            Value::Object(members) if self.at.goes_on() => {
                for (name, value) in members {
                    self.count_renamed_at(Step::Member(name.clone()), value);
                }
            }
            Value::Array(items) if self.at.goes_on() => {
                let pairing = self.at.pair(items, items);
                for (place, value) in items.iter().enumerate() {
                    self.count_renamed_at(pairing.step(Some(place), Some(place)), value);
                }
            }
            _ => self.found.hidden.renamed += 1,
        }
    }

    /// A value without what in it is ignored, or noise that nobody asked for; none where nothing else is in it.
    fn without_hidden(&mut self, value: &Value) -> Option<Value> {
        match value {
            Value::Object(members) if !members.is_empty() && self.at.goes_on() => {
                let mut kept = Map::with_capacity(members.len());
                for (name, value) in members {
                    let step = Step::Member(name.clone());
                    if let Some(Some(value)) = self.step(step, |walk| walk.without_hidden(value)) {
                        kept.insert(name.clone(), value);
                    }
                }
                (!kept.is_empty()).then_some(Value::Object(kept))
            }
            Value::Array(items) if !items.is_empty() && self.at.goes_on() => {
                let pairing = self.at.pair(&[], items);
                let mut kept = Vec::with_capacity(items.len());
                for (place, value) in items.iter().enumerate() {
                    let step = pairing.step(None, Some(place));
                    kept.extend(self.step(step, |walk| walk.without_hidden(value)).flatten());
                }
                (!kept.is_empty()).then_some(Value::Array(kept))
            }
            other => Some(other.clone()),
        }
    }

    fn tell(&mut self, change: DifferenceType, before: Option<&Value>, after: Option<&Value>) {
        let class = self.at.within;
        if !self.at.lens.tells(class) {
            self.found.hidden.count(class);
            return;
        }
        if self.found.differences.len() >= Comparison::MAX || self.bytes >= BYTES_MAX {
            self.found.left_out += 1;
            return;
        }
        let side = if change == DifferenceType::Removed { Side::Before } else { Side::After };
        let before = match change {
            DifferenceType::Changed => before.map(|value| self.as_it_was(value, Side::Before)),
            _ => before,
        };
        let values = told(before.cloned(), after.cloned());
        self.bytes += values.bytes;
        self.found.differences.push(Difference {
            path: readable(&self.at.steps),
            pointer: pointer(&self.at.steps, side),
            change,
            class,
            before: values.before,
            after: values.after,
            excerpt: values.excerpt,
        });
    }
}
