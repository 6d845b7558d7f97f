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

    /// Sees the environments of these projects with their resources while they belong to them, the clusters and
    /// namespaces they look at, and nothing else; only offsets and the lag count changes of others.
    pub fn projects(paths: impl IntoIterator<Item = String>) -> Self {
        Scope { projects: Some(paths.into_iter().collect()) }
    }

    /// Whether nothing is hidden from it.
    pub(super) fn is_everything(&self) -> bool {
        self.projects.is_none()
    }

    /// The allowed projects as a JSON array for `json_each`, or NULL for all.
    pub(super) fn as_sql(&self) -> Option<String> {
        self.projects.as_ref().map(|paths| serde_json::json!(paths).to_string())
    }
}

/// SQL that holds where `:scope` looks, at `:at`: at a cluster `c` or, as `looked_at!(namespace)`, at what a row of
/// coverage `g` tells of it, which is the scope's where it speaks of all namespaces or of one that the scope looks at.
///
/// A scope looks where the targets of its projects' environments are: into all namespaces, where a target names none.
macro_rules! looked_at {
    (cluster) => {
        looked_at!(@ "")
    };
    (namespace) => {
        looked_at!(@ " AND (g.namespace IN ('', t.value ->> '$.namespace') OR t.value ->> '$.namespace' = '')")
    };
    (@ $narrower:literal) => {
        concat!(
            "(:scope IS NULL OR EXISTS (SELECT 1 FROM environment e, json_each(e.targets) t
                WHERE e.from_offset <= :at AND e.to_offset > :at AND t.value ->> '$.cluster' = c.name",
            $narrower,
            " AND e.project IN (SELECT value FROM json_each(:scope))))"
        )
    };
}
pub(super) use looked_at;

/// SQL that holds where the resource `r` is in sight of `:scope` at `:at`: it belongs to one of its environments.
macro_rules! in_sight {
    () => {
        "(:scope IS NULL OR EXISTS (SELECT 1 FROM membership m JOIN environment e ON e.id = m.environment_id
            WHERE m.resource_id = r.id AND m.from_offset <= :at AND m.to_offset > :at
                AND e.from_offset <= :at AND e.to_offset > :at
                AND e.project IN (SELECT value FROM json_each(:scope))))"
    };
}
pub(super) use in_sight;

/// A filter's values as a JSON array for `json_each`, or NULL where the filter is not set.
pub(super) fn one_of<'a, T, V: serde::Serialize>(
    values: &'a [T],
    value: impl Fn(&'a T) -> V,
) -> Option<String> {
    let list: Vec<serde_json::Value> = values.iter().map(|item| serde_json::json!(value(item))).collect();
    (!list.is_empty()).then(|| serde_json::Value::Array(list).to_string())
}
