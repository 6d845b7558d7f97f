//! How far an erasure has come.

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseStep {
    /// So many of so many changes were looked at.
    Looked(u64, u64),
    /// All is written and not yet durable.
    Written,
    /// No change holds the values any more; free pages may.
    Erased,
    /// The log is copied.
    Copied,
    /// The copy has replaced it.
    Replaced,
}
