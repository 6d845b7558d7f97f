//! Projects as the catalog declares them.

use rusqlite::{OptionalExtension, params};

use super::super::OPEN;
use super::super::context::Apply;
use super::rows::{self, Table, json, number, text};
use super::{environments, viewers};
use strandline_model::{Labels, ProjectSpec, Source};
use strandline_sqlite::column;

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
    environments::settle_upon(at, "project", path)
}

/// GitLab's number of a project, and its labels.
pub(super) fn find(at: &Apply<'_>, path: &str) -> rusqlite::Result<(Option<i64>, Labels)> {
    let sql = "SELECT number, labels FROM project WHERE path = ?1 AND to_offset = ?2";
    let found = at
        .connection
        .prepare_cached(sql)?
        .query_row(params![path, OPEN], |row| Ok((row.get(0)?, column::json(row, 1)?)));
    Ok(found.optional()?.unwrap_or_default())
}
