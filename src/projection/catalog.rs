//! Clusters and environments as the catalog declares them.

use rusqlite::params;

use super::context::Apply;
use super::{OPEN, membership, regions};
use crate::model::{CatalogFact, ClusterSpec, EnvironmentSpec, Kind, ResourceId};

/// Takes over a declared fact.
pub(super) fn declared(at: &mut Apply<'_>, id: ResourceId, fact: &CatalogFact) -> rusqlite::Result<()> {
    match fact {
        CatalogFact::Cluster(cluster) => cluster_declared(at, cluster),
        CatalogFact::Environment(environment) => environment_declared(at, id.0, environment),
    }
}

/// Lets go of a fact that is no longer declared.
pub(super) fn withdrawn(at: &mut Apply<'_>, id: ResourceId, kind: &Kind, name: &str) -> rusqlite::Result<()> {
    match kind.kind.as_str() {
        "Cluster" => {
            let cluster = at.ids.cluster(at.connection, name)?;
            let before = regions::cluster_region(at, cluster)?;
            close_cluster(at, cluster)?;
            regions::settle(at, cluster, before)
        }
        _ => {
            close_environment(at, id.0)?;
            retarget(at, id.0, None)
        }
    }
}

fn cluster_declared(at: &mut Apply<'_>, spec: &ClusterSpec) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, &spec.name)?;
    let before = regions::cluster_region(at, cluster)?;
    close_cluster(at, cluster)?;
    let sql = "INSERT INTO cluster_spec (cluster_id, from_offset, to_offset, region) VALUES (?1, ?2, ?3, ?4)";
    at.connection.prepare_cached(sql)?.execute(params![cluster, at.offset.as_i64(), OPEN, spec.region])?;
    regions::settle(at, cluster, before)
}

fn close_cluster(at: &Apply<'_>, cluster: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE cluster_spec SET to_offset = ?2 WHERE cluster_id = ?1 AND to_offset = ?3";
    at.connection.prepare_cached(sql)?.execute(params![cluster, at.offset.as_i64(), OPEN])?;
    Ok(())
}

fn environment_declared(at: &mut Apply<'_>, id: i64, spec: &EnvironmentSpec) -> rusqlite::Result<()> {
    close_environment(at, id)?;
    let sql = "INSERT INTO environment
        (id, from_offset, to_offset, name_id, project, name, slug, tier, region, targets)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    at.connection.prepare_cached(sql)?.execute(params![
        id,
        at.offset.as_i64(),
        OPEN,
        spec.id.as_str(),
        spec.project,
        spec.name,
        spec.slug,
        spec.tier.as_str(),
        spec.region,
        serde_json::json!(spec.targets).to_string()
    ])?;
    retarget(at, id, Some(spec))
}

fn close_environment(at: &Apply<'_>, id: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE environment SET to_offset = ?2 WHERE id = ?1 AND to_offset = ?3";
    at.connection.prepare_cached(sql)?.execute(params![id, at.offset.as_i64(), OPEN])?;
    Ok(())
}

/// Replaces where an environment looks, and settles what it held and what it may now hold.
fn retarget(at: &mut Apply<'_>, id: i64, spec: Option<&EnvironmentSpec>) -> rusqlite::Result<()> {
    at.connection.prepare_cached("DELETE FROM target WHERE environment_id = ?1")?.execute([id])?;
    for (position, target) in (0_i64..).zip(spec.map_or(&[][..], |spec| &spec.targets)) {
        let cluster = at.ids.cluster(at.connection, &target.cluster)?;
        let labels = serde_json::json!(target.labels).to_string();
        let inventory = target.inventory.as_ref().map(ToString::to_string).unwrap_or_default();
        let sql = "INSERT INTO target (environment_id, position, cluster_id, namespace, labels, inventory)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        at.connection.prepare_cached(sql)?.execute(params![
            id,
            position,
            cluster,
            target.namespace,
            labels,
            inventory
        ])?;
    }
    let concerned: Vec<ResourceId> = {
        let sql = "SELECT resource_id FROM membership WHERE environment_id = ?1 AND to_offset = ?2
            UNION SELECT r.id FROM target t
            JOIN resource r ON r.cluster_id = t.cluster_id AND r.namespace = t.namespace
            WHERE t.environment_id = ?1 AND t.inventory = '' AND t.namespace <> ''
            UNION SELECT i.resource_id FROM target t
            JOIN inventory_mark i ON i.cluster_id = t.cluster_id AND i.mark = t.inventory
            WHERE t.environment_id = ?1";
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![id, OPEN], |row| row.get(0).map(ResourceId))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    at.touched.environments.insert(id);
    membership::settle_all(at, concerned)
}
