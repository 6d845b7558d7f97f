//! A script that judges the health of a kind.

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// The rule's name in verdicts, such as `lua/cert-manager.io/Certificate`.
    pub(super) rule: String,
    /// Where it is, such as `cert-manager.io/Certificate/health.lua`.
    pub(super) origin: String,
    /// The script itself.
    pub(super) text: String,
}
