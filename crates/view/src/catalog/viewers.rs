//! Members of which projects and groups see an environment, whom agents let see what they serve, and which places somebody has to
//! be able to read.
//!
//! Whether a caller is a member, or may read a place, is decided when a question is asked, by rights of that time.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::super::context::Apply;
use super::resolve::Resolved;
use super::rows::Table;
use strandline_gitlab::{folded, known_agent_config};

const AUDIENCE: Table = Table {
    is_same: "SELECT audience IS ?4
        FROM environment_audience WHERE environment_id = ?1 AND to_offset = ?3",
    close: "UPDATE environment_audience SET to_offset = ?2 WHERE environment_id = ?1 AND to_offset = ?3",
    open: "INSERT OR REPLACE INTO environment_audience
            (environment_id, from_offset, to_offset, audience)
        VALUES (?1, ?2, ?3, ?4)",
};

/// Notes paths of projects and groups, so that callers are matched with them.
pub(super) fn note<'a>(at: &Apply<'_>, paths: impl Iterator<Item = &'a str>) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO viewer (folded, path) VALUES (?1, ?2)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for path in paths {
        insert.execute([folded(path).as_str(), path])?;
    }
    Ok(())
}

/// The view's number of the audience that an environment has.
pub(super) fn audience(at: &Apply<'_>, of: &Resolved) -> rusqlite::Result<i64> {
    let [viewers, agents] = [&of.viewers, &of.agents].map(|paths| serde_json::json!(paths).to_string());
    let places: BTreeSet<[&str; 2]> =
        of.targets.iter().map(|target| [target.cluster.as_str(), target.namespace.as_str()]).collect();
    let places_json = serde_json::json!(places).to_string();
    let key = [of.spec.project.as_str(), &viewers, &agents, &places_json];
    let sql = "SELECT id FROM audience WHERE project = ?1 AND viewers = ?2 AND agents = ?3 AND places = ?4";
    let found = at.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    let sql = "INSERT INTO audience (project, viewers, agents, places) VALUES (?1, ?2, ?3, ?4)";
    let id = at.connection.prepare_cached(sql)?.insert(key)?;
    let sql = "INSERT OR IGNORE INTO audience_path (path, audience) VALUES (?1, ?2)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for path in std::iter::once(&of.spec.project).chain(&of.viewers) {
        insert.execute(params![folded(path), id])?;
    }
    let sql = "INSERT INTO audience_agent (audience, agent) VALUES (?1, ?2)";
    let mut insert = at.connection.prepare_cached(sql)?;
    of.agents.iter().try_for_each(|agent| insert.execute(params![id, agent]).map(|_| ()))?;
    let sql = "INSERT INTO audience_place (cluster, namespace, audience) VALUES (?1, ?2, ?3)";
    let mut insert = at.connection.prepare_cached(sql)?;
    places
        .iter()
        .try_for_each(|[cluster, namespace]| insert.execute(params![cluster, namespace, id]).map(|_| ()))?;
    Ok(id)
}

/// Gives an environment an audience, or none once it is gone.
pub(super) fn set_audience(at: &Apply<'_>, environment: i64, audience: Option<i64>) -> rusqlite::Result<()> {
    match audience {
        Some(audience) => AUDIENCE.replace(at, &environment, Some(params![audience]))?,
        None => AUDIENCE.replace(at, &environment, None)?,
    };
    Ok(())
}

/// Makes an agent let in whom its configuration names: nobody where it cannot be read.
pub(super) fn of_agent(at: &Apply<'_>, id: &str, configuration: &str) -> rusqlite::Result<()> {
    at.connection.prepare_cached("DELETE FROM agent_viewer WHERE agent = ?1")?.execute([id])?;
    let Ok(read) = known_agent_config(configuration) else { return Ok(()) };
    let Some(access) = &read.config.user_access else { return Ok(()) };
    let sql = "INSERT OR IGNORE INTO agent_viewer (path, agent) VALUES (?1, ?2)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for path in access.paths() {
        insert.execute([folded(path).as_str(), id])?;
    }
    Ok(())
}
