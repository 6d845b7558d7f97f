//! Objects of which operators want no content recorded.

use strandline_model::{Kind, KindPattern};

/// Objects that are treated as Secrets are: what they are called stays, every value is a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Of which kind.
    pub kind: KindPattern,
    /// In which namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// Of which names; empty for all.
    pub names: Vec<String>,
}

impl LeftOut {
    /// Whether an object is meant.
    pub fn matches(&self, kind: &Kind, namespace: &str, name: &str) -> bool {
        let among = |list: &[String], one: &str| list.is_empty() || list.iter().any(|other| other == one);
        self.kind.matches(kind) && among(&self.namespaces, namespace) && among(&self.names, name)
    }
}
