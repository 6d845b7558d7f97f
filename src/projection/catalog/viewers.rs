//! Members of which projects and groups see an environment, and whom agents let see what they serve.
//!
//! Whether a caller is a member is decided when a question is asked, by rights of that time.

use super::super::context::Apply;
use crate::access::read_agent_config;

/// Notes the paths whose members see an environment, so that callers can be told from them.
pub(super) fn note<'a>(at: &Apply<'_>, paths: impl Iterator<Item = &'a str>) -> rusqlite::Result<()> {
    let mut insert = at.connection.prepare_cached("INSERT OR IGNORE INTO viewer (path) VALUES (?1)")?;
    for path in paths {
        insert.execute([path])?;
    }
    Ok(())
}

/// Makes an agent let in whom its configuration names: nobody where it cannot be read.
pub(super) fn of_agent(at: &Apply<'_>, id: &str, configuration: &str) -> rusqlite::Result<()> {
    at.connection.prepare_cached("DELETE FROM agent_viewer WHERE agent = ?1")?.execute([id])?;
    let Ok(read) = read_agent_config(configuration) else { return Ok(()) };
    let access = read.config.user_access.unwrap_or_default();
    let sql = "INSERT OR IGNORE INTO agent_viewer (path, agent) VALUES (?1, ?2)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for path in access.paths() {
        insert.execute([path, id])?;
    }
    Ok(())
}
