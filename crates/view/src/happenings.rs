//! What happened to environments, one by one and counted by the hour.
//!
//! While a record is applied, memberships and the resource itself say what they see; what that comes to is written at
//! the end, so that a resource that leaves and comes back within one change did neither. A change of a resource in one
//! environment costs a narrow row at the end of its hour and one upsert.
//!
//! Why: docs/decisions/0025-kubernetes-events-are-folded-not-resources.md.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::OPEN;
use super::context::Apply;
use strandline_model::{Happening, Hour, ResourceId, Stored};
use strandline_object::kube_event::EventType;

/// What the record itself says of its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    Created,
    Changed,
    Deleted,
}

/// What was seen while a record is applied.
#[derive(Debug, Default)]
pub(super) struct Happened {
    own: Option<(ResourceId, Own)>,
    /// To what the record's resource belongs.
    belongs: BTreeSet<i64>,
    /// How often more a resource came to an environment than it went.
    moves: BTreeMap<(i64, ResourceId), i32>,
}

impl Happened {
    /// Of which resource the record speaks.
    pub(super) fn own(&mut self, id: ResourceId, own: Own) {
        self.own = Some((id, own));
    }

    /// To what a resource belongs; only that of the record's own matters.
    pub(super) fn belongs<'a>(&mut self, id: ResourceId, environments: impl Iterator<Item = &'a i64>) {
        if self.own.is_some_and(|(own, _)| own == id) {
            self.belongs = environments.copied().collect();
        }
    }

    /// A resource came to an environment.
    pub(super) fn came(&mut self, environment: i64, id: ResourceId) {
        *self.moves.entry((environment, id)).or_default() += 1;
    }

    /// A resource went from an environment.
    pub(super) fn went(&mut self, environment: i64, id: ResourceId) {
        *self.moves.entry((environment, id)).or_default() -= 1;
    }
}

/// Writes what happened to resources.
pub(super) fn settle(at: &Apply<'_>) -> rusqlite::Result<()> {
    let Happened { own, belongs, moves } = &at.happened;
    for (&(environment, id), &moved) in moves {
        let own = own.and_then(|(own, how)| (own == id).then_some(how));
        let what = match moved {
            0 => continue,
            1.. if own == Some(Own::Created) => Happening::Created,
            1.. => Happening::Joined,
            _ if own == Some(Own::Deleted) => Happening::Deleted,
            _ => Happening::Parted,
        };
        note(at, environment, what, id.0)?;
        if moved > 0 {
            said_before(at, environment, id)?;
        }
    }
    let Some((id, Own::Changed)) = *own else { return Ok(()) };
    for &environment in belongs {
        if moves.get(&(environment, id)).is_none_or(|moved| *moved == 0) {
            note(at, environment, Happening::Changed, id.0)?;
        }
    }
    Ok(())
}

/// Resources of which an Event speaks: by uid or, where it gives none, by address.
const SPOKEN_OF: [&str; 2] = [
    "SELECT r.id FROM kube_event k JOIN resource r ON r.uid = k.uid AND r.cluster_id = k.cluster_id
        WHERE k.id = ?1 AND k.uid <> ''",
    r#"SELECT r.id FROM kube_event k
        JOIN kind rk ON rk.cluster_id = k.cluster_id AND rk."group" = k."group" AND rk.kind = k.kind
        JOIN resource r ON r.kind_id = rk.id AND r.namespace = k.namespace AND r.name = k.name
        WHERE k.id = ?1 AND k.uid = ''"#,
];

/// Events that speak of a resource, from an offset on.
const SAID_OF: [&str; 2] = [
    "SELECT k.id, k.type FROM resource r JOIN kube_event k ON k.uid = r.uid AND k.uid <> '' AND k.cluster_id = r.cluster_id
        WHERE r.id = ?1 AND (SELECT max(from_offset) FROM kube_event_count WHERE event_id = k.id) >= ?2",
    r#"SELECT k.id, k.type FROM resource r JOIN kind rk ON rk.id = r.kind_id
        JOIN kube_event k ON k.uid = '' AND k.name = r.name AND k.kind = rk.kind AND k.namespace = r.namespace
            AND k."group" = rk."group" AND k.cluster_id = r.cluster_id
        WHERE r.id = ?1 AND (SELECT max(from_offset) FROM kube_event_count WHERE event_id = k.id) >= ?2"#,
];

