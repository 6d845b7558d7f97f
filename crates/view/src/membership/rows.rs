//! The rows of membership, and the counts that follow them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{ToSql, params};

use super::super::addresses::{Address, address};
use super::super::columns::{MemberHealth, OPEN};
use super::super::context::Apply;
use super::super::segment::{Carried, SegmentTable};
use super::super::{environment_health, labels};
use strandline_model::{Health, Kind, Labels, ResourceId};
use strandline_sqlite::column::{Json, VIEW};

/// What belongs to environments, by environment.
const MEMBERSHIP: SegmentTable = SegmentTable {
    name: "membership",
    last: "SELECT stretch AS start, count(*) AS row_count, sum(from_offset = stretch) AS first_count,
            sum(to_offset < 140737488355327) AS ended_count FROM membership
        WHERE environment_id = ?1 AND stretch = (SELECT max(stretch) FROM membership WHERE environment_id = ?1)
        GROUP BY stretch",
    open: "INSERT INTO membership
            (environment_id, stretch, from_offset, to_offset, resource_id, kind_id, owner_id, health, matches, counted)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    close: "UPDATE membership SET to_offset = ?3
        WHERE environment_id = ?1 AND stretch = ?2 AND from_offset < ?3 AND to_offset = ?4
            AND resource_id = ?5",
    carry: "INSERT INTO membership
            (environment_id, stretch, from_offset, to_offset, resource_id, kind_id, owner_id, health, matches, counted)
        SELECT environment_id, ?3, ?3, to_offset, resource_id, kind_id, owner_id, health, matches, counted FROM membership
        WHERE environment_id = ?1 AND stretch = ?2 AND to_offset = ?4",
    carried: Carried::Anew {
        end: "UPDATE membership SET to_offset = ?3 WHERE environment_id = ?1 AND stretch = ?2 AND to_offset = ?4",
        forget: "DELETE FROM membership WHERE environment_id = ?1 AND stretch = ?2 AND from_offset = ?3",
        erase: "DELETE FROM membership
            WHERE environment_id = ?1 AND stretch = ?2 AND from_offset = ?3 AND to_offset = ?4
                AND resource_id = ?5",
    },
};

/// To which environments a resource belongs, by environment.
pub(super) type Belonging = BTreeMap<i64, Belongs>;

/// How a resource belongs to an environment; a row of membership holds as long as none of this changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Belongs {
    pub(super) why: Why,
    /// Its first owner in the environment; none for a root.
    pub(super) owner: Option<ResourceId>,
    /// Whether its health is the environment's: that of a root, and of what its owners do not reflect.
    pub(super) counted: bool,
    pub(super) health: Option<Health>,
}

/// By what a resource belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// By the group's own parameters, not only through an owner.
    Matches,
    /// Through an owner.
    Owned,
}

/// What a resource belongs to.
pub(super) fn current(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Belonging> {
    let sql = "SELECT environment_id, matches, owner_id, counted, health FROM membership
        WHERE resource_id = ?1 AND to_offset = ?2";
    let mut statement = at.connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![id, OPEN])?;
    let mut current = Belonging::new();
    while let Some(row) = rows.next()? {
        let belongs = Belongs {
            why: if row.get("matches")? { Why::Matches } else { Why::Owned },
            owner: row.get("owner_id")?,
            counted: row.get("counted")?,
            health: VIEW.get::<MemberHealth>(row, "membership.health")?.0,
        };
        let other = current.insert(row.get("environment_id")?, belongs);
        debug_assert!(other.is_none(), "one row is open for a resource and its environment");
    }
    Ok(current)
}

/// The targets that are found by a resource's marks, and in the target's namespace if that has one, or as that namespace itself. The order
/// is given because a resource has few marks, and a cluster can have thousands of targets. `?1` is the resource, `?2` and `?3` are
/// its cluster and namespace, and `?4` is the namespace that it is itself.
const BY_MARK: &str = "SELECT t.environment_id, t.labels FROM inventory_mark i
    CROSS JOIN target t ON t.cluster_id = ?2 AND t.inventory = i.mark AND t.namespace IN ('', ?3, ?4)
    WHERE i.resource_id = ?1";

/// Environments of which a target matches a resource, which it does when none of its labels is missing from that. What is
/// in no namespace is found by an inventory only.
pub(super) fn matching(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<BTreeSet<i64>> {
    let own = labels::of(at, id)?.unwrap_or_default();
    let mut found = BTreeSet::new();
    let Address { cluster, namespace, name, kind, .. } = &*address(at, id)?;
    if !namespace.is_empty() {
        let place = (*cluster, namespace.as_str());
        at.ids.targets.matching(at.connection, place, &own, |environment| {
            found.insert(environment);
        })?;
    }
    let mut by_mark = at.connection.prepare_cached(BY_MARK)?;
    let itself = if *kind == Kind::new("", "Namespace") { name } else { namespace };
    let mut rows = by_mark.query(params![id, cluster, namespace, itself])?;
    while let Some(row) = rows.next()? {
        let Json(wanted) = VIEW.get::<Json<Labels>>(row, "target.labels")?;
        if wanted.iter().all(|(name, value)| own.get(name) == Some(value)) {
            found.insert(row.get("environment_id")?);
        }
    }
    Ok(found)
}

/// Puts what a resource is to belong to in the place of what it belonged to.
pub(super) fn replace(
    at: &mut Apply<'_>,
    id: ResourceId,
    current: &Belonging,
    wanted: &Belonging,
) -> rusqlite::Result<()> {
    at.activity.set_environments(id, wanted.keys());
    if current == wanted {
        return Ok(());
    }
    let kind = address(at, id)?.kind_id;
    for (environment, belongs) in current {
        if wanted.get(environment) != Some(belongs) {
            at.segments.close(at.now(), &MEMBERSHIP, *environment, &[&id])?;
            if !wanted.contains_key(environment) {
                at.activity.add_left(*environment, id);
            }
            count(at, *environment, kind, belongs, -1)?;
        }
    }
    for (environment, belongs) in wanted {
        if current.get(environment) != Some(belongs) {
            open(at, *environment, id, kind, belongs)?;
            if !current.contains_key(environment) {
                at.activity.add_joined(*environment, id);
                at.lines.add_member(*environment, id);
                // The images of what is new are noted with themselves.
                if !at.is_new(id) {
                    at.lines.add_user(id, at.offset);
                }
            }
            count(at, *environment, kind, belongs, 1)?;
        }
    }
    Ok(())
}

fn open(
    at: &mut Apply<'_>,
    environment: i64,
    id: ResourceId,
    kind: i64,
    belongs: &Belongs,
) -> rusqlite::Result<()> {
    let Belongs { why, owner, counted, health } = belongs;
    let row: [&dyn ToSql; 6] = [&id, &kind, owner, &MemberHealth(*health), &(*why == Why::Matches), counted];
    at.segments.open(at.now(), &MEMBERSHIP, environment, &row)
}

fn count(
    at: &mut Apply<'_>,
    environment: i64,
    kind: i64,
    belongs: &Belongs,
    by: i64,
) -> rusqlite::Result<()> {
    let counted = if belongs.counted { by } else { 0 };
    environment_health::count(at, environment, (kind, belongs.health), (by, counted))
}
