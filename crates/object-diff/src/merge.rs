//! The earlier state with all that a lens tells made as it is in the later one.

use serde_json::{Map, Value};

use super::cursor::Cursor;
use super::lens::{Class, Lens, Standing};
use super::path::Step;
use strandline_model::Kind;

/// The earlier state with what the lens tells of the later one; none where that leaves nothing.
pub(super) fn merge(
    kind: &Kind,
    before: Option<&Value>,
    after: Option<&Value>,
    lens: &Lens,
) -> Option<Value> {
    let lens = lens.on(kind);
    Merge { at: Cursor::new(&lens) }.values(before, after)
}

struct Merge<'a> {
    at: Cursor<'a>,
}

impl Merge<'_> {
    /// Merges what stands behind a step; what is hidden there stays as it was.
    fn step(&mut self, step: Step, before: Option<&Value>, after: Option<&Value>) -> Option<Value> {
        let (standing, outside) = self.at.enter(step);
        let merged = match standing {
            Standing::Ignored | Standing::Hidden(Class::Noise) => before.cloned(),
            Standing::Told(_) | Standing::Hidden(_) => self.values(before, after),
        };
        self.at.leave(outside);
        merged
    }

    fn values(&mut self, before: Option<&Value>, after: Option<&Value>) -> Option<Value> {
        let none = Map::new();
        match (before, after) {
            (before, after) if before == after => before.cloned(),
            (Some(Value::Object(before)), Some(Value::Object(after))) if self.at.goes_on() => {
                Some(Value::Object(self.members(before, after)))
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) if self.at.goes_on() => {
                Some(Value::Array(self.elements(before, after)))
            }
            (None, Some(Value::Object(after))) if self.at.goes_on() && !after.is_empty() => {
                let merged = self.members(&none, after);
                (!merged.is_empty()).then_some(Value::Object(merged))
            }
            (None, Some(Value::Array(after))) if self.at.goes_on() && !after.is_empty() => {
                let merged = self.elements(&[], after);
                (!merged.is_empty()).then_some(Value::Array(merged))
            }
            (Some(gone), None) => (!self.shows(gone)).then(|| gone.clone()),
            _ if self.at.lens.tells(self.at.within) => after.cloned(),
            _ => before.cloned(),
        }
    }

    /// Whether anything of a value that is gone is told.
    fn shows(&mut self, value: &Value) -> bool {
        match value {
            Value::Object(members) if self.at.goes_on() && !members.is_empty() => {
                members.iter().any(|(name, value)| self.shows_below(Step::Member(name.clone()), value))
            }
            Value::Array(items) if self.at.goes_on() && !items.is_empty() => {
                let pairing = self.at.pair(items, &[]);
                let mut steps =
                    (0..items.len()).map(|place| (pairing.step(Some(place), None), &items[place]));
                steps.any(|(step, value)| self.shows_below(step, value))
            }
            _ => self.at.lens.tells(self.at.within),
        }
    }

    fn shows_below(&mut self, step: Step, value: &Value) -> bool {
        let (standing, outside) = self.at.enter(step);
        let hidden = matches!(standing, Standing::Ignored | Standing::Hidden(Class::Noise));
        let shows = !hidden && self.shows(value);
        self.at.leave(outside);
        shows
    }

    fn members(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
        let added = after.keys().filter(|name| !before.contains_key(*name));
        let mut merged = Map::with_capacity(before.len().max(after.len()));
        for name in before.keys().chain(added) {
            let step = Step::Member(name.clone());
            if let Some(value) = self.step(step, before.get(name), after.get(name)) {
                merged.insert(name.clone(), value);
            }
        }
        merged
    }

    /// The later list; what is gone from it and hidden stands at its end.
    fn elements(&mut self, before: &[Value], after: &[Value]) -> Vec<Value> {
        let pairing = self.at.pair(before, after);
        let mut pairs = pairing.pairs.iter().peekable();
        let mut merged = Vec::with_capacity(after.len());
        for (place, other) in after.iter().enumerate() {
            let one = pairs.next_if(|(_, paired)| *paired == place).map(|(one, _)| *one);
            let step = pairing.step(one, Some(place));
            merged.extend(self.step(step, one.map(|one| &before[one]), Some(other)));
        }
        for gone in pairing.gone(before.len()) {
            merged.extend(self.step(pairing.step(Some(gone), None), Some(&before[gone]), None));
        }
        merged
    }
}
