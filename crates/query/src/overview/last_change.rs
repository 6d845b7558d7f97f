//! The newest change to an environment that no controller and no GitOps tool made: mostly somebody with a shell, or a script.
//! What clusters tell of who made a change is the name of a program, so that a person is not told from a pipeline that
//! uses the same one.

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::moment::Moment;
use crate::resources;
use crate::scope::{ResolvedScope, reads};
use strandline_model::{ChangedBy, Happening, Offset, Timestamp};
use strandline_protocol::{EnvironmentChange, EnvironmentSummary};
use strandline_sqlite::column::VIEW;

/// The newest changes of an environment whose maker is known, as far as the scope could read it then.
const NEWEST: &str = concat!(
    r#"SELECT f.observed_at, f."offset", f.what, f.subject, m.name, k.since IS NOT NULL
    FROM feed f INDEXED BY feed_by_environment
        JOIN manager m ON m.id = f.manager_id
        LEFT JOIN controller k ON k.environment_id = f.environment_id AND k.manager_id = f.manager_id
            AND k.since <= :at
    WHERE f.environment_id = :environment AND f."offset" > :compacted AND f."offset" <= :at AND f.what IN (0, 1)
        AND EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = f.environment_id
            AND e.from_offset <= f."offset" AND e.to_offset > f."offset" AND "#,
    reads!(),
    r#") ORDER BY f."offset" DESC, f.what DESC, f.subject DESC LIMIT :limit"#
);

/// The newest of the last [`EnvironmentSummary::CHANGES`] changes that is one of these, with what is still there of it after
/// what retention took.
pub(super) fn last_change(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    compacted: Offset,
    environment: i64,
) -> Result<Option<EnvironmentChange>> {
    let mut statement = view.prepare_cached(NEWEST)?;
    let (at, scope) = (moment.offset.as_i64(), scope.as_sql());
    let mut rows = statement.query(named_params! {
        ":environment": environment, ":at": at, ":scope": scope, ":compacted": compacted.as_i64(),
        ":limit": EnvironmentSummary::CHANGES.cast_signed(),
    })?;
    while let Some(row) = rows.next()? {
        let (by, is_controller): (String, bool) = (row.get(4)?, row.get(5)?);
        if is_controller || ChangedBy::is_name_of_gitops_tool(&by) {
            continue;
        }
        let what: Happening = VIEW.get_at(row, 2, "feed.what")?;
        let offset = Offset::from_i64(row.get(1)?);
        let mut held = resources::with_numbers(view, offset, &[row.get(3)?])?;
        let Some(held) = held.pop() else { continue };
        return Ok(Some(EnvironmentChange {
            id: held.resource.id,
            key: held.resource.key,
            what: what.as_str().to_owned(),
            by,
            offset,
            observed_at: Timestamp::from_micros(row.get(0)?),
        }));
    }
    Ok(None)
}
