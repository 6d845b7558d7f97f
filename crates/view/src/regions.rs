//! Where clusters run: as the catalog declares it, else by the word of their Nodes.
//!
//! A Node's word counts only where nobody configured a region, and only while all Nodes that have one agree. What each
//! Node says is a row of its own: whether they agree is asked at both ends of an index, not of thousands of Nodes.

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use super::{OPEN, catalog};
use strandline_model::ResourceId;
use strandline_object::Object;

/// The labels by which cloud providers tell a Node's region, the present one before the one that was deprecated with
/// Kubernetes 1.17; from Kubernetes' reference of well-known labels.
const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];

/// The region in which a cluster is from here on; none where nobody says, or its Nodes disagree.
pub(super) fn cluster_region(at: &Apply<'_>, cluster: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT CASE WHEN s.region <> '' THEN s.region ELSE n.region END FROM cluster c
        LEFT JOIN cluster_spec s ON s.cluster_id = c.id AND s.to_offset = ?2
        LEFT JOIN cluster_region n ON n.cluster_id = c.id AND n.to_offset = ?2
        WHERE c.id = ?1";
    let found = at.connection.prepare_cached(sql)?.query_row(params![cluster, OPEN], |row| row.get(0));
    Ok(found.optional()?.flatten())
}

/// Takes over what a resource says of its region if it is a Node; what is gone, or cannot be read, says nothing.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    object: Option<&Object<'_>>,
) -> rusqlite::Result<()> {
    if object.is_some_and(|object| !is_told(object)) {
        return Ok(());
    }
    let sql = "SELECT cluster_id, region FROM node_region WHERE resource_id = ?1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let held = at.connection.prepare_cached(sql)?.query_row([id.0], row).optional()?;
    let told = object.and_then(region_of);
    if held.as_ref().map(|(_, region)| region.as_str()) == told {
        return Ok(());
    }
    let cluster: i64 = {
        let sql = "SELECT cluster_id FROM resource WHERE id = ?1";
        at.connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0))?
    };
    at.connection.prepare_cached("DELETE FROM node_region WHERE resource_id = ?1")?.execute([id.0])?;
    if let Some(region) = told {
        let sql = "INSERT INTO node_region (resource_id, cluster_id, region) VALUES (?1, ?2, ?3)";
        at.connection.prepare_cached(sql)?.execute(params![id.0, cluster, region])?;
    }
    let before = cluster_region(at, cluster)?;
    agree(at, cluster)?;
    settle(at, cluster, before)
}

/// Whether an object is one that tells a region.
pub(super) fn is_told(object: &Object<'_>) -> bool {
    object.api_version == "v1" && object.kind == "Node"
}

fn region_of<'o>(node: &'o Object<'_>) -> Option<&'o str> {
    LABELS.into_iter().filter_map(|label| node.metadata.label(label)).find(|region| !region.is_empty())
}

/// Makes the region of a cluster's Nodes the one on which they agree from here on, if there is one.
fn agree(at: &Apply<'_>, cluster: i64) -> rusqlite::Result<()> {
    // Each from an end of the index: a cluster may have thousands of Nodes.
    let sql = "SELECT (SELECT min(region) FROM node_region WHERE cluster_id = ?1),
        (SELECT max(region) FROM node_region WHERE cluster_id = ?1),
        (SELECT region FROM cluster_region WHERE cluster_id = ?1 AND to_offset = ?2)";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (first, last, held): (Option<String>, Option<String>, Option<String>) =
        at.connection.prepare_cached(sql)?.query_row(params![cluster, OPEN], row)?;
    let agreed = first.filter(|first| last.as_ref() == Some(first));
    if agreed == held {
        return Ok(());
    }
    let now = at.offset.as_i64();
    let sql = "UPDATE cluster_region SET to_offset = ?2 WHERE cluster_id = ?1 AND to_offset = ?3";
    at.connection.prepare_cached(sql)?.execute(params![cluster, now, OPEN])?;
    if let Some(region) = agreed {
        let sql =
            "INSERT INTO cluster_region (cluster_id, from_offset, to_offset, region) VALUES (?1, ?2, ?3, ?4)";
        at.connection.prepare_cached(sql)?.execute(params![cluster, now, OPEN, region])?;
    }
    Ok(())
}

/// Settles what derives its own region from a cluster's, if that is not what it was before.
pub(super) fn settle(at: &mut Apply<'_>, cluster: i64, before: Option<String>) -> rusqlite::Result<()> {
    if cluster_region(at, cluster)? == before { Ok(()) } else { catalog::cluster_moved(at, cluster) }
}
