//! Deployments, and which of them decides where an environment's resources are.

use rusqlite::{OptionalExtension, params};

use super::super::activity;
use super::super::context::Apply;
use super::rows::Table;
use super::{environments, viewers};
use strandline_model::{DeploymentSpec, DeploymentStatus, Happening, Timestamp};
use strandline_sqlite::column::{Json, VIEW};

const DEPLOYMENT: Table = Table {
    is_same: r#"SELECT environment_id IS ?4 AND project IS ?5 AND status IS ?6 AND status_at IS ?7 AND user IS ?8 AND "ref" IS ?9
            AND spec IS ?10 AND observed_at IS ?11
        FROM deployment WHERE id = ?1 AND to_offset = ?3"#,
    close: "UPDATE deployment SET to_offset = ?2 WHERE id = ?1 AND to_offset = ?3",
    open: r#"INSERT OR REPLACE INTO deployment
            (id, from_offset, to_offset, environment_id, project, status, status_at, user, "ref", spec, observed_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"#,
};

/// Applies the status of a deployment; where it ended well, it may decide from here on.
pub(super) fn declared(at: &mut Apply<'_>, spec: &DeploymentSpec) -> rusqlite::Result<()> {
    let environment = at.ids.environment(at.connection, &spec.environment)?;
    let id = at.ids.deployment(at.connection, &spec.project, spec.id)?;
    let row = params![
        environment,
        spec.project,
        spec.status,
        status_at(at, spec),
        spec.user,
        spec.reference,
        Json(spec),
        at.observed_at
    ];
    let before = last(at, id)?;
    if DEPLOYMENT.replace(at, &id, Some(row))? {
        at.lines.add_deployment(id, spec, before.as_ref());
    }
    match before {
        None => activity::write_deployment(at, environment, id, Happening::Deployed)?,
        Some(before) if before.status != spec.status => {
            activity::write_deployment(at, environment, id, Happening::Progressed)?;
        }
        Some(_) => {}
    }
    viewers::note(at, std::iter::once(spec.project.as_str()))?;
    record_agent(at, id, spec)?;
    if spec.status != DeploymentStatus::Success {
        return Ok(());
    }
    ended_well(at, environment, id, spec, 0)?;
    if spec.agent.is_some() {
        ended_well(at, environment, id, spec, 1)?;
    }
    environments::settle(at, environment)
}

/// When it ended or, where that is not known, now that its status is reported; not after that, whatever is said.
fn status_at(at: &Apply<'_>, spec: &DeploymentSpec) -> Timestamp {
    spec.finished_at.unwrap_or(at.observed_at).min(at.observed_at)
}

/// What was declared of a deployment last; none where it is new.
fn last(at: &Apply<'_>, id: i64) -> rusqlite::Result<Option<DeploymentSpec>> {
    let sql = "SELECT spec FROM deployment WHERE id = ?1 ORDER BY from_offset DESC LIMIT 1";
    let mut statement = at.connection.prepare_cached(sql)?;
    statement
        .query_row([id], |row| VIEW.get::<Json<_>>(row, "deployment.spec"))
        .optional()
        .map(|found| found.map(|Json(spec)| spec))
}

fn record_agent(at: &Apply<'_>, id: i64, spec: &DeploymentSpec) -> rusqlite::Result<()> {
    let sql = "DELETE FROM agent_deployment WHERE deployment_id = ?1";
    at.connection.prepare_cached(sql)?.execute([id])?;
    let Some(agent) = &spec.agent else { return Ok(()) };
    let sql = "INSERT INTO agent_deployment (deployment_id, agent, kubernetes_namespace) VALUES (?1, ?2, ?3)";
    let row = params![id, agent.agent, agent.kubernetes_namespace];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// Writes a deployment that succeeded as the last, unless it ended before the one that is known and was only recorded later.
fn ended_well(
    at: &Apply<'_>,
    environment: i64,
    id: i64,
    spec: &DeploymentSpec,
    deciding: i64,
) -> rusqlite::Result<()> {
    let finished_at = status_at(at, spec);
    let (agent, namespace, only_labelled) = match &spec.agent {
        Some(agent) => (agent.agent.to_string(), agent.kubernetes_namespace.as_str(), agent.only_labelled),
        None => (String::new(), "", false),
    };
    let sql = "INSERT INTO environment_deployment
            (environment_id, deciding, deployment_id, finished_at, project, agent, namespace, only_labelled)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT DO UPDATE SET deployment_id = excluded.deployment_id, finished_at = excluded.finished_at,
            project = excluded.project, agent = excluded.agent, namespace = excluded.namespace,
            only_labelled = excluded.only_labelled
            WHERE excluded.finished_at >= finished_at";
    let row = params![environment, deciding, id, finished_at, spec.project, agent, namespace, only_labelled];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// Ends the record of a deployment.
pub(super) fn withdrawn(at: &mut Apply<'_>, name: &str) -> rusqlite::Result<()> {
    let Some((number, project)) = DeploymentSpec::parts_of(name) else { return Ok(()) };
    let sql = "SELECT id FROM deployment_name WHERE number = ?1 AND project = ?2";
    let key = params![number, project];
    let found: Option<i64> =
        at.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    found.map_or(Ok(()), |id| DEPLOYMENT.replace(at, &id, None).map(|_| ()))
}
