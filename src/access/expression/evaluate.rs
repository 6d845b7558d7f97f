//! What an expression gives for the variables of a job.

use super::super::Variables;
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

pub(super) fn evaluate<'a>(node: &'a Node, variables: &'a Variables) -> Result<Value<'a>, EvaluationError> {
    Ok(match node {
        // A regular expression stands only where `matches` takes it.
        Node::Null | Node::Pattern(_) => Value::Null,
        Node::Bool(value) => Value::Bool(*value),
        Node::Text(text) => Value::Text(text),
        Node::Variable(name) => variables.get(name).map_or(Value::Null, |value| Value::Text(value)),
        Node::Not(inner) => Value::Bool(!evaluate(inner, variables)?.is_present()),
        Node::And(left, right) => match evaluate(left, variables)? {
            left if left.is_truthy() => evaluate(right, variables)?,
            left => left,
        },
        Node::Or(left, right) => match evaluate(left, variables)? {
            left if left.is_truthy() => left,
            _ => evaluate(right, variables)?,
        },
        Node::Compare(left, comparison, right) => {
            let given = evaluate(left, variables)?;
            Value::Bool(match comparison {
                Comparison::Equal => given == evaluate(right, variables)?,
                Comparison::NotEqual => given != evaluate(right, variables)?,
                Comparison::Matches => matches(given, right, variables)?,
                Comparison::NotMatches => !matches(given, right, variables)?,
            })
        }
    })
}

/// Whether a value matches what stands to its right.
///
/// Null to the right matches nothing. A text there that does not look like a regular expression is asked, as GitLab's
/// `scan` does, whether it contains the left side.
fn matches(given: Value<'_>, right: &Node, variables: &Variables) -> Result<bool, EvaluationError> {
    let subject = match given {
        Value::Null => "",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Text(text) => text,
    };
    if subject.len() > MAX_SUBJECT {
        let message =
            format!("a value of more than {MAX_SUBJECT} bytes is not matched with a regular expression");
        return Err(EvaluationError { code: "value_too_long", message });
    }
    if let Node::Pattern(pattern) = right {
        return Ok(pattern.is_match(subject));
    }
    match evaluate(right, variables)? {
        Value::Null | Value::Bool(false) => Ok(false),
        Value::Bool(true) => Ok("true".contains(subject)),
        Value::Text(text) => match pattern::split(text) {
            None => Ok(text.contains(subject)),
            Some((body, flags)) => {
                let pattern = Pattern::new(body, flags).map_err(|error| bad_regex(right, &error))?;
                Ok(pattern.is_match(subject))
            }
        },
    }
}

fn bad_regex(right: &Node, error: &str) -> EvaluationError {
    let whose = match right {
        Node::Variable(name) => format!("the value of ${name}"),
        _ => "what stands to the right of `=~` or `!~`".to_owned(),
    };
    EvaluationError { code: "bad_regex", message: format!("{whose} is not a regular expression: {error}") }
}
