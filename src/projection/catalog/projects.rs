//! Projects as the catalog declares them.

use rusqlite::{OptionalExtension, params};

use super::super::OPEN;
use super::super::context::Apply;
use super::rows::{self, Table, json, number, text};
use super::{environments, viewers};
use crate::model::{Labels, ProjectSpec, Source};

const PROJECT: Table =
    Table { name: "project", key: "path", columns: &["number", "default_branch", "labels", "source"] };

/// Makes a project what is declared of it, and settles its environments.
pub(super) fn settle(
    at: &mut Apply<'_>,
    path: &str,
    declared: Option<(&ProjectSpec, Source)>,
) -> rusqlite::Result<()> {
    let wanted = declared.map(|(spec, source)| {
        let branch = text(spec.default_branch.as_str());
        vec![number(spec.number), branch, json(&spec.labels), text(source.as_str())]
    });
    if !rows::exchange(at, &PROJECT, text(path), wanted)? {
        return Ok(());
    }
    viewers::note(at, std::iter::once(path))?;
    let sql = "SELECT environment_id FROM environment_fact WHERE project = ?1
        UNION SELECT environment_id FROM declaration WHERE project = ?1 ORDER BY 1";
    environments::settle_all(at, sql, path)
}

/// GitLab's number of a project, and its labels.
pub(super) fn find(at: &Apply<'_>, path: &str) -> rusqlite::Result<(Option<i64>, Labels)> {
    let sql = "SELECT number, labels FROM project WHERE path = ?1 AND to_offset = ?2";
    let found = at.connection.prepare_cached(sql)?.query_row(params![path, OPEN], |row| {
        let labels: String = row.get(1)?;
        Ok((row.get(0)?, serde_json::from_str(&labels).unwrap_or_default()))
    });
    Ok(found.optional()?.unwrap_or_default())
}
