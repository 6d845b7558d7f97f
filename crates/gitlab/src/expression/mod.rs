//! The expressions of GitLab's `rules:if`.
//!
//! Operands are `$VAR`, `"text"`, `'text'`, `null`, `true` and `false`; operators are `==`, `!=`, `=~`, `!~`, which bind
//! strongest, then `&&`, then `||`, and `!` before an operand; parentheses group. To the right of `=~` and `!~` is
//! `/regex/flags`, or anything whose value is such a text. A bare name to the right of a comparison is the variable of
//! that name: seed 004 writes `$CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH`.
//!
//! Source: GitLab's documentation of `rules:if` and its `Gitlab::Ci::Pipeline::Expression`. Values are Ruby's: only
//! null and false are untrue inside `&&` and `||`, which give one of their sides; the whole is true when what it gives
//! is neither null, false nor blank. There are no escapes in texts, and variables in them are not expanded.

mod error;
mod evaluate;
mod lexer;
mod limits;
mod parser;
mod pattern;

#[cfg(test)]
mod tests;

pub use error::ExpressionError;
pub use evaluate::{Effort, EvaluationError, Value};
pub use limits::{MAX_BYTES, MAX_COMPILED_BYTES, MAX_DEPTH, MAX_MATCHED_BYTES, MAX_TOKENS};
pub use parser::Remark;

use self::evaluate::Evaluation;
use self::parser::Node;
use crate::variables::Variables;

/// An expression that was found to be sound.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Node,
    remarks: Vec<Remark>,
}

/// What it says follows from its text.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Expression {}

impl Expression {
    /// Reads an expression. `room` says how many bytes its regular expressions may take once they are compiled, and is
    /// lowered by what they took: [`MAX_COMPILED_BYTES`] for all expressions of one file.
    ///
    /// # Errors
    /// With the first thing that does not belong where it is, or is too large.
    pub fn parse(text: &str, room: &mut usize) -> Result<Self, ExpressionError> {
        let tokens = lexer::tokens(text)?;
        let (root, remarks) = parser::parse(&tokens, text.trim_end().chars().count() + 1, room)?;
        Ok(Expression { text: text.to_owned(), root, remarks })
    }

    /// What is odd about it without being wrong.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Names of the variables that it reads, each once, in the order of the alphabet.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What it gives; variables that are not set are null.
    ///
    /// `effort` is what all expressions of one question may still cost.
    ///
    /// # Errors
    /// When a variable's value looks like a regular expression and is none, or too much would be matched.
    pub fn evaluate<'a>(
        &'a self,
        variables: &'a Variables,
        effort: &mut Effort,
    ) -> Result<Value<'a>, EvaluationError> {
        Evaluation { variables, effort }.of(&self.root)
    }

    /// Whether it gives something else than null, false and a blank text.
    ///
    /// # Errors
    /// Those of [`Expression::evaluate`].
    pub fn is_true(&self, variables: &Variables, effort: &mut Effort) -> Result<bool, EvaluationError> {
        Ok(self.evaluate(variables, effort)?.is_present())
    }
}
