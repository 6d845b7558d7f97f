//! Why a text is no expression.

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (column {column})")]
pub struct ExpressionError {
    /// Where, in characters from 1.
    pub column: usize,
    /// Stable word for it: `bad_expression`, `bad_regex`, `too_long`, or `too_large`.
    pub code: &'static str,
    /// What is wrong and what was expected.
    pub message: String,
}
