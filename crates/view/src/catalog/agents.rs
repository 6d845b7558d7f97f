//! Agents as the catalog declares them.

use rusqlite::{OptionalExtension, params};

use super::super::OPEN;
use super::super::context::Apply;
use super::rows::{self, Table, number, text};
use super::{environments, viewers};
use strandline_gitlab::known_agent_config;
use strandline_model::{AgentSpec, Source};
use strandline_syntax::diagnostics::Mistake;

const AGENT: Table = Table {
    name: "agent",
    key: "id",
    columns: &["number", "cluster", "configuration", "problem", "warnings", "source"],
};

/// Makes an agent what is declared of it, and settles the environments that it serves.
pub(super) fn settle(
    at: &mut Apply<'_>,
    id: &str,
    declared: Option<(&AgentSpec, Source)>,
) -> rusqlite::Result<()> {
    let before = (cluster(at, id)?, number_of(at, id)?);
    let wanted = declared.map(|(spec, source)| {
        let (cluster, problem) = (text(spec.cluster.as_str()), text(spec.problem.as_str()));
        let (configuration, warnings) =
            (text(spec.configuration.as_str()), text(warnings(&spec.configuration)));
        vec![number(spec.number), cluster, configuration, problem, warnings, text(source.as_str())]
    });
    if !rows::exchange(at, &AGENT, text(id), wanted)? {
        return Ok(());
    }
    viewers::note(at, id.split_once(':').map(|(project, _)| project).into_iter())?;
    viewers::of_agent(at, id, declared.map_or("", |(spec, _)| &spec.configuration))?;
    if before == (cluster(at, id)?, number_of(at, id)?) {
        return Ok(());
    }
    environments::settle_upon(at, "agent", id)
}

/// What is odd about a configuration, as JSON.
fn warnings(configuration: &str) -> String {
    let read = known_agent_config(configuration).ok();
    let warnings = read.iter().flat_map(|read| &read.warnings).map(Mistake::with_hint);
    serde_json::json!(warnings.collect::<Vec<_>>()).to_string()
}

/// The cluster to which an agent connects; empty when not known.
pub(super) fn cluster(at: &Apply<'_>, id: &str) -> rusqlite::Result<String> {
    let sql = "SELECT cluster FROM agent WHERE id = ?1 AND to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![id, OPEN], |row| row.get(0));
    Ok(found.optional()?.unwrap_or_default())
}

/// GitLab's number of an agent, as far as it is known.
pub(super) fn number_of(at: &Apply<'_>, name: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT number FROM agent WHERE id = ?1 AND to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![name, OPEN], |row| row.get(0));
    Ok(found.optional()?.flatten())
}
