//! Floors: the offsets from which kinds are known that retention prunes before the rest.

use rusqlite::{Connection, OptionalExtension, params};

use super::columns;
use super::compaction::prepare_if_there;
use super::error::LogError;
use super::row::RawRow;
use super::types::ChangeType;
use strandline_model::{Kind, Offset, Timestamp};

use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// From where on a kind of a cluster is known whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor {
    /// The cluster.
    pub cluster: String,
    /// The kind.
    pub kind: Kind,
    /// The oldest offset at which it is known.
    pub offset: Offset,
    /// When the change there was observed.
    pub observed_at: Timestamp,
    /// The earliest moment of anything that can be asked for, between which and that one the kind is not known.
    pub since: Timestamp,
}

/// The floors of all kinds of which something was pruned, by cluster, group and kind.
pub(super) fn floors(connection: &Connection) -> Result<Vec<Floor>> {
    let sql = r#"SELECT k.cluster, k."group", k.kind, t.floor, t.floor_at, coalesce((SELECT compacted_at FROM compaction),
            (SELECT observed_at FROM change ORDER BY "offset" LIMIT 1), t.floor_at) AS since
        FROM thinning t JOIN kind k ON k.id = t.kind_id ORDER BY k.cluster, k."group", k.kind"#;
    let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(Vec::new()) };
    let rows = statement.query_map([], |row| {
        Ok(Floor {
            cluster: row.get("cluster")?,
            kind: columns::kind(row)?,
            offset: LOG.get(row, "thinning.floor")?,
            observed_at: row.get("floor_at")?,
            since: row.get("since")?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Up to here some kind was thinned; zero where none was.
pub(super) fn reached(connection: &Connection) -> Result<Offset> {
    let sql = "SELECT max(thinned) FROM thinning";
    let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(Offset::ZERO) };
    Ok(statement.query_row([], |row| row.get::<_, Option<Offset>>(0))?.unwrap_or_default())
}

/// The floor of a change's kind, if retention prunes the kind before the rest.
pub(super) fn floor_of(connection: &Connection, subject: i64) -> Result<Option<Offset>> {
    let sql = "SELECT t.floor FROM thinning t JOIN subject s ON s.kind_id = t.kind_id WHERE s.id = ?1";
    let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(None) };
    Ok(statement.query_row([subject], |row| row.get(0)).optional()?)
}

/// Whether retention has pruned a change, which then has no body, or has one only because a kept one is stored
/// against it.
pub(super) fn is_pruned(connection: &Connection, row: &RawRow) -> Result<bool> {
    if row.has_no_body_left() {
        return Ok(true);
    }
    if !matches!(row.change_type()?, ChangeType::Applied | ChangeType::Deleted) {
        return Ok(false);
    }
    // What holds was looked at here, or left by the rest of retention, whichever came later.
    let sql = r#"SELECT max(coalesce(h."offset", 0), coalesce(k."offset", 0)) <> ?2
        FROM subject s JOIN thinning t ON t.kind_id = s.kind_id
        LEFT JOIN held h ON h.subject_id = s.id LEFT JOIN kept k ON k.subject_id = s.id
        WHERE s.id = ?1 AND t.thinned >= ?2"#;
    let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(false) };
    let found = statement.query_row(params![row.subject, row.offset], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

/// Checks that what holds of every thinned kind still has its body, and the keyframe that it needs.
pub(super) fn check_kept_bodies(connection: &Connection) -> Result<()> {
    let sql = r#"SELECT c."offset" FROM held h JOIN change c ON c."offset" IN (h."offset", h.base)
        WHERE c.body IS NULL AND c.frame_id IS NULL LIMIT 1"#;
    let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(()) };
    match statement.query_row([], |row| row.get(0)).optional()? {
        Some(offset) => {
            Err(LogError::Damaged { offset, what: "its body should have been kept, but is missing".into() })
        }
        None => Ok(()),
    }
}
