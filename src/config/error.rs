//! Mistakes in a configuration, each with its place and what to do.

use std::fmt;
use std::path::PathBuf;

use serde_saphyr::{Error as YamlError, Location};
use thiserror::Error;

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file says something that cannot be meant.
    #[error("{}", shown(path, mistakes))]
    Mistakes {
        /// The file.
        path: PathBuf,
        /// All that were found, in the order of the file.
        mistakes: Vec<Mistake>,
    },
}

impl ConfigError {
    /// What to do about it; with several mistakes, about the first that has a hint.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Unreadable { .. } => Some("name the file with --config".to_owned()),
            ConfigError::Mistakes { mistakes, .. } => {
                mistakes.iter().find_map(|mistake| mistake.hint.clone())
            }
        }
    }
}

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
    pub(super) fn at(location: Location, code: &'static str, message: impl Into<String>) -> Self {
        Mistake {
            line: location.line(),
            column: location.column(),
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Mistake { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

fn shown(path: &std::path::Path, mistakes: &[Mistake]) -> String {
    let lines = mistakes.iter().map(|mistake| format!("{}:{mistake}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}

/// A mistake that was met while reading the file.
pub(super) fn of_syntax(error: &YamlError) -> Mistake {
    let error = error.without_snippet();
    let location = error.location().unwrap_or(Location::UNKNOWN);
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            let mistake = Mistake::at(location, "unknown_key", format!("unknown key `{field}`"));
            match closest(field, expected) {
                Some(near) => mistake.hint(format!("did you mean `{near}`?")),
                None => mistake.hint(format!("the keys here are {}", expected.join(", "))),
            }
        }
        YamlError::SerdeMissingField { field, .. } => {
            Mistake::at(location, "missing_key", format!("the key `{field}` is missing"))
        }
        other => Mistake::at(location, "syntax", first_line(&other.to_string())),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The candidate that a slip of the finger may have meant.
pub(super) fn closest<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let near = candidates.iter().map(|candidate| (distance(given, candidate), *candidate)).min()?;
    (near.0 <= 2 || near.0 * 3 <= given.len()).then_some(near.1)
}

/// How many letters have to be added, removed, changed or swapped with their neighbour.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=two.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut cost = (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                cost = cost.min(rows[i - 1][j - 1] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
    }
    rows[one.len()][two.len()]
}
