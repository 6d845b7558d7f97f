//! What an expression gives for the variables of a job.

use std::collections::HashMap;

use super::lexer::Comparison;
use super::limits::MAX_MATCHED_BYTES;
use super::parser::Node;
use super::pattern::{self, Pattern, PatternError};
use crate::variables::Variables;

/// The longest text that is matched with a regular expression, in bytes.
const MAX_SUBJECT: usize = 64 * 1024;

/// What the regular expressions in the values of variables may take together once they are compiled, in bytes.
const MAX_GIVEN_BYTES: usize = 1024 * 1024;

/// A byte that is matched counts once for each that many bytes of the program: so much of it may be looked at for a byte.
const PROGRAM_STEP: usize = 4096;

/// What beginning to match costs, in bytes that are matched.
const BEGIN_BYTES: usize = 16;

/// What the expressions of one question may still cost.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Bytes that may still be matched.
    left: usize,
    /// Bytes that regular expressions in values may still take.
    room: usize,
    /// Those that were compiled, by the value.
    given: HashMap<String, Pattern>,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { left: MAX_MATCHED_BYTES, room: MAX_GIVEN_BYTES, given: HashMap::new() }
    }
}

impl Effort {
    /// Where only so many bytes may be matched.
    #[cfg(test)]
    pub(super) fn of(left: usize) -> Self {
        Effort { left, ..Effort::default() }
    }

    fn search(&mut self, pattern: &Pattern, subject: &str) -> Result<bool, EvaluationError> {
        let cost = (subject.len() + BEGIN_BYTES) * pattern.size().div_ceil(PROGRAM_STEP).max(1);
        let left = self.left.checked_sub(cost).filter(|_| subject.len() <= MAX_SUBJECT);
        let Some(left) = left else {
            let message = format!(
                "regular expressions match too much text: the limit is {MAX_SUBJECT} bytes per match and {MAX_MATCHED_BYTES} \
                 in total, each byte counted once per {PROGRAM_STEP} bytes of the compiled expression"
            );
            return Err(EvaluationError { code: "value_too_long", message });
        };
        self.left = left;
        Ok(pattern.is_match(subject))
    }

    /// The regular expression that a value holds.
    fn given(&mut self, value: &str, body: &str, flags: &str) -> Result<Pattern, PatternError> {
        if let Some(known) = self.given.get(value) {
            return Ok(known.clone());
        }
        let pattern = Pattern::new(body, flags, &mut self.room)?;
        self.given.insert(value.to_owned(), pattern.clone());
        Ok(pattern)
    }
}

/// What a part of an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing: `null`, or a variable that is not set.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(&'a str),
}

impl Value<'_> {
    /// Whether `&&` and `||` take it for true: everything but null and false, an empty text too.
    fn is_truthy(self) -> bool {
        !matches!(self, Value::Null | Value::Bool(false))
    }

    /// Whether a whole expression that gives it is true: not null, not false, not blank.
    pub fn is_present(self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => value,
            Value::Text(text) => !text.trim().is_empty(),
        }
    }
}

/// Why an expression gives nothing for these variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvaluationError {
    /// Stable word for it: `bad_regex` or `value_too_long`.
    pub code: &'static str,
    /// What is wrong with which value.
    pub message: String,
}

/// One evaluation: what it may read, and what it may cost.
pub(super) struct Evaluation<'v, 'e> {
    pub(super) variables: &'v Variables,
    pub(super) effort: &'e mut Effort,
}

impl<'v> Evaluation<'v, '_> {
    /// What a part of an expression gives.
    pub(super) fn of<'a>(&mut self, node: &'a Node) -> Result<Value<'a>, EvaluationError>
    where
        'v: 'a,
    {
        Ok(match node {
            // A regular expression is only where `matches` takes it.
            Node::Null | Node::Pattern(_) => Value::Null,
            Node::Bool(value) => Value::Bool(*value),
            Node::Text(text) => Value::Text(text),
            Node::Variable(name) => self.variables.get(name).map_or(Value::Null, |value| Value::Text(value)),
            Node::Not(inner) => Value::Bool(!self.of(inner)?.is_present()),
            Node::And(left, right) => match self.of(left)? {
                left if left.is_truthy() => self.of(right)?,
                left => left,
            },
            Node::Or(left, right) => match self.of(left)? {
                left if left.is_truthy() => left,
                _ => self.of(right)?,
            },
            Node::Compare(left, comparison, right) => {
                let given = self.of(left)?;
                Value::Bool(match comparison {
                    Comparison::Equal => given == self.of(right)?,
                    Comparison::NotEqual => given != self.of(right)?,
                    Comparison::Matches => self.matches(given, right)?,
                    Comparison::NotMatches => !self.matches(given, right)?,
                })
            }
        })
    }

    /// Whether a value matches what is to its right.
    ///
    /// Null to the right matches nothing. A text there that does not look like a regular expression is asked, as
    /// GitLab's `scan` does, whether it contains the left side.
    fn matches(&mut self, given: Value<'_>, right: &Node) -> Result<bool, EvaluationError> {
        let subject = match given {
            Value::Null => "",
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            Value::Text(text) => text,
        };
        if let Node::Pattern(pattern) = right {
            return self.effort.search(pattern, subject);
        }
        match self.of(right)? {
            Value::Null | Value::Bool(false) => Ok(false),
            Value::Bool(true) => Ok("true".contains(subject)),
            Value::Text(text) => match pattern::split(text) {
                None => Ok(text.contains(subject)),
                Some((body, flags)) => {
                    let given = self.effort.given(text, body, flags);
                    let pattern = given.map_err(|error| refused(right, error))?;
                    self.effort.search(&pattern, subject)
                }
            },
        }
    }
}

fn refused(right: &Node, error: PatternError) -> EvaluationError {
    let whose = match right {
        Node::Variable(name) => format!("the value of ${name}"),
        _ => "the right side of `=~` or `!~`".to_owned(),
    };
    match error {
        PatternError::Bad(error) => {
            let message = format!("{whose} is not a regular expression: {error}");
            EvaluationError { code: "bad_regex", message }
        }
        PatternError::NoRoom => {
            let message = format!(
                "{whose} is too large a regular expression: the limit for those in values is {MAX_GIVEN_BYTES} bytes \
                 in total, compiled"
            );
            EvaluationError { code: "value_too_long", message }
        }
    }
}
