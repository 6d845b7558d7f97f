//! Clusters as the catalog declares them.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};

use super::super::OPEN;
use super::super::context::Apply;
use super::environments;
use super::rows::{self, Table, text};
use crate::model::ClusterSpec;

const CLUSTER: Table = Table { name: "cluster_spec", key: "cluster_id", columns: &["region"] };

/// Makes a cluster what is declared of it, and settles what looks there.
pub(super) fn settle(at: &mut Apply<'_>, name: &str, spec: Option<&ClusterSpec>) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, name)?;
    let wanted = spec.map(|spec| vec![text(spec.region.as_str())]);
    if !rows::exchange(at, &CLUSTER, Value::Integer(cluster), wanted)? {
        return Ok(());
    }
    let sql = "SELECT DISTINCT environment_id FROM target WHERE cluster_id = ?1 ORDER BY 1";
    environments::settle_all(at, sql, cluster)
}

/// Where a cluster runs; empty when not known.
pub(super) fn region(at: &Apply<'_>, name: &str) -> rusqlite::Result<String> {
    let sql = "SELECT s.region FROM cluster c JOIN cluster_spec s ON s.cluster_id = c.id
        WHERE c.name = ?1 AND s.to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![name, OPEN], |row| row.get(0));
    Ok(found.optional()?.unwrap_or_default())
}
