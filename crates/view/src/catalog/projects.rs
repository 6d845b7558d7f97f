//! Projects as the catalog declares them.

use rusqlite::params;

use super::super::context::Apply;
use super::rows::{Table, number};
use super::{environments, viewers};
use strandline_model::{ProjectSpec, Source};
use strandline_sqlite::column::Json;

const PROJECT: Table = Table {
    is_same: "SELECT number IS ?4 AND default_branch IS ?5 AND labels IS ?6 AND source IS ?7
        FROM project WHERE path = ?1 AND to_offset = ?3",
    close: "UPDATE project SET to_offset = ?2 WHERE path = ?1 AND to_offset = ?3",
    open: "INSERT OR REPLACE INTO project
            (path, from_offset, to_offset, number, default_branch, labels, source)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
};

/// Makes a project what is declared of it, and settles its environments.
pub(super) fn settle(
    at: &mut Apply<'_>,
    path: &str,
    declared: Option<(&ProjectSpec, Source)>,
) -> rusqlite::Result<()> {
    let differs = match declared {
        None => PROJECT.replace(at, &path, None)?,
        Some((spec, source)) => {
            let row = params![number(spec.number), spec.default_branch, Json(&spec.labels), source];
            PROJECT.replace(at, &path, Some(row))?
        }
    };
    if !differs {
        return Ok(());
    }
    viewers::note(at, std::iter::once(path))?;
    environments::settle_upon(at, "project", path)
}
