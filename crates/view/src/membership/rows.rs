//! The rows of membership, and the counts that follow them.

use std::collections::BTreeSet;
use std::str::FromStr;

use rusqlite::{ToSql, params};

use super::super::context::Apply;
use super::super::intervals::MEMBERSHIP;
use super::super::{OPEN, member_health, member_health_at, word_at};
use super::Belonging;
use strandline_model::{Health, ResourceId};

/// How a resource belongs to an environment; a row of membership holds as long as none of this changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Belongs {
    pub(super) why: Why,
    /// Its first owner in the environment; none for a root.
    pub(super) owner: Option<ResourceId>,
    /// Whether its health is the environment's: that of a root, and of what its owners say nothing of.
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

impl Why {
    const fn as_str(self) -> &'static str {
        match self {
            Why::Matches => "matches",
            Why::Owned => "owned",
        }
    }
}

impl FromStr for Why {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = [Why::Matches, Why::Owned].into_iter().find(|why| why.as_str() == text);
        known.ok_or_else(|| format!("`{text}` is no reason to belong"))
    }
}

/// What a resource belongs to.
pub(super) fn held(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Belonging> {
    let sql = "SELECT environment_id, why, owner_id, counted, health FROM membership
        WHERE resource_id = ?1 AND to_offset = ?2";
    let mut statement = at.connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![id.0, OPEN])?;
    let mut held = Belonging::new();
    while let Some(row) = rows.next()? {
        let belongs = Belongs {
            why: word_at(row, 1, "reason to belong", "membership.why")?,
            owner: row.get::<_, Option<i64>>(2)?.map(ResourceId),
            counted: row.get(3)?,
            health: member_health_at(row, 4, "membership.health")?,
        };
        held.insert(row.get(0)?, belongs);
    }
    Ok(held)
}

/// SQL for the environments of which a target, found for the resource `r` by some of its columns, matches it: when
/// none of the target's labels is missing from the resource.
macro_rules! matching {
    ($found:literal) => {
        concat!(
            "SELECT t.environment_id FROM resource r ",
            $found,
            " WHERE r.id = ?1 AND NOT EXISTS (
                SELECT 1 FROM json_each(t.labels) wanted
                WHERE (SELECT value FROM json_each(r.labels) WHERE key = wanted.key) IS NOT wanted.value)"
        )
    };
}

/// By its namespace; what is in none is found by an inventory only.
const BY_PLACE: &str = matching!(
    "JOIN target t ON t.cluster_id = r.cluster_id AND t.inventory = '' AND t.namespace = r.namespace AND t.namespace <> ''"
);

/// By its marks, and in the target's namespace if that has one, or as that namespace itself. The order is said because a
/// resource has few marks, and a cluster can have thousands of targets.
const BY_MARK: &str = matching!(
    r#"CROSS JOIN inventory_mark i ON i.resource_id = r.id
    CROSS JOIN target t ON t.cluster_id = r.cluster_id AND t.inventory = i.mark AND (t.namespace IN ('', r.namespace)
        OR (t.namespace = r.name AND r.kind_id = (SELECT id FROM kind
            WHERE cluster_id = r.cluster_id AND "group" = '' AND kind = 'Namespace')))"#
);

/// Environments of which a target matches a resource.
pub(super) fn matching(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    for sql in [BY_PLACE, BY_MARK] {
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map([id.0], |row| row.get(0))?;
        for environment in rows {
            found.insert(environment?);
        }
    }
    Ok(found)
}

/// Puts what a resource is to belong to in the place of what it belonged to.
pub(super) fn exchange(
    at: &mut Apply<'_>,
    id: ResourceId,
    held: &Belonging,
    wanted: &Belonging,
) -> rusqlite::Result<()> {
    if held == wanted {
        return Ok(());
    }
    let sql = "SELECT kind_id FROM resource WHERE id = ?1";
    let kind = at.connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0))?;
    for (environment, belongs) in held {
        if wanted.get(environment) != Some(belongs) {
            MEMBERSHIP.close(at, *environment, &[&id.0])?;
            if !wanted.contains_key(environment) {
                at.happened.went(*environment, id);
            }
            count(at, *environment, kind, belongs, -1)?;
        }
    }
    for (environment, belongs) in wanted {
        if held.get(environment) != Some(belongs) {
            open(at, *environment, id, kind, belongs)?;
            if !held.contains_key(environment) {
                at.happened.came(*environment, id);
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
    let owner = belongs.owner.map(|owner| owner.0);
    let health = member_health(belongs.health);
    let row: [&dyn ToSql; 6] = [&id.0, &kind, &owner, &health, &belongs.why.as_str(), &belongs.counted];
    MEMBERSHIP.open(at, environment, &row)
}

fn count(
    at: &mut Apply<'_>,
    environment: i64,
    kind: i64,
    belongs: &Belongs,
    by: i64,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO member_count (environment_id, kind_id, health, total, counted) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT DO UPDATE SET total = total + excluded.total, counted = counted + excluded.counted";
    let counted = if belongs.counted { by } else { 0 };
    let row = params![environment, kind, member_health(belongs.health), by, counted];
    at.connection.prepare_cached(sql)?.execute(row)?;
    at.touched.environments.insert(environment);
    Ok(())
}
