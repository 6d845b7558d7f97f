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

/// The candidate that a slip of the finger may have meant: at most a third of the longer of both is typed otherwise, not
/// counting capitals. Of less alike words none is a slip for the other, least of all of short ones, such as `eu` for `us`.
pub fn closest<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if given.len() > GIVEN_MAX {
        return None;
    }
    let (length, lower) = (given.chars().count(), given.to_lowercase());
    let distance = |candidate: &str| {
        let its_length = candidate.chars().count();
        let close = |distance: usize| distance * 3 <= length.max(its_length);
        // No distance is less than the difference of the lengths, which is told without comparing.
        let may_be_close = close(its_length.abs_diff(length));
        let distance = may_be_close.then(|| osa_distance(&lower, &candidate.to_lowercase()));
        distance.filter(|distance| close(*distance))
    };
    let alike = candidates.iter().filter_map(|candidate| Some((distance(candidate)?, *candidate)));
    alike.min().map(|(_, candidate)| candidate)
}

/// What a panic says of itself.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no panic message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_suggested_is_alike() {
        for (given, candidates, expected) in [
            ("uss", &["eu", "us"][..], Some("us")),
            ("eu", &["us", "ap"], None),
            ("x", &["us", "y"], None),
            ("prd", &["prod", "web"], Some("prod")),
            ("oen", &["one", "two"], Some("one")),
            ("staging", &["testing", "stating"], Some("stating")),
            ("degraded", &["Degraded", "Healthy"], Some("Degraded")),
            ("EU", &["eu", "us"], Some("eu")),
            ("web", &["api", "db"], None),
            ("spec", &["kind", "name"], None),
            ("namespcae", &["name", "namespace"], Some("namespace")),
            ("shop.web.prodction", &["shop.web.production", "shop.web.staging"], Some("shop.web.production")),
            ("", &["a", ""], Some("")),
            ("anything", &[], None),
        ] {
            assert_eq!(closest(given, candidates), expected, "{given}");
        }
    }
}
