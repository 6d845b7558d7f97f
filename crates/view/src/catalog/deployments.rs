//! Deployments, and which of them decides where an environment's resources are.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};

use super::super::context::Apply;
use super::super::happenings;
use super::rows::{self, Table, json, text};
use super::{environments, viewers};
use strandline_model::{DeploymentSpec, DeploymentStatus, Happening};

const DEPLOYMENT: Table = Table {
    name: "deployment",
    key: "id",
    columns: &["environment_id", "project", "status", "spec", "observed_at"],
};

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

/// Takes over how a deployment stands; where it ended well, it may decide from here on.
pub(super) fn declared(at: &mut Apply<'_>, spec: &DeploymentSpec) -> rusqlite::Result<()> {
    let environment = at.ids.environment(at.connection, &spec.environment)?;
    let id = at.ids.deployment(at.connection, &spec.project, spec.id)?;
    let row = vec![
        Value::Integer(environment),
        text(spec.project.as_str()),
        text(spec.status.as_str()),
        json(spec),
        Value::Integer(at.observed_at.as_micros()),
    ];
    let before = last_status(at, id)?;
    rows::exchange(at, &DEPLOYMENT, Value::Integer(id), Some(row))?;
    match before {
        None => happenings::deployed(at, environment, id, Happening::Deployed)?,
        Some(before) if before != spec.status.as_str() => {
            happenings::deployed(at, environment, id, Happening::Progressed)?;
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

/// How a deployment stood last; none where nothing was told of it yet.
fn last_status(at: &Apply<'_>, id: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT status FROM deployment WHERE id = ?1 ORDER BY from_offset DESC LIMIT 1";
    at.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()
}

fn record_agent(at: &Apply<'_>, id: i64, spec: &DeploymentSpec) -> rusqlite::Result<()> {
    let sql = "DELETE FROM agent_deployment WHERE deployment_id = ?1";
    at.connection.prepare_cached(sql)?.execute([id])?;
    let Some(agent) = &spec.agent else { return Ok(()) };
    let sql = "INSERT INTO agent_deployment (deployment_id, agent, kubernetes_namespace) VALUES (?1, ?2, ?3)";
    let row = params![id, agent.agent.to_string(), agent.kubernetes_namespace];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// Notes a deployment that ended well as the last, unless it ended before the one that is known and was only told later.
fn ended_well(
    at: &Apply<'_>,
    environment: i64,
    id: i64,
    spec: &DeploymentSpec,
    deciding: i64,
) -> rusqlite::Result<()> {
    let finished_at = spec.finished_at.unwrap_or(at.observed_at).min(at.observed_at);
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
    let finished_at = finished_at.as_micros();
    let row = params![environment, deciding, id, finished_at, spec.project, agent, namespace, only_labelled];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// Ends the record of a deployment.
pub(super) fn withdrawn(at: &mut Apply<'_>, name: &str) -> rusqlite::Result<()> {
    let Some((number, project)) = DeploymentSpec::parts_of(name) else { return Ok(()) };
    let sql = "SELECT id FROM deployment_name WHERE number = ?1 AND project = ?2";
    let key = params![number.0.cast_signed(), project];
    let found: Option<i64> =
        at.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    found.map_or(Ok(()), |id| rows::exchange(at, &DEPLOYMENT, Value::Integer(id), None).map(|_| ()))
}

/// The last deployment to an environment that ended well, and the last of those that an agent let.
pub(super) fn of_environment(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Vec<Deployed>> {
    let sql =
        "SELECT deployment_id, deciding, project, agent, namespace, only_labelled FROM environment_deployment
        WHERE environment_id = ?1 ORDER BY deciding";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([environment], |row| {
        Ok(Deployed {
            id: row.get(0)?,
            deciding: row.get(1)?,
            project: row.get(2)?,
            agent: row.get(3)?,
            namespace: row.get(4)?,
            only_labelled: row.get(5)?,
        })
    })?;
    rows.collect()
}
