//! Environments that resources of clusters declare (seed 003).
//!
//! Such an environment belongs to the first of the projects that are named, or else to the first of the groups; the
//! others see it too. It has the id that a project's environment has by itself, so that what several clusters, or the
//! catalog, declare under the same project and name is one environment.

use rusqlite::{OptionalExtension, params};

use super::super::context::Apply;
use super::environments;
use strandline_model::{EnvironmentId, Kind, ResourceId, ResourceKey};
use strandline_object::{Object, gitlab_deployment};
use strandline_sqlite::column::Json;

/// Whether an object is of the kind that declares an environment.
pub(super) fn is_declared(object: &Object<'_>) -> bool {
    gitlab_deployment::Declaration::is_made_by(&Kind::from_api_version(&object.api_version, &object.kind))
}

/// Takes over what a resource declares of an environment, if it is of the kind that does; what is gone, cannot be
/// understood, or names neither a project nor a group, declares nothing.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    object: Option<&Object<'_>>,
) -> rusqlite::Result<()> {
    if object.is_some_and(|object| !is_declared(object)) {
        return Ok(());
    }
    let sql = "DELETE FROM declaration WHERE resource_id = ?1 RETURNING environment_id";
    let before: Option<i64> =
        at.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
    let declared = object.and_then(|object| gitlab_deployment::Declaration::read(object).ok());
    let after = match declared {
        Some(declared) => insert(at, id, &declared)?,
        None => None,
    };
    for environment in before.into_iter().chain(after.filter(|after| Some(*after) != before)) {
        environments::settle(at, environment)?;
    }
    Ok(())
}

fn insert(
    at: &mut Apply<'_>,
    id: ResourceId,
    declared: &gitlab_deployment::Declaration,
) -> rusqlite::Result<Option<i64>> {
    let viewers: Vec<&String> = declared.projects.iter().chain(&declared.groups).collect();
    let Some(&project) = viewers.first() else { return Ok(None) };
    let name = EnvironmentId::of(project, &declared.environment);
    let environment = at.ids.environment(at.connection, &name)?;
    let sql =
        "INSERT INTO declaration (resource_id, environment_id, origin, project, name, namespace, viewers)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    at.connection.prepare_cached(sql)?.execute(params![
        id,
        environment,
        Json(key(at, id)?),
        project,
        declared.environment,
        declared.namespace,
        Json(viewers)
    ])?;
    Ok(Some(environment))
}

fn key(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<ResourceKey> {
    let sql = r#"SELECT c.name AS cluster, k."group", k.kind, r.namespace, r.name FROM resource r
        JOIN cluster c ON c.id = r.cluster_id JOIN kind k ON k.id = r.kind_id WHERE r.id = ?1"#;
    at.connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok(ResourceKey {
            cluster: row.get("cluster")?,
            kind: Kind::new(row.get::<_, String>("group")?, row.get::<_, String>("kind")?),
            namespace: row.get("namespace")?,
            name: row.get("name")?,
        })
    })
}
