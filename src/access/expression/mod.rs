//! The expressions of GitLab's `rules:if`.
//!
//! Operands are `$VAR`, `"text"`, `'text'`, `null`, `true` and `false`; operators are `==`, `!=`, `=~`, `!~`, which bind
//! strongest, then `&&`, then `||`, and `!` before an operand; parentheses group. To the right of `=~` and `!~` stands
//! `/regex/flags`, or anything whose value is such a text. A bare name to the right of a comparison is the variable of
//! that name: seed 004 writes `$CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH`.
//!
//! Source: GitLab's documentation of `rules:if` and its `Gitlab::Ci::Pipeline::Expression`. Values are Ruby's: only
//! null and false are untrue inside `&&` and `||`, which give one of their sides; the whole is true when what it gives
//! is neither null, false nor blank. There are no escapes in texts, and variables in them are not expanded.

mod evaluate;
mod lexer;
mod parser;
mod pattern;

#[cfg(test)]
mod tests;

pub use evaluate::{EvaluationError, Value};
pub use parser::Remark;

use self::evaluate::Evaluation;
use self::parser::Node;
use super::Variables;

/// The longest expression, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;

/// The most tokens of an expression. GitLab allows 99.
pub const MAX_TOKENS: usize = 1000;

/// How many bytes the expressions of one question may match with regular expressions.
pub const MAX_MATCHED_BYTES: usize = 1024 * 1024;

/// How deep parentheses and `!` may be nested.
pub const MAX_DEPTH: usize = 50;

/// An expression that was found to be sound.
#[derive(Clone, Debug)]
pub struct Expression {
    root: Node,
    remarks: Vec<Remark>,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (column {column})")]
pub struct ExpressionError {
    /// Where, in characters from 1.
    pub column: usize,
    /// Stable word for it: `bad_expression`, `bad_regex`, or `too_long`.
    pub code: &'static str,
    /// What is wrong and what was expected.
    pub message: String,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// With the first thing that does not belong where it stands.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let tokens = lexer::tokens(text)?;
        let (root, remarks) = parser::parse(&tokens, text.trim_end().chars().count() + 1)?;
        Ok(Expression { root, remarks })
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
    /// `left` says how many bytes may still be matched with regular expressions, and is lowered by those that were:
    /// [`MAX_MATCHED_BYTES`] for all expressions that one question asks.
    ///
    /// # Errors
    /// When a variable's value looks like a regular expression and is none, or too much would be matched.
    pub fn evaluate<'a>(
        &'a self,
        variables: &'a Variables,
        left: &mut usize,
    ) -> Result<Value<'a>, EvaluationError> {
        Evaluation { variables, left }.of(&self.root)
    }

    /// Whether it gives something else than null, false and a blank text.
    ///
    /// # Errors
    /// Those of [`Expression::evaluate`].
    pub fn is_true(&self, variables: &Variables, left: &mut usize) -> Result<bool, EvaluationError> {
        Ok(self.evaluate(variables, left)?.is_present())
    }
}
