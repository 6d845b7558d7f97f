//! One record, applied to the view.

use rusqlite::Connection;

use super::context::{Apply, Judging, Touched};
use super::ids::Ids;
use super::resources::{Applied, Standing};
use super::{catalog, coverage, environment_health, kube_events, membership, resource_count, resources};
use crate::model::{Change, Record};

/// Applies a record within the caller's transaction and tells what it touched.
pub(super) fn apply(
    connection: &Connection,
    ids: &mut Ids,
    rules: Judging<'_>,
    record: &Record,
) -> rusqlite::Result<Touched> {
    let mut at = Apply {
        connection,
        ids,
        rules,
        offset: record.offset,
        observed_at: record.observed_at,
        touched: Touched::default(),
    };
    match &record.change {
        Change::Applied { key, uid, body, .. } if key.kind.is_event() => {
            kube_events::said(&mut at, key, uid, body)?;
        }
        // What was said stays said.
        Change::Deleted { key, .. } if key.kind.is_event() => {}
        Change::Applied { id, key, uid, body, .. } => {
            let state = resources::judge(rules, body);
            let health = state.verdict.health;
            let applied = resources::applied(&mut at, *id, key, uid, &state)?;
            let after = Standing::Alive(health);
            resource_count::changed(&mut at, key, applied.before, after)?;
            match applied.relinked {
                Some(relinked) => {
                    membership::settle(&mut at, *id, (applied.before, after), relinked.owned)?;
                }
                None => membership::rejudge(&mut at, *id, health)?,
            }
        }
        Change::Deleted { id, key, cause, .. } => {
            let Applied { before, relinked } = resources::deleted(&mut at, *id, cause)?;
            resource_count::changed(&mut at, key, before, Standing::Absent)?;
            let owned = relinked.unwrap_or_default().owned;
            membership::settle(&mut at, *id, (before, Standing::Absent), owned)?;
        }
        Change::Coverage(mark) => coverage::mark(&mut at, mark)?,
        Change::Declared { source, fact, .. } => catalog::declared(&mut at, *source, fact)?,
        Change::Withdrawn { kind, name, .. } => catalog::withdrawn(&mut at, *kind, name)?,
    }
    environment_health::settle(&mut at)?;
    Ok(at.touched)
}
