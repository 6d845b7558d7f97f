//! The namespaces of a cluster where environments look, for whoever has to find out who may read there.

use rusqlite::named_params;
use serde::Serialize;

use crate::error::Result;
use crate::question::{Context, Question};

/// The namespaces of a cluster where environments look or looked, those of now first. It is for the server alone: to a scope
/// that does not see everything there are none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListTargetNamespaces {
    /// The name of the cluster.
    pub cluster: String,
    /// How many at most.
    pub limit: usize,
}

/// Places end with what retention forgets of their environments, and those that are not over end last.
const NAMESPACES: &str =
    "SELECT p.namespace FROM cluster c CROSS JOIN environment_place p ON p.cluster_id = c.id
    WHERE c.name = :cluster AND p.namespace <> ''
    GROUP BY p.namespace ORDER BY max(p.to_offset) DESC, p.namespace LIMIT :limit";

impl Question for ListTargetNamespaces {
    const NAME: &'static str = "target_namespaces";
    type Answer = Vec<String>;

    fn answer(&self, context: Context<'_>) -> Result<Vec<String>> {
        if !context.scope.is_everything() {
            return Ok(Vec::new());
        }
        let mut statement = context.view.prepare_cached(NAMESPACES)?;
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let params = named_params! { ":cluster": self.cluster, ":limit": limit };
        let rows = statement.query_map(params, |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
