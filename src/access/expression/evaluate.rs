//! What an expression gives for the variables of a job.

use super::super::Variables;
use super::MAX_MATCHED_BYTES;
use super::lexer::Comparison;
use super::parser::Node;
use super::pattern::{self, Pattern};

/// The longest text that is matched with a regular expression, in bytes.
const MAX_SUBJECT: usize = 64 * 1024;

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

/// One evaluation: what it may read, and how much it may still match.
pub(super) struct Evaluation<'v, 'l> {
    pub(super) variables: &'v Variables,
    pub(super) left: &'l mut usize,
}

impl<'v> Evaluation<'v, '_> {
    /// What a part of an expression gives.
    pub(super) fn of<'a>(&mut self, node: &'a Node) -> Result<Value<'a>, EvaluationError>
    where
        'v: 'a,
    {
        Ok(match node {
            // A regular expression stands only where `matches` takes it.
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

    /// Whether a value matches what stands to its right.
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
            return self.search(pattern, subject);
        }
        match self.of(right)? {
            Value::Null | Value::Bool(false) => Ok(false),
            Value::Bool(true) => Ok("true".contains(subject)),
            Value::Text(text) => match pattern::split(text) {
                None => Ok(text.contains(subject)),
                Some((body, flags)) => {
                    let pattern = Pattern::new(body, flags).map_err(|error| bad_regex(right, &error))?;
                    self.search(&pattern, subject)
                }
            },
        }
    }

    fn search(&mut self, pattern: &Pattern, subject: &str) -> Result<bool, EvaluationError> {
        let left = self.left.checked_sub(subject.len()).filter(|_| subject.len() <= MAX_SUBJECT);
        let Some(left) = left else {
            let message = format!(
                "too much is matched with regular expressions: {MAX_SUBJECT} bytes at once and {MAX_MATCHED_BYTES} \
                 together are allowed"
            );
            return Err(EvaluationError { code: "value_too_long", message });
        };
        *self.left = left;
        Ok(pattern.is_match(subject))
    }
}

fn bad_regex(right: &Node, error: &str) -> EvaluationError {
    let whose = match right {
        Node::Variable(name) => format!("the value of ${name}"),
        _ => "what stands to the right of `=~` or `!~`".to_owned(),
    };
    EvaluationError { code: "bad_regex", message: format!("{whose} is not a regular expression: {error}") }
}
