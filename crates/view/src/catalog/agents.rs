//! Agents as the catalog declares them.

use rusqlite::params;

use super::super::context::Apply;
use super::facts::{cluster_of_agent, number_of_agent};
use super::rows::{Table, number};
use super::{environments, viewers};
use strandline_gitlab::known_agent_config;
use strandline_model::{AgentSpec, Source};
use strandline_sqlite::column::Json;
use strandline_syntax::diagnostics::Mistake;

const AGENT: Table = Table {
    is_same: "SELECT number IS ?4 AND cluster IS ?5 AND configuration IS ?6 AND problem IS ?7 AND
            warnings IS ?8 AND source IS ?9
        FROM agent WHERE id = ?1 AND to_offset = ?3",
    close: "UPDATE agent SET to_offset = ?2 WHERE id = ?1 AND to_offset = ?3",
    open: "INSERT OR REPLACE INTO agent
            (id, from_offset, to_offset, number, cluster, configuration, problem, warnings, source)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
};

/// Makes an agent what is declared of it, and settles the environments that it serves.
pub(super) fn settle(
    at: &mut Apply<'_>,
    id: &str,
    declared: Option<(&AgentSpec, Source)>,
) -> rusqlite::Result<()> {
    let before = (cluster_of_agent(at, id)?, number_of_agent(at, id)?);
    let differs = match declared {
        None => AGENT.replace(at, &id, None)?,
        Some((spec, source)) => {
            let AgentSpec { cluster, configuration, problem, .. } = spec;
            let warnings = Json(warnings(configuration));
            let row = params![number(spec.number), cluster, configuration, problem, warnings, source];
            AGENT.replace(at, &id, Some(row))?
        }
    };
    if !differs {
        return Ok(());
    }
    viewers::note(at, id.split_once(':').map(|(project, _)| project).into_iter())?;
    viewers::of_agent(at, id, declared.map_or("", |(spec, _)| &spec.configuration))?;
    if before == (cluster_of_agent(at, id)?, number_of_agent(at, id)?) {
        return Ok(());
    }
    environments::settle_upon(at, "agent", id)
}

/// What is odd about a configuration.
fn warnings(configuration: &str) -> Vec<String> {
    let read = known_agent_config(configuration).ok();
    let warnings = read.iter().flat_map(|read| &read.warnings).map(Mistake::with_hint);
    warnings.collect()
}