/// Environments that hold a resource or, where it has ended, held it last.
const HOLDERS: [&str; 2] = [
    "SELECT environment_id FROM membership WHERE resource_id = ?1 AND to_offset = ?2",
    "SELECT m.environment_id FROM membership m WHERE m.resource_id = ?1 AND m.from_offset < m.to_offset
        AND m.to_offset = (SELECT max(to_offset) FROM membership WHERE resource_id = ?1 AND from_offset < to_offset)
        AND EXISTS (SELECT 1 FROM version v WHERE v.resource_id = ?1 AND v.to_offset = ?2 AND v.deleted = 1)",
];

/// Writes that an Event said something, for the environments that hold what it speaks of.
pub(super) fn said(at: &Apply<'_>, event: i64) -> rusqlite::Result<()> {
    let sql = "SELECT type FROM kube_event WHERE id = ?1";
    let r#type: String = at.connection.prepare_cached(sql)?.query_row([event], |row| row.get(0))?;
    let mut environments = BTreeSet::new();
    for sql in SPOKEN_OF {
        for resource in numbers(at, sql, params![event])? {
            for sql in HOLDERS {
                environments.extend(numbers(at, sql, params![resource, OPEN])?);
            }
        }
    }
    environments.into_iter().try_for_each(|environment| note(at, environment, saying(&r#type), event))
}

/// Events may come before their object, and are then told with its coming; what was told before it left the same
/// environment is not told again.
fn said_before(at: &Apply<'_>, environment: i64, id: ResourceId) -> rusqlite::Result<()> {
    let sql = "SELECT coalesce(max(to_offset), 0) FROM membership
        WHERE environment_id = ?1 AND resource_id = ?2 AND to_offset < ?3 AND from_offset < to_offset";
    let left: i64 =
        at.connection.prepare_cached(sql)?.query_row(params![environment, id.0, OPEN], |row| row.get(0))?;
    for sql in SAID_OF {
        let mut statement = at.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![id.0, left])?;
        while let Some(row) = rows.next()? {
            note(at, environment, saying(row.get_ref(1)?.as_str()?), row.get(0)?)?;
        }
    }
    Ok(())
}

fn saying(r#type: &str) -> Happening {
    if r#type == EventType::Normal.as_str() { Happening::Said } else { Happening::Warned }
}

/// Writes that a deployment was told of, or went on.
pub(super) fn deployed(at: &Apply<'_>, environment: i64, id: i64, what: Happening) -> rusqlite::Result<()> {
    note(at, environment, what, id)
}

fn numbers(at: &Apply<'_>, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Vec<i64>> {
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    rows.collect()
}

fn note(at: &Apply<'_>, environment: i64, what: Happening, subject: i64) -> rusqlite::Result<()> {
    let (hour, offset) = (Hour::of(at.observed_at).0, at.offset.as_i64());
    let sql = r#"INSERT OR IGNORE INTO happening (hour, environment_id, "offset", what, subject, observed_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)"#;
    let row = params![hour, environment, offset, what.number(), subject, at.observed_at.as_micros()];
    if at.connection.prepare_cached(sql)?.execute(row)? > 0 {
        at.connection.prepare_cached(counting(what))?.execute([environment, hour])?;
    }
    Ok(())
}

/// Adds one to a column of an environment's hour.
macro_rules! one_more {
    ($column:literal) => {
        concat!(
            "INSERT INTO happening_count (environment_id, hour, ",
            $column,
            ") VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET ",
            $column,
            " = ",
            $column,
            " + 1"
        )
    };
}

const fn counting(what: Happening) -> &'static str {
    match what {
        Happening::Changed => one_more!("changed"),
        Happening::Created => one_more!("created"),
        Happening::Joined => one_more!("joined"),
        Happening::Deleted => one_more!("deleted"),
        Happening::Parted => one_more!("parted"),
        Happening::Said => one_more!("said"),
        Happening::Warned => one_more!("warned"),
        Happening::Deployed => one_more!("deployed"),
        Happening::Progressed => one_more!("progressed"),
    }
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
        let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {}", SPOKEN_OF[0])).unwrap();
        let steps = plan.query_map([1], |row| row.get(3)).unwrap();
        let steps: Vec<String> = steps.collect::<rusqlite::Result<_>>().unwrap();
        assert!(steps.iter().any(|step| step.contains("resource_by_uid (uid=?")), "{steps:?}");
    }
}
