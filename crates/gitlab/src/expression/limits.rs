//! How large an expression may be, and what it may cost.

/// The longest expression, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;

/// The most tokens of an expression. GitLab allows 99.
pub const MAX_TOKENS: usize = 1000;

/// What the regular expressions of one file may take together once they are compiled, in bytes.
pub const MAX_COMPILED_BYTES: usize = 4 * 1024 * 1024;

/// How many bytes the expressions of one question may match with regular expressions; those of a larger program count
/// several times (see [`Effort`](super::Effort)).
pub const MAX_MATCHED_BYTES: usize = 1024 * 1024;

/// How deep parentheses and `!` may be nested.
pub const MAX_DEPTH: usize = 50;
