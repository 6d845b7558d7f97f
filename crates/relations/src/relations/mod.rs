//! Edges by rules that users write: for kinds that nobody here knows, and conventions of their own.
//!
//! A relation says which objects carry a link, where in them it stands, and what stands at its other end. The format
//! of the file is described in `docs/relations.md`.

mod check;
mod file;
mod relation;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use self::relation::Relation;
use super::told::Told;
use strandline_object::Object;
use strandline_object::json::Budget;
use strandline_syntax::diagnostics::{Mistake, of_syntax};

/// The longest file of relations that is read, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The most relations that a file may hold.
pub const MAX_RELATIONS: usize = 1000;

/// How many values of an object one relation may look at, and how many all of them together.
const EACH: usize = 50_000;
const TOGETHER: usize = 200_000;

/// Relations that were found to be sound; none by default. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Relations {
    rules: Arc<Rules>,
}

/// Why a file of relations cannot be used: every mistake in it, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationError {
    /// At least one.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for RelationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.mistakes.iter().map(Mistake::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for RelationError {}

#[derive(Debug, Default)]
struct Rules {
    all: Vec<Relation>,
    /// Those for objects of a kind by its name, those for any kind among them.
    by_kind: HashMap<String, Vec<usize>>,
    /// Those for any kind.
    any_kind: Vec<usize>,
    /// What the file says, without its layout; empty where there is no relation.
    canonical: String,
}

impl Relations {
    /// Reads relations from YAML.
    ///
    /// # Errors
    /// With every mistake: unknown keys and words, paths and patterns that are none, no or several ways to the target.
    pub fn parse(yaml: &str) -> Result<Self, RelationError> {
        let failed = |mistakes| RelationError { mistakes };
        if yaml.len() > MAX_BYTES {
            let message = format!("the file is longer than {MAX_BYTES} bytes");
            return Err(failed(vec![Mistake::at(serde_saphyr::Location::UNKNOWN, "too_long", message)]));
        }
        // Comments alone are no mistake.
        let file: Option<file::File> =
            serde_saphyr::from_str(yaml).map_err(|error| failed(vec![of_syntax(&error)]))?;
        let entries = file.map(|file| file.relations).unwrap_or_default();
        let all = check::check(&entries).map_err(failed)?;
        let canonical = if entries.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&entries).unwrap_or_default()
        };
        Ok(Relations { rules: Arc::new(Rules::new(all, canonical)) })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.all.is_empty()
    }

    /// Tells relations that say something else from these; comments and layout say nothing.
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(self.rules.canonical.as_bytes()).as_bytes()
    }

    /// What the relations find in an object, in their order.
    pub(super) fn tell(&self, told: &mut Told, object: &Object<'_>) {
        let relations = self.of(object);
        if relations.is_empty() {
            return;
        }
        let root = root(object, &relations);
        let mut left = TOGETHER;
        for relation in relations {
            let given = left.min(EACH);
            let mut budget = Budget(given);
            relation.tell(told, object, &root, &mut budget);
            left -= given - budget.0;
        }
    }

    /// The relations that objects such as this one carry.
    fn of(&self, object: &Object<'_>) -> Vec<&Relation> {
        let places = self.rules.by_kind.get(&*object.kind).unwrap_or(&self.rules.any_kind);
        let relations = places.iter().filter_map(|place| self.rules.all.get(*place));
        relations.filter(|relation| relation.concerns(object.group(), &object.kind)).collect()
    }
}

impl Rules {
    fn new(all: Vec<Relation>, canonical: String) -> Self {
        let any_kind = (0..).zip(&all).filter(|(_, one)| one.kind().is_none()).map(|(place, _)| place);
        let any_kind: Vec<usize> = any_kind.collect();
        let mut by_kind: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, relation) in all.iter().enumerate() {
            if let Some(kind) = relation.kind() {
                by_kind.entry(kind.to_owned()).or_insert_with(|| any_kind.clone()).push(place);
            }
        }
        by_kind.values_mut().for_each(|places| places.sort_unstable());
        Rules { all, by_kind, any_kind, canonical }
    }
}

/// As much of an object as the relations look into.
fn root(object: &Object<'_>, relations: &[&Relation]) -> Value {
    let mut wanted = Vec::new();
    let mut everything = false;
    for path in relations.iter().flat_map(|relation| relation.paths()) {
        match path.fields() {
            Some(fields) => wanted.extend(fields),
            None => everything = true,
        }
    }
    let fields = object.fields().filter(|(name, _)| everything || wanted.contains(name));
    let parsed = fields.map(|(name, text)| (name.to_owned(), serde_json::from_str(text).unwrap_or_default()));
    Value::Object(parsed.collect::<Map<_, _>>())
}
