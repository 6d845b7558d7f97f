//! Members of which projects and groups see an environment, and whom agents let see what they serve.
//!
//! Whether a caller is a member is decided when a question is asked, by rights of that time.

use super::super::context::Apply;

/// Notes the paths whose members see an environment, so that callers can be told from them.
pub(super) fn note<'a>(at: &Apply<'_>, paths: impl Iterator<Item = &'a String>) -> rusqlite::Result<()> {
    let mut insert = at.connection.prepare_cached("INSERT OR IGNORE INTO viewer (path) VALUES (?1)")?;
    for path in paths {
        insert.execute([path])?;
    }
    Ok(())
}

/// Makes an agent let in whom its configuration names.
pub(super) fn of_agent(at: &Apply<'_>, id: &str, _configuration: &str) -> rusqlite::Result<()> {
    at.connection.prepare_cached("DELETE FROM agent_viewer WHERE agent = ?1")?.execute([id])?;
    Ok(())
}
