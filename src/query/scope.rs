//! What a caller may see.

use std::collections::BTreeSet;

/// What a caller may see; every query takes one and puts it into its SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    projects: Option<BTreeSet<String>>,
}

impl Scope {
    /// Sees everything.
    pub fn everything() -> Self {
        Scope { projects: None }
    }

    /// Sees the environments of these projects, with their resources and clusters, and nothing else.
    pub fn projects(paths: impl IntoIterator<Item = String>) -> Self {
        Scope { projects: Some(paths.into_iter().collect()) }
    }

    /// The allowed projects as a JSON array for `json_each`, or NULL for all.
    pub(super) fn as_sql(&self) -> Option<String> {
        self.projects.as_ref().map(|paths| serde_json::json!(paths).to_string())
    }
}
