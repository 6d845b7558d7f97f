//! What is known of an environment and of what it depends on, as it was declared.

use rusqlite::{OptionalExtension, params};

use super::super::columns::OPEN;
use super::super::context::Apply;
use strandline_model::{EnvironmentSpec, Labels, ResourceKey, Source};
use strandline_sqlite::column::{Json, VIEW};

/// What a resource declares of an environment.
pub(super) struct Declaration {
    /// The resource.
    pub(super) origin: ResourceKey,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) namespace: String,
    /// Projects and groups whose members may see it.
    pub(super) viewers: Vec<String>,
}

/// A deployment that ended well, as its environment needs it.
pub(super) struct Deployed {
    pub(super) id: i64,
    /// Whether it decides where the environment is; else it is only the last.
    pub(super) deciding: bool,
    pub(super) project: String,
    pub(super) agent: String,
    pub(super) namespace: String,
    pub(super) only_labelled: bool,
}

/// What the catalog declares of an environment.
pub(super) fn environment(at: &Apply<'_>, id: i64) -> rusqlite::Result<Option<(EnvironmentSpec, Source)>> {
    let sql = "SELECT spec, source FROM environment_fact WHERE environment_id = ?1";
    let row = at.connection.prepare_cached(sql)?.query_row([id], |row| {
        let Json(spec) = VIEW.get(row, "environment_fact.spec")?;
        Ok((spec, VIEW.get(row, "environment_fact.source")?))
    });
    row.optional()
}

/// What present resources declare of an environment, in the order in which they came.
pub(super) fn declarations(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Vec<Declaration>> {
    let sql = "SELECT origin, project, name, namespace, viewers FROM declaration
        WHERE environment_id = ?1 ORDER BY resource_id";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([environment], |row| {
        let Json(origin) = VIEW.get(row, "declaration.origin")?;
        let Json(viewers) = VIEW.get(row, "declaration.viewers")?;
        let (project, name) = (row.get("project")?, row.get("name")?);
        Ok(Declaration { origin, project, name, namespace: row.get("namespace")?, viewers })
    })?;
    rows.collect()
}

/// The last deployment to an environment that ended well, and the last of those that an agent let.
pub(super) fn deployments(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Vec<Deployed>> {
    let sql = "SELECT deployment_id, deciding, project, agent, namespace, only_labelled
        FROM environment_deployment WHERE environment_id = ?1 ORDER BY deciding";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([environment], |row| {
        Ok(Deployed {
            id: row.get("deployment_id")?,
            deciding: row.get("deciding")?,
            project: row.get("project")?,
            agent: row.get("agent")?,
            namespace: row.get("namespace")?,
            only_labelled: row.get("only_labelled")?,
        })
    })?;
    rows.collect()
}

/// GitLab's number of a project, and its labels.
pub(super) fn project(at: &Apply<'_>, path: &str) -> rusqlite::Result<(Option<i64>, Labels)> {
    let sql = "SELECT number, labels FROM project WHERE path = ?1 AND to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![path, OPEN], |row| {
        let Json(labels) = VIEW.get(row, "project.labels")?;
        Ok((row.get("number")?, labels))
    });
    Ok(found.optional()?.unwrap_or_default())
}

/// The cluster to which an agent connects; empty when not known.
pub(super) fn cluster_of_agent(at: &Apply<'_>, id: &str) -> rusqlite::Result<String> {
    let sql = "SELECT cluster FROM agent WHERE id = ?1 AND to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![id, OPEN], |row| row.get(0));
    Ok(found.optional()?.unwrap_or_default())
}

/// GitLab's number of an agent, as far as it is known.
pub(super) fn number_of_agent(at: &Apply<'_>, id: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT number FROM agent WHERE id = ?1 AND to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![id, OPEN], |row| row.get(0));
    Ok(found.optional()?.flatten())
}

/// The region in which a cluster is from here on, as the catalog declares it, else as its Nodes agree; none where
/// neither is known.
pub(super) fn region_of_cluster(at: &Apply<'_>, cluster: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT CASE WHEN s.region <> '' THEN s.region ELSE n.region END FROM cluster c
        LEFT JOIN cluster_spec s ON s.cluster_id = c.id AND s.to_offset = ?2
        LEFT JOIN cluster_region n ON n.cluster_id = c.id AND n.to_offset = ?2
        WHERE c.id = ?1";
    let found = at.connection.prepare_cached(sql)?.query_row(params![cluster, OPEN], |row| row.get(0));
    Ok(found.optional()?.flatten())
}
