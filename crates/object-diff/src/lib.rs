//! What differs between two states of an object, or between two objects.
//!
//! Objects are compared by their structure: members by name, elements of lists by what tells them apart, so that a
//! container that is put first does not make all others differ. Each difference has a path for people and a pointer
//! for programs, and a [`Class`]; what of all that is told, a [`Lens`] says. Nothing here is cut without being counted.
//!
//! [`compare`] is for reading; [`patch`] gives the operations that make the one state the other.
//!
//! Why: docs/decisions/0023-differences-by-structure-patches-by-position.md.

#![warn(missing_docs)]

mod align;
mod cursor;
mod excerpt;
mod keys;
mod lens;
mod letters;
mod merge;
mod names;
mod pair;
mod patch;
mod path;
mod rule;
mod summary;
#[cfg(test)]
mod tests;
mod text;
mod walk;

pub use lens::{Between, Class, Lens};
pub use letters::{Span, letters, whole};
pub use names::{NameMap, NameMapping, NamePair};
pub use patch::{Operation, patch};
pub use path::ElementKey;
pub use rule::PathRule;
pub use summary::one_line;
pub use text::{Line, Mark, lines};
pub use walk::compare;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What of an object lies deeper is compared as a whole.
const DEPTH_MAX: usize = 96;

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Where, for people: `spec.template.spec.containers[name=web].image`; a rule of this text ignores it.
    pub path: String,
    /// Where, as RFC 6901 has it: in the later state, or for what was removed in the earlier one.
    pub pointer: String,
    /// What happened there.
    #[serde(rename = "type")]
    pub change: DifferenceType,
    /// What it concerns.
    pub class: Class,
    /// The earlier value; absent for what was added. Of what moved, its place from 0.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The later value; absent for what was removed. Of what moved, its place from 0.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Whether the values are too long to be told whole: then both are texts around what differs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excerpt: bool,
}

/// What happened at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceType {
    /// Only the later state has it.
    Added,
    /// Only the earlier state has it.
    Removed,
    /// Both have it, with other values.
    Changed,
    /// An element of a list whose order counts has another place among those that stayed.
    Moved,
}

/// All that differs, as far as it is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The differences: of the spec, then of metadata, of status, and noise.
    pub differences: Vec<Difference>,
    /// Differences that would be told but are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Differences that were not asked for.
    #[serde(default, skip_serializing_if = "Hidden::is_empty")]
    pub hidden: Hidden,
}

impl Comparison {
    /// The most differences that one comparison tells.
    pub const MAX: usize = 1000;

    /// Whether there is nothing to be told.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty() && self.left_out == 0
    }

    /// Keeps the first of the differences, so many and of so many bytes of values; the rest is counted as left out.
    pub fn keep(&mut self, differences: usize, mut bytes: usize) {
        let fits = |difference: &&Difference| {
            let sides = [&difference.before, &difference.after].into_iter().flatten();
            let size = sides.map(|value| value.to_string().len()).sum();
            bytes.checked_sub(size).inspect(|left| bytes = *left).is_some()
        };
        let kept = self.differences.iter().take(differences).take_while(fits).count();
        self.left_out += (self.differences.len() - kept) as u64;
        self.differences.truncate(kept);
    }
}

/// Differences that were not asked for, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Of metadata.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub metadata: u64,
    /// Of status.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub status: u64,
    /// Noise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub noise: u64,
    /// What a rule names.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignored: u64,
    /// Texts that are the same but for names that stand for each other, in what was asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renamed: u64,
}

impl Hidden {
    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        *self == Hidden::default()
    }

    /// With what something else hides.
    pub fn add(&mut self, other: Hidden) {
        self.metadata += other.metadata;
        self.status += other.status;
        self.noise += other.noise;
        self.ignored += other.ignored;
        self.renamed += other.renamed;
    }

    fn count(&mut self, class: Class) {
        match class {
            // The spec is always told.
            Class::Spec => {}
            Class::Metadata => self.metadata += 1,
            Class::Status => self.status += 1,
            Class::Noise => self.noise += 1,
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Reads a member that is there, be it `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What the first page of the crate shows, which has to be true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FirstPage;
