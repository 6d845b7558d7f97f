//! What ever belonged to an environment, for whoever takes it elsewhere with all of its past.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::OptionalExtension;

use super::error::ProjectorError;
use super::file;
use strandline_model::{EnvironmentId, Offset, ResourceId};

/// What ever belonged to an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// The last offset that the view holds.
    pub checkpoint: Offset,
    /// The log's numbers of its resources.
    pub resources: BTreeSet<ResourceId>,
    /// The clusters that they are in.
    pub clusters: BTreeSet<String>,
}

/// What ever belonged to an environment; none where there is no view of this program, or no such environment.
///
/// # Errors
/// When the view cannot be read.
pub fn members_ever(
    directory: &Path,
    environment: &EnvironmentId,
) -> Result<Option<Members>, ProjectorError> {
    if !file::is_current(directory) {
        return Ok(None);
    }
    let mut view = file::open_reader(directory)?;
    let view = view.transaction()?;
    let sql = "SELECT id FROM environment_name WHERE name_id = ?1";
    let number: Option<i64> = view.query_row(sql, [environment], |row| row.get(0)).optional()?;
    let Some(number) = number else { return Ok(None) };
    let checkpoint = file::checkpoint(&view)?.map_or(Offset::ZERO, |(offset, _)| offset);
    let mut members = Members { checkpoint, resources: BTreeSet::new(), clusters: BTreeSet::new() };
    let sql = "SELECT DISTINCT m.resource_id, c.name AS cluster FROM membership m
        JOIN resource r ON r.id = m.resource_id JOIN cluster c ON c.id = r.cluster_id WHERE m.environment_id = ?1";
    let mut statement = view.prepare(sql)?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        members.resources.insert(row.get("resource_id")?);
        members.clusters.insert(row.get("cluster")?);
    }
    drop(rows);
    drop(statement);
    Ok(Some(members))
}
