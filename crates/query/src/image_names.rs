//! The names of images, against which a pattern that matches nothing is compared.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, named_params};

use crate::error::Result;
use crate::moment::Moment;
use crate::scope::{ResolvedScope, reads};
use strandline_syntax::Image;

/// The images that anything had up to a moment …
const NAMES: &str = "SELECT repository, tag, digest FROM image i WHERE :scope IS NULL
    AND EXISTS (SELECT 1 FROM image_use u WHERE u.image_id = i.id AND u.from_offset <= :at)";

/// … and those that environments had while a scope read them.
const NAMES_OF_SCOPE: &str = concat!(
    "SELECT DISTINCT i.repository, i.tag, i.digest FROM (SELECT DISTINCT x.environment_id FROM temp.sight_reads s
            CROSS JOIN environment_audience x INDEXED BY environment_audience_by_audience ON x.audience = s.audience) mine
        CROSS JOIN environment e ON e.id = mine.environment_id AND e.from_offset <= :at
        CROSS JOIN membership m ON m.environment_id = e.id AND m.from_offset < e.to_offset AND m.to_offset > e.from_offset
            AND m.from_offset <= :at
        CROSS JOIN image_use u ON u.resource_id = m.resource_id AND u.from_offset < m.to_offset
            AND u.to_offset > m.from_offset AND u.from_offset <= :at
        JOIN image i ON i.id = u.image_id WHERE ",
    reads!()
);

/// In full, the images that the caller sees or has seen by then.
pub(super) fn all(view: &Connection, moment: &Moment, scope: &ResolvedScope) -> Result<BTreeSet<String>> {
    let name = |row: &Row<'_>| {
        let image = Image { repository: row.get(0)?, tag: row.get(1)?, digest: row.get(2)? };
        Ok(match image.tag.is_empty() || image.digest.is_empty() {
            true => image.name(),
            false => format!("{}@{}", image.name(), image.digest),
        })
    };
    let mut statement = view.prepare_cached(if scope.is_everything() { NAMES } else { NAMES_OF_SCOPE })?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql() };
    let rows = statement.query_map(params, name)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
