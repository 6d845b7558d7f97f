//! Whether resources are there at present, and with which health.

use rusqlite::{OptionalExtension, Row};

use super::context::Apply;
use strandline_model::{Health, Offset, ResourceId, Timestamp};
use strandline_sqlite::column::VIEW;

/// Whether a resource exists and, if so, its health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Not there.
    Absent,
    /// There, with a health unless its kind has none.
    Present(Option<Health>),
}

/// The last version of a resource, as it is judged by now.
pub(super) struct LastVersion {
    pub(super) from: Offset,
    pub(super) presence: Presence,
    pub(super) health_since: Timestamp,
}

/// Reads the last version of a resource; none where it was never there.
pub(super) fn last_version(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Option<LastVersion>> {
    let sql = "SELECT from_offset, deleted, iif(later_offset IS NULL, health, later_health) AS health,
            iif(later_offset IS NULL OR later_health IS health, observed_at - lasted, later_at) AS health_since
        FROM version WHERE resource_id = ?1 ORDER BY from_offset DESC LIMIT 1";
    let read = |row: &Row<'_>| {
        let health = VIEW.get(row, "version.health")?;
        let presence = if row.get("deleted")? { Presence::Absent } else { Presence::Present(health) };
        let (from, health_since) = (VIEW.get(row, "version.from_offset")?, row.get("health_since")?);
        Ok(LastVersion { from, presence, health_since })
    };
    at.connection.prepare_cached(sql)?.query_row([id], read).optional()
}

/// Whether a resource is there at present.
pub(super) fn presence(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Presence> {
    Ok(last_version(at, id)?.map_or(Presence::Absent, |last| last.presence))
}
