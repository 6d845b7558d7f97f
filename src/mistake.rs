//! Mistakes in files that people write, each with its place and what to do.

use std::fmt;

use serde_saphyr::{Error as YamlError, Location};

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

/// The mistake for which a file could not be read as YAML, or not as what it should be.
///
/// It says what was expected and never what is written there: the path may lead to a file that is not meant for us, and the
/// message to somebody who may not read that.
pub fn of_syntax(error: &YamlError) -> Mistake {
    let error = error.without_snippet();
    let location = error.location().unwrap_or(Location::UNKNOWN);
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            let mistake = Mistake::at(location, "unknown_key", "unknown key");
            mistake.hint(instead(field, expected, "keys"))
        }
        YamlError::DuplicateMappingKey { .. } => {
            Mistake::at(location, "syntax", "a key stands here that stands before already")
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            let mistake = Mistake::at(location, "unknown_word", "unknown word");
            mistake.hint(instead(variant, expected, "words"))
        }
        YamlError::SerdeMissingField { field, .. } => {
            Mistake::at(location, "missing_key", format!("the key `{field}` is missing"))
        }
        YamlError::SerdeInvalidType { unexpected, expected, .. }
        | YamlError::SerdeInvalidValue { unexpected, expected, .. } => {
            Mistake::at(location, "syntax", format!("found {}, expected {expected}", unquoted(unexpected)))
        }
        other => Mistake::at(location, "syntax", unquoted(without_place(&other.to_string()))),
    }
}

/// The first line of a message, without the place at its end, which is told otherwise.
fn without_place(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.split(" at line ").next().unwrap_or(line)
}

/// A message without what it quotes: all from the first quotation mark to the last.
fn unquoted(message: &str) -> String {
    let mark = |c: char| matches!(c, '"' | '\'' | '`' | '‘' | '’' | '“' | '”');
    let Some(start) = message.find(mark) else { return message.to_owned() };
    let rest = message.rsplit(mark).next().unwrap_or_default();
    format!("{}{}", message[..start].trim_end(), rest)
}

/// What may have been meant, or else all that there is.
pub fn instead(given: &str, candidates: &[&str], of: &str) -> String {
    match closest(given, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the {of} here are {}", candidates.join(", ")),
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
    let near = alike.map(|candidate| (distance(given, candidate), *candidate)).min()?;
    close(near.0).then_some(near.1)
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
