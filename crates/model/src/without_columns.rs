//! Replaces `columns` where no column keeps these types.

/// Adds nothing without the feature `rusqlite`.
#[macro_export]
macro_rules! number_column {
    ($type:ident) => {};
}
