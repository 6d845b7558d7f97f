//! Clusters as the catalog declares them.

use rusqlite::types::Value;

use super::super::context::Apply;
use super::super::regions;
use super::environments;
use super::rows::{self, Table, text};
use strandline_model::ClusterSpec;

const CLUSTER: Table = Table { name: "cluster_spec", key: "cluster_id", columns: &["region"] };

/// Makes a cluster what is declared of it, and settles what looks there.
pub(super) fn settle(at: &mut Apply<'_>, name: &str, spec: Option<&ClusterSpec>) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, name)?;
    let before = regions::cluster_region(at, cluster)?;
    let wanted = spec.map(|spec| vec![text(spec.region.as_str())]);
    rows::exchange(at, &CLUSTER, Value::Integer(cluster), wanted)?;
    regions::settle(at, cluster, before)
}

/// A cluster is in another region from here on, and so may be what looks there.
pub(crate) fn moved(at: &mut Apply<'_>, cluster: i64) -> rusqlite::Result<()> {
    let sql = "SELECT name FROM cluster WHERE id = ?1";
    let name: String = at.connection.prepare_cached(sql)?.query_row([cluster], |row| row.get(0))?;
    environments::settle_upon(at, "cluster", &name)
}

/// Where a cluster runs; empty when not known.
pub(super) fn region(at: &mut Apply<'_>, name: &str) -> rusqlite::Result<String> {
    let cluster = at.ids.cluster(at.connection, name)?;
    Ok(regions::cluster_region(at, cluster)?.unwrap_or_default())
}
