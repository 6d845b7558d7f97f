//! Clusters, and the regions where they run: as the catalog declares them, else as their Nodes are labelled.
//!
//! A Node's label counts only where no region is configured, and only while all Nodes that have one agree. The region of
//! each Node is a row of its own: whether they agree is asked at both ends of an index, not of thousands of Nodes.

use rusqlite::{OptionalExtension, params};

use super::super::columns::OPEN;
use super::super::context::Apply;
use super::environments;
use super::facts::region_of_cluster;
use super::rows::Table;
use strandline_model::{ClusterSpec, ResourceId};
use strandline_object::Object;

const CLUSTER: Table = Table {
    is_same: "SELECT region IS ?4
        FROM cluster_spec WHERE cluster_id = ?1 AND to_offset = ?3",
    close: "UPDATE cluster_spec SET to_offset = ?2 WHERE cluster_id = ?1 AND to_offset = ?3",
    open: "INSERT OR REPLACE INTO cluster_spec
            (cluster_id, from_offset, to_offset, region)
        VALUES (?1, ?2, ?3, ?4)",
};

/// The labels in which cloud providers put a Node's region, the present one before the one that was deprecated with
/// Kubernetes 1.17; from Kubernetes' reference of well-known labels.
const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];

/// Makes a cluster what is declared of it, and settles what looks there.
pub(super) fn settle(at: &mut Apply<'_>, name: &str, spec: Option<&ClusterSpec>) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, name)?;
    let before = region_of_cluster(at, cluster)?;
    match spec {
        Some(spec) => CLUSTER.replace(at, &cluster, Some(params![spec.region]))?,
        None => CLUSTER.replace(at, &cluster, None)?,
    };
    settle_dependents(at, cluster, before)
}

/// Applies the region of a resource if it is a Node; what is gone, or cannot be read, has none.
pub(super) fn declare_node(
    at: &mut Apply<'_>,
    id: ResourceId,
    object: Option<&Object<'_>>,
) -> rusqlite::Result<()> {
    if object.is_some_and(|object| !is_node(object)) {
        return Ok(());
    }
    let sql = "SELECT region FROM node_region WHERE resource_id = ?1";
    let before: Option<String> =
        at.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
    let after = object.and_then(region_of_node);
    if before.as_deref() == after {
        return Ok(());
    }
    let cluster: i64 = {
        let sql = "SELECT cluster_id FROM resource WHERE id = ?1";
        at.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?
    };
    at.connection.prepare_cached("DELETE FROM node_region WHERE resource_id = ?1")?.execute([id])?;
    if let Some(region) = after {
        let sql = "INSERT INTO node_region (resource_id, cluster_id, region) VALUES (?1, ?2, ?3)";
        at.connection.prepare_cached(sql)?.execute(params![id, cluster, region])?;
    }
    let before = region_of_cluster(at, cluster)?;
    agree(at, cluster)?;
    settle_dependents(at, cluster, before)
}

/// Whether an object is a Node, which may have a region.
pub(super) fn is_node(object: &Object<'_>) -> bool {
    object.api_version == "v1" && object.kind == "Node"
}

fn region_of_node<'o>(node: &'o Object<'_>) -> Option<&'o str> {
    LABELS.into_iter().filter_map(|label| node.metadata.label(label)).find(|region| !region.is_empty())
}

/// Makes the region of a cluster's Nodes the one on which they agree from here on, if there is one.
fn agree(at: &Apply<'_>, cluster: i64) -> rusqlite::Result<()> {
    // Each from an end of the index: a cluster may have thousands of Nodes.
    let sql = "SELECT (SELECT min(region) FROM node_region WHERE cluster_id = ?1) AS first,
        (SELECT max(region) FROM node_region WHERE cluster_id = ?1) AS last,
        (SELECT region FROM cluster_region WHERE cluster_id = ?1 AND to_offset = ?2) AS current";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get("first")?, row.get("last")?, row.get("current")?));
    let (first, last, current): (Option<String>, Option<String>, Option<String>) =
        at.connection.prepare_cached(sql)?.query_row(params![cluster, OPEN], row)?;
    let agreed = first.filter(|first| last.as_ref() == Some(first));
    if agreed == current {
        return Ok(());
    }
    let sql = "UPDATE cluster_region SET to_offset = ?2 WHERE cluster_id = ?1 AND to_offset = ?3";
    at.connection.prepare_cached(sql)?.execute(params![cluster, at.offset, OPEN])?;
    if let Some(region) = agreed {
        let sql =
            "INSERT INTO cluster_region (cluster_id, from_offset, to_offset, region) VALUES (?1, ?2, ?3, ?4)";
        at.connection.prepare_cached(sql)?.execute(params![cluster, at.offset, OPEN, region])?;
    }
    Ok(())
}

/// Settles the environments that look at a cluster, if its region is not what it was before.
fn settle_dependents(at: &mut Apply<'_>, cluster: i64, before: Option<String>) -> rusqlite::Result<()> {
    if region_of_cluster(at, cluster)? == before {
        return Ok(());
    }
    let sql = "SELECT name FROM cluster WHERE id = ?1";
    let name: String = at.connection.prepare_cached(sql)?.query_row([cluster], |row| row.get(0))?;
    environments::settle_upon(at, "cluster", &name)
}
