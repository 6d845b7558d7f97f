//! The last offset at which a resource was there for who asks: the one rule for what is gone.

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::scope::{ResolvedScope, belonged, reads};
use strandline_model::Offset;

/// SQL for the last offset up to `:at` at which the resource `r` was there for `:scope`, or belonged to the environment
/// numbered `:environment`; NULL where it never was.
pub(super) const LAST: &str = concat!(
    "CASE WHEN :scope IS NULL AND :environment IS NULL THEN
        (SELECT CASE v.deleted WHEN 0 THEN :at ELSE v.from_offset - 1 END FROM version v
            WHERE v.resource_id = r.id AND v.from_offset <= :at ORDER BY v.from_offset DESC LIMIT 1)
    ELSE (SELECT max(min(m.to_offset, e.to_offset, :at + 1)) - 1
        FROM membership m CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
        WHERE m.resource_id = r.id AND (:environment IS NULL OR m.environment_id = :environment) AND ",
    belonged!(),
    " AND ",
    reads!(),
    ") END"
);

/// The last offset at which one of these resources was there for a scope.
pub(super) fn of_any(
    view: &Connection,
    at: Offset,
    scope: &ResolvedScope,
    numbers: &[i64],
) -> Result<Option<Offset>> {
    if numbers.is_empty() {
        return Ok(None);
    }
    let sql = format!("SELECT max({LAST}) FROM json_each(:numbers) n JOIN resource r ON r.id = n.value");
    let params = named_params! {
        ":numbers": serde_json::json!(numbers).to_string(), ":at": at.as_i64(), ":scope": scope.as_sql(),
        ":environment": None::<i64>,
    };
    let last: Option<i64> = view.prepare_cached(&sql)?.query_row(params, |row| row.get(0))?;
    Ok(last.map(Offset::from_i64))
}
