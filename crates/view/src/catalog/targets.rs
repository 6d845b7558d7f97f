//! Where environments look at present, by place.

use std::collections::BTreeSet;

use rusqlite::params;

use super::super::columns::OPEN;
use super::super::context::Apply;
use super::super::{labels, membership};
use strandline_model::{Labels, ResourceId, Target};
use strandline_sqlite::column::{Json, VIEW};

/// Replaces the targets of an environment, with what GitLab manages at them, and settles its members of before and of now.
pub(super) fn replace(
    at: &mut Apply<'_>,
    id: i64,
    targets: &[Target],
    managed: &BTreeSet<(String, String, String)>,
) -> rusqlite::Result<()> {
    let mut wanted = Vec::new();
    for target in targets {
        wanted.push((
            at.ids.cluster(at.connection, &target.cluster)?,
            target.namespace.clone(),
            target.labels.clone(),
            target.inventory.as_ref().map(ToString::to_string).unwrap_or_default(),
        ));
    }
    for (cluster, namespace, mark) in managed {
        let cluster = at.ids.cluster(at.connection, cluster)?;
        wanted.push((cluster, namespace.clone(), Labels::new(), mark.clone()));
    }
    if current(at, id)? == wanted {
        return Ok(());
    }
    at.environments.forget_places(id);
    at.ids.targets.forget();
    at.connection.prepare_cached("DELETE FROM target WHERE environment_id = ?1")?.execute([id])?;
    let sql =
        "INSERT INTO target (environment_id, position, cluster_id, namespace, labels, inventory, anchor)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (position, (cluster, namespace, labels, inventory)) in (0_i64..).zip(&wanted) {
        let anchor = labels.iter().next().map_or(0, |(name, value)| labels::anchor((name, value)));
        let row = params![id, position, cluster, namespace, Json(labels), inventory, anchor];
        at.connection.prepare_cached(sql)?.execute(row)?;
    }
    replace_places(
        at,
        id,
        wanted.into_iter().map(|(cluster, namespace, ..)| (cluster, namespace)).collect(),
    )?;
    let concerned: Vec<ResourceId> = {
        let sql = "SELECT resource_id FROM membership WHERE environment_id = ?1 AND to_offset = ?2
                AND stretch = (SELECT max(stretch) FROM membership WHERE environment_id = ?1)
            UNION SELECT r.id FROM target t
            JOIN resource r ON r.cluster_id = t.cluster_id AND r.namespace = t.namespace
            WHERE t.environment_id = ?1 AND t.inventory = '' AND t.namespace <> ''
            UNION SELECT i.resource_id FROM target t
            JOIN inventory_mark i ON i.cluster_id = t.cluster_id AND i.mark = t.inventory
            WHERE t.environment_id = ?1";
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![id, OPEN], |row| row.get("resource_id"))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    membership::settle_all(at, concerned)
}

/// Makes an environment look at these places from here on.
fn replace_places(at: &Apply<'_>, id: i64, wanted: BTreeSet<(i64, String)>) -> rusqlite::Result<()> {
    let current: BTreeSet<(i64, String)> = {
        let sql = "SELECT cluster_id, namespace FROM environment_place WHERE environment_id = ?1 AND to_offset = ?2";
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![id, OPEN], |row| Ok((row.get("cluster_id")?, row.get("namespace")?)))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    let sql = "UPDATE environment_place SET to_offset = ?4
        WHERE cluster_id = ?1 AND namespace = ?2 AND environment_id = ?3 AND to_offset = ?5";
    for (cluster, namespace) in current.difference(&wanted) {
        let row = params![cluster, namespace, id, at.offset, OPEN];
        at.connection.prepare_cached(sql)?.execute(row)?;
    }
    let sql = "INSERT OR REPLACE INTO environment_place (cluster_id, namespace, environment_id, from_offset, to_offset)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    for (cluster, namespace) in wanted.difference(&current) {
        let row = params![cluster, namespace, id, at.offset, OPEN];
        at.connection.prepare_cached(sql)?.execute(row)?;
    }
    Ok(())
}

/// Where an environment looks at present.
fn current(at: &Apply<'_>, id: i64) -> rusqlite::Result<Vec<(i64, String, Labels, String)>> {
    let sql = "SELECT cluster_id, namespace, labels, inventory FROM target WHERE environment_id = ?1 ORDER BY position";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([id], |row| {
        let Json(labels) = VIEW.get(row, "target.labels")?;
        Ok((row.get("cluster_id")?, row.get("namespace")?, labels, row.get("inventory")?))
    })?;
    rows.collect()
}
