//! Where resources are at home: the environments to which each belongs, for counts of what a scope sees.
//!
//! Sums over environments would count what belongs to two of them twice. So resources are counted by all the environments that they
//! share, mostly one, and a count is a scope's if one of these is.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::activity_draft::OwnChange;
use super::addresses::address;
use super::columns::OPEN;
use super::context::Apply;
use super::membership;
use super::presence::last_version;
use strandline_model::{Offset, ResourceId};

/// The environments to which a resource belongs, by their numbers.
pub(super) type Home = BTreeSet<i64>;

/// Counts the record's resource, and all that belongs to other environments than before it.
pub(super) fn count(at: &mut Apply<'_>) -> rusqlite::Result<()> {
    let own = at.activity.own;
    let mut moves: BTreeMap<ResourceId, Vec<(i64, i32)>> = BTreeMap::new();
    if let Some((id, _)) = own {
        moves.insert(id, Vec::new());
    }
    for (&(environment, id), &by) in at.activity.moves.iter().filter(|(_, by)| **by != 0) {
        moves.entry(id).or_default().push((environment, by));
    }
    for (id, moves) in moves {
        let own = own.and_then(|(own, change)| (own == id).then_some(change));
        let after = match own {
            Some(_) => at.activity.environments.clone(),
            None => membership::home(at, id)?,
        };
        let mut before = after.clone();
        for (environment, by) in moves {
            if by > 0 {
                before.remove(&environment)
            } else {
                before.insert(environment)
            };
        }
        match own {
            Some(OwnChange::Created) => add(at, id, &after, 1, Some(at.offset))?,
            Some(OwnChange::Changed) if before == after => add(at, id, &after, 0, Some(at.offset))?,
            Some(OwnChange::Changed) => {
                add(at, id, &before, -1, None)?;
                add(at, id, &after, 1, Some(at.offset))?;
            }
            // That it ended is told where it belonged last.
            Some(OwnChange::Deleted) if before.is_empty() => {
                let last = last_home(at, id)?;
                add(at, id, &last, 0, Some(at.offset))?;
            }
            Some(OwnChange::Deleted) => add(at, id, &before, -1, Some(at.offset))?,
            None => {
                add(at, id, &before, -1, None)?;
                let state = last_version(at, id)?.map(|last| last.from);
                add(at, id, &after, 1, state)?;
            }
        }
    }
    Ok(())
}

/// Adds to what is counted at a home, with where a resource there changed; at none nothing is.
fn add(
    at: &mut Apply<'_>,
    id: ResourceId,
    home: &Home,
    by: i64,
    changed: Option<Offset>,
) -> rusqlite::Result<()> {
    if !home.is_empty() {
        let address = address(at, id)?;
        at.tallies.add_at_home((address.kind_id, home), &address.namespace, by, changed);
    }
    Ok(())
}

/// Where a resource belonged before it left all environments.
fn last_home(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Home> {
    let sql = "SELECT environment_id FROM membership
        WHERE resource_id = ?1 AND from_offset < to_offset AND to_offset = (SELECT max(to_offset) FROM membership
            WHERE resource_id = ?1 AND from_offset < to_offset AND to_offset < ?2)";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![id, OPEN], |row| row.get("environment_id"))?;
    rows.collect()
}
