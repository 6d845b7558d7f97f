//! One record, applied to the view.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::ids::Ids;
use super::resources::Standing;
use super::{catalog, coverage, environment_health, membership, resources};
use crate::model::{Change, Offset, Record, ResourceId, Timestamp};

/// What a record touched, for whoever follows the view live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Environments whose members, counts or health moved, by the log's number.
    pub environments: BTreeSet<i64>,
    /// Resources that took a new state or ended.
    pub resources: BTreeSet<ResourceId>,
}

impl Touched {
    /// Adds what another record touched.
    pub fn extend(&mut self, other: Touched) {
        self.environments.extend(other.environments);
        self.resources.extend(other.resources);
    }
}

/// The view at the moment a record is applied.
pub(super) struct Apply<'a> {
    pub(super) connection: &'a Connection,
    pub(super) ids: &'a mut Ids,
    pub(super) offset: Offset,
    pub(super) observed_at: Timestamp,
    pub(super) touched: Touched,
}

/// Applies a record within the caller's transaction and tells what it touched.
pub(super) fn apply(connection: &Connection, ids: &mut Ids, record: &Record) -> rusqlite::Result<Touched> {
    let mut at = Apply {
        connection,
        ids,
        offset: record.offset,
        observed_at: record.observed_at,
        touched: Touched::default(),
    };
    match &record.change {
        Change::Applied { id, key, uid, body, .. } => {
            let state = resources::judge(body);
            let applied = resources::applied(&mut at, *id, key, uid, &state)?;
            let after = Standing::Alive(state.verdict.health);
            if applied.relinked {
                membership::settle(&mut at, *id, applied.before, after)?;
            } else {
                membership::recount(&mut at, *id, applied.before, after)?;
            }
        }
        Change::Deleted { id, cause, .. } => {
            let before = resources::deleted(&mut at, *id, cause)?;
            membership::settle(&mut at, *id, before, Standing::Absent)?;
        }
        Change::Coverage(mark) => coverage::mark(&mut at, mark)?,
        Change::Declared { id, fact } => catalog::declared(&mut at, *id, fact)?,
        Change::Withdrawn { id, kind, name } => catalog::withdrawn(&mut at, *id, kind, name)?,
    }
    environment_health::settle(&mut at)?;
    Ok(at.touched)
}
