//! Of which clusters an answer names the gaps.

use rusqlite::Connection;

use crate::error::Result;
use crate::scope::ResolvedScope;
use strandline_model::Offset;

/// Of which clusters an answer names the gaps.
pub(super) enum Concerns<'a> {
    /// Of all that the scope may see.
    Everything,
    /// Of those an environment looks at, by the view's number; of none while the scope may not read it.
    Environment(i64),
    /// Of one, by name.
    Cluster(&'a str),
}

impl Concerns<'_> {
    /// The view's number of the environment and the name of the cluster, where it is one.
    pub(super) fn as_sql(&self) -> (Option<i64>, Option<&str>) {
        match self {
            Concerns::Everything => (None, None),
            Concerns::Environment(id) => (Some(*id), None),
            Concerns::Cluster(name) => (None, Some(*name)),
        }
    }

    /// What `:scope` is bound to where a statement asks what concerns the answer: of one environment, not where else the
    /// scope looks.
    pub(super) fn scope(&self, view: &Connection, scope: &ResolvedScope, at: Offset) -> Result<Option<i64>> {
        Ok(match self {
            Concerns::Environment(_) => scope.as_sql(),
            Concerns::Everything | Concerns::Cluster(_) => scope.with_places(view, at)?,
        })
    }
}
