//! How the environments stand that a scope sees, where these are so few that to read them takes less than to keep all.

use rusqlite::{Connection, named_params};

use super::shared::Shared;
use super::standing::{Shows, Standing, declared, holding, shows};
use crate::error::Result;
use strandline_model::Offset;

/// From the scope's audiences on.
const IN_SIGHT: &str = concat!(
    "SELECT ",
    declared!(),
    ", ",
    shows!(),
    " FROM temp.sight_sees s
    CROSS JOIN environment_audience a INDEXED BY environment_audience_by_audience
        ON a.audience = s.audience AND a.to_offset > :at AND a.from_offset <= :at
    CROSS JOIN environment e ON e.id = a.environment_id AND e.to_offset > :at AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = a.environment_id AND from_offset <= :at)
    CROSS JOIN stretch_health h ON h.environment_id = a.environment_id AND ",
    holding!()
);

/// Reads them by their numbers; what the scope sees is in the sets of the reader.
pub(super) fn read(view: &Connection, at: Offset) -> Result<Vec<Standing>> {
    let (mut statement, mut shared) = (view.prepare_cached(IN_SIGHT)?, Shared::default());
    let rows = statement.query_map(named_params! { ":at": at.as_i64() }, |row| {
        Standing::read(row, Shows::read(row, Standing::DECLARED)?, &mut shared)
    })?;
    let mut all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    all.sort_unstable_by_key(|one| one.number);
    Ok(all)
}
