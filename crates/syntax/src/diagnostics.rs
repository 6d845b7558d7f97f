//! Mistakes in files that people write, each with its place and what to do.

mod json;
mod regex;
mod words;
mod yaml;

use std::fmt;

use serde_saphyr::Location;
use strsim::osa_distance;

pub use json::{of_json, reason_of_json};
pub use regex::of_regex;
pub use yaml::of_syntax;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1; zero when not known.
    pub line: u64,
    /// Column, from 1; zero when not known.
    pub column: u64,
    /// Stable word for it.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Mistake {
    /// A mistake at a place.
    pub fn at(location: Location, code: &'static str, message: impl Into<String>) -> Self {
        Mistake {
            line: location.line(),
            column: location.column(),
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// Place, message, and what to do.
    pub fn with_hint(&self) -> String {
        self.hint.iter().fold(self.to_string(), |told, hint| format!("{told}; {hint}"))
    }

    /// With what to do.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Mistake { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// What may have been meant, or else all that there is.
pub fn instead(given: &str, candidates: &[&str], of: &str) -> String {
    match closest(given, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid {of} are {}", candidates.join(", ")),
    }
}

/// The longest text that anybody may have meant to be one of ours, in bytes; comparing takes the product of two lengths.
const GIVEN_MAX: usize = 512;

/// The candidate that a slip of the finger may have meant.
pub fn closest<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if given.len() > GIVEN_MAX {
        return None;
    }
    let close = |distance: usize| distance <= 2 || distance * 3 <= given.len();
    let length = given.chars().count();
    // No distance is less than the difference of the lengths, which is told without comparing.
    let alike = candidates.iter().filter(|candidate| close(candidate.chars().count().abs_diff(length)));
    let near = alike.map(|candidate| (osa_distance(given, candidate), *candidate)).min()?;
    close(near.0).then_some(near.1)
}

/// What a panic says of itself.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no panic message")
}
