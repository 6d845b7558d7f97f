//! The activity of environments: what happened to them, one by one and counted by the hour.
//!
//! While a record is applied, memberships and the resource itself add to a draft; what that comes to is written at the
//! end, so that a resource that leaves and comes back within one change did neither. A change of a resource in one
//! environment costs a narrow row at the end of its hour.
//!
//! Why: docs/decisions/0025-kubernetes-events-are-folded-not-resources.md.

use std::collections::BTreeSet;
use std::collections::hash_map::{Entry, HashMap};

use rusqlite::params;

use super::activity_draft::{ActivityDraft, OwnChange};
use super::addresses::{Address, address};
use super::columns::OPEN;
use super::context::Apply;
use super::event_feed::Said;
use super::feed;
use strandline_model::{Happening, ResourceId};
use strandline_sqlite::column::PackedUid;

/// Writes what happened to resources.
pub(super) fn write(at: &mut Apply<'_>) -> rusqlite::Result<()> {
    let ActivityDraft { own, environments, moves, request, reporter, .. } = std::mem::take(&mut at.activity);
    if let Some(manager) = reporter {
        for &environment in &environments {
            at.ids.note_controller(at.connection, environment, manager, at.offset)?;
        }
    }
    let mut events: HashMap<ResourceId, Vec<Said>> = HashMap::new();
    for (&(environment, id), &moved) in &moves {
        let own = own.and_then(|(own, change)| (own == id).then_some(change));
        let what = match moved {
            0 => continue,
            1.. if own == Some(OwnChange::Created) => Happening::Created,
            1.. => Happening::Joined,
            _ if own == Some(OwnChange::Deleted) => Happening::Deleted,
            _ => Happening::Parted,
        };
        insert(at, environment, what, id.0);
        if let (Some(request), Happening::Created | Happening::Deleted) = (request, what) {
            feed::insert(at, environment, what, id.0, request.manager)?;
        }
        if moved > 0 {
            let events = match events.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(earlier_events(at, id, true)?),
            };
            insert_earlier_events(at, environment, events)?;
        }
    }
    match own {
        Some((id, OwnChange::Changed)) => {
            for environment in environments {
                if moves.get(&(environment, id)).is_none_or(|moved| *moved == 0) {
                    insert(at, environment, Happening::Changed, id.0);
                    if let Some(request) = request {
                        feed::insert(at, environment, Happening::Changed, id.0, request.manager)?;
                    }
                }
            }
        }
        // Its owner may have gone first, and taken it out of where it belonged before it ended.
        Some((id, OwnChange::Deleted)) if !moves.keys().any(|(_, moved)| *moved == id) => {
            let last = numbers(at, ENVIRONMENTS_OF_RESOURCE[1], params![id, OPEN])?;
            if !last.is_empty() {
                let events = earlier_events(at, id, had_name_last(at, id.0)?)?;
                for environment in last {
                    insert_earlier_events(at, environment, &events)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Resources that an Event is about: by uid or, where it gives none, whoever carries the name, or did last.
const RESOURCES_OF_EVENT: [&str; 2] = [
    "SELECT r.id FROM kube_event k JOIN resource r ON r.uid = k.uid AND r.cluster_id = k.cluster_id
        WHERE k.id = ?1 AND k.uid <> ''",
    r#"SELECT r.id FROM kube_event k
        JOIN kind rk ON rk.cluster_id = k.cluster_id AND rk."group" = k."group" AND rk.kind = k.kind
        JOIN resource r ON r.kind_id = rk.id AND r.namespace = k.namespace AND r.name = k.name
        WHERE k.id = ?1 AND k.uid = ''
        ORDER BY (SELECT max(v.from_offset) FROM version v WHERE v.resource_id = r.id) DESC LIMIT 1"#,
];

/// Events about what stands at an address of the cluster `?1`: by the uid `?2`, and by the group, kind, namespace and name `?2` to `?5`.
const EVENTS_OF_RESOURCE: [&str; 2] = [
    "SELECT id FROM kube_event WHERE uid = ?2 AND uid <> '' AND cluster_id = ?1",
    r#"SELECT id FROM kube_event
        WHERE uid = '' AND name = ?5 AND kind = ?3 AND namespace = ?4 AND "group" = ?2 AND cluster_id = ?1"#,
];

/// How far what they are about belonged anywhere before it came at `?2`.
const BELONGED: [&str; 2] = [
    "SELECT max(m.to_offset) FROM membership m
        WHERE m.resource_id = ?1 AND m.from_offset < ?2 AND m.from_offset < m.to_offset",
    "SELECT max(m.to_offset) FROM resource r
        JOIN resource o ON o.kind_id = r.kind_id AND o.namespace = r.namespace AND o.name = r.name
        JOIN membership m ON m.resource_id = o.id
        WHERE r.id = ?1 AND m.from_offset < ?2 AND m.from_offset < m.to_offset",
];

/// From where on it is known whole where a resource belonged.
const FLOOR_OF_RESOURCE: &str = r#"SELECT max(f.floor) FROM resource r JOIN kind k ON k.id = r.kind_id
    JOIN cluster c ON c.id = r.cluster_id
    JOIN kind_floor f ON f.cluster = c.name AND f."group" = k."group" AND f.kind = k.kind
    WHERE r.id = ?1"#;

/// Environments to which a resource belongs or, where it has ended, belonged last, as long as these have the audience of then.
const ENVIRONMENTS_OF_RESOURCE: [&str; 2] = [
    "SELECT environment_id FROM membership WHERE resource_id = ?1 AND to_offset = ?2",
    "SELECT m.environment_id FROM membership m WHERE m.resource_id = ?1 AND m.from_offset < m.to_offset
        AND m.to_offset = (SELECT max(to_offset) FROM membership WHERE resource_id = ?1 AND from_offset < to_offset)
        AND EXISTS (SELECT 1 FROM version v WHERE v.resource_id = ?1 AND v.to_offset = ?2 AND v.deleted = 1)
        AND EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = m.environment_id
            AND e.from_offset < m.to_offset AND e.to_offset = ?2)",
];

/// Writes an Event for the environments to which what it is about belongs; one that was said before is no news.
pub(super) fn write_event(at: &mut Apply<'_>, event: i64, is_new: bool) -> rusqlite::Result<()> {
    let mut environments = BTreeSet::new();
    let [by_uid, by_name] = RESOURCES_OF_EVENT;
    for (sql, is_by_name) in [(by_uid, false), (by_name, true)] {
        for resource in numbers(at, sql, params![event])? {
            let [belongs, belonged] = ENVIRONMENTS_OF_RESOURCE;
            environments.extend(numbers(at, belongs, params![resource, OPEN])?);
            if !is_by_name || had_name_last(at, resource)? {
                environments.extend(numbers(at, belonged, params![resource, OPEN])?);
            }
        }
    }
    if environments.is_empty() {
        return Ok(());
    }
    let Some(said) = Said::last(at, event)? else { return Ok(()) };
    let what = kind_of_event(&said);
    for environment in environments {
        insert(at, environment, what, event);
        said.write(at, environment)?;
        if is_new {
            feed::insert_warning(at, environment, &said)?;
        }
    }
    Ok(())
}

/// Whether nobody else of its name has belonged anywhere since a resource did.
fn had_name_last(at: &Apply<'_>, resource: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM resource r
            JOIN resource o ON o.kind_id = r.kind_id AND o.namespace = r.namespace AND o.name = r.name
            JOIN membership m ON m.resource_id = o.id
        WHERE r.id = ?1 AND m.from_offset < m.to_offset AND m.to_offset >
            (SELECT max(to_offset) FROM membership WHERE resource_id = ?1 AND from_offset < to_offset))";
    at.connection.prepare_cached(sql)?.query_row([resource], |row| row.get(0))
}

/// Events that came before a resource that joins, or has ended, while what they are about belonged nowhere: those that give its
/// uid and, where its name is its own, those that give that alone.
fn earlier_events(at: &Apply<'_>, id: ResourceId, has_name: bool) -> rusqlite::Result<Vec<Said>> {
    let offset = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
        let found =
            at.connection.prepare_cached(sql)?.query_row(params, |row| row.get::<_, Option<i64>>(0))?;
        Ok::<_, rusqlite::Error>(found.unwrap_or(0))
    };
    let Address { cluster, uid, kind, namespace, name, .. } = &*address(at, id)?;
    let [by_uid, by_name] = EVENTS_OF_RESOURCE;
    let by_uid = numbers(at, by_uid, params![cluster, PackedUid(uid.as_str())])?;
    let by_name = match has_name {
        true => numbers(at, by_name, params![cluster, kind.group, kind.kind, namespace, name])?,
        false => Vec::new(),
    };
    let mut earlier = Vec::new();
    for (events, belonged) in [by_uid, by_name].into_iter().zip(BELONGED) {
        if events.is_empty() {
            continue;
        }
        let since = offset(belonged, &[&id, &at.offset])?.max(offset(FLOOR_OF_RESOURCE, &[&id])?);
        for event in events {
            earlier.extend(Said::last(at, event)?.filter(|said| said.offset >= since));
        }
    }
    Ok(earlier)
}

/// Events may come before their object, and are then written with its coming; or before its end, and are then written with that.
fn insert_earlier_events(at: &mut Apply<'_>, environment: i64, events: &[Said]) -> rusqlite::Result<()> {
    for said in events {
        let (what, event) = (kind_of_event(said), said.event);
        insert(at, environment, what, event);
        said.write(at, environment)?;
        feed::insert_warning(at, environment, said)?;
    }
    Ok(())
}

fn kind_of_event(said: &Said) -> Happening {
    if said.is_warning { Happening::Warned } else { Happening::Said }
}

/// Writes a deployment that is new, or has made progress.
pub(super) fn write_deployment(
    at: &mut Apply<'_>,
    environment: i64,
    id: i64,
    what: Happening,
) -> rusqlite::Result<()> {
    if what == Happening::Deployed {
        feed::insert(at, environment, what, id, None)?;
    }
    insert(at, environment, what, id);
    Ok(())
}

fn numbers(at: &Apply<'_>, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Vec<i64>> {
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    rows.collect()
}

fn insert(at: &mut Apply<'_>, environment: i64, what: Happening, subject: i64) {
    at.tallies.add_happening((environment, at.offset, what, subject), at.observed_at);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::file;
    use strandline_sqlite::Role;

    #[test]
    fn a_uid_is_found_without_a_walk_through_its_cluster() {
        let dir = tempfile::tempdir().unwrap();
        let view = file::open_writer(&dir.path().join("view.db"), Role::ViewWriter).unwrap();
        let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {}", RESOURCES_OF_EVENT[0])).unwrap();
        let steps = plan.query_map([1], |row| row.get(3)).unwrap();
        let steps: Vec<String> = steps.collect::<rusqlite::Result<_>>().unwrap();
        assert!(steps.iter().any(|step| step.contains("resource_by_uid (uid=?")), "{steps:?}");
    }
}
