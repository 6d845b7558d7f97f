//! Which resources belong to which environments, and how many of each health there are.
//!
//! A resource belongs where a target matches it, and where one of its owners belongs. Whenever either may have
//! changed, the resource is settled anew and, if its environments changed, so is what it owns: a walk with a
//! queue, never a recursion, which ends because settling twice changes nothing.
//!
//! Owners can run in a circle, in which each would belong because the next does. So whoever may have lost what
//! it belonged through looks for a match above itself; where there is none, all that it met on the way leaves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rusqlite::params;

use super::OPEN;
use super::context::Apply;
use super::resources::Standing;
use super::{edges, health_to_i64, resources};
use crate::model::ResourceId;

/// How a resource belongs to an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Belongs {
    why: String,
    root: bool,
}

impl Belongs {
    /// By the group's own parameters, not only through an owner.
    fn matches(&self) -> bool {
        self.why == MATCHES
    }
}

const MATCHES: &str = "matches";
const OWNED: &str = "owned";

type Belonging = BTreeMap<i64, Belongs>;

/// Environments through which a resource may no longer belong by its owners.
type Doubts = BTreeSet<i64>;

/// Resources to be settled, each with what its owner lost.
type Queue = VecDeque<(ResourceId, Doubts)>;

/// Brings memberships and counts up to date after a resource went from one standing to another.
pub(super) fn settle(
    at: &mut Apply<'_>,
    id: ResourceId,
    before: Standing,
    after: Standing,
) -> rusqlite::Result<()> {
    let mut queue = Queue::new();
    // It may have lost an owner.
    let doubts = held(at, id)?.into_keys().collect();
    let moved = settle_one(at, id, (before, after), &doubts, &mut queue)?;
    // What it owns may be waiting for it to arrive, or lose it.
    let (came, went) = (before == Standing::Absent, after == Standing::Absent);
    if (came || went) && !moved {
        enqueue(at, id, &Doubts::new(), &mut queue)?;
    }
    drain(at, queue)
}

/// Moves the counts after a resource took another health and nothing else that matters here.
pub(super) fn recount(
    at: &mut Apply<'_>,
    id: ResourceId,
    before: Standing,
    after: Standing,
) -> rusqlite::Result<()> {
    if before == after {
        return Ok(());
    }
    let held = held(at, id)?;
    if held.is_empty() {
        return Ok(());
    }
    let kind = kind_of(at, id)?;
    for (environment, belongs) in held {
        count(at, environment, kind, before, belongs.root, -1)?;
        count(at, environment, kind, after, belongs.root, 1)?;
    }
    Ok(())
}

/// Settles resources whose own state did not change, and what depends on them.
pub(super) fn settle_all(
    at: &mut Apply<'_>,
    resources: impl IntoIterator<Item = ResourceId>,
) -> rusqlite::Result<()> {
    drain(at, resources.into_iter().map(|id| (id, Doubts::new())).collect())
}

fn drain(at: &mut Apply<'_>, mut queue: Queue) -> rusqlite::Result<()> {
    while let Some((id, doubts)) = queue.pop_front() {
        let standing = resources::standing(at, id)?;
        settle_one(at, id, (standing, standing), &doubts, &mut queue)?;
    }
    Ok(())
}

fn enqueue(at: &Apply<'_>, owner: ResourceId, lost: &Doubts, queue: &mut Queue) -> rusqlite::Result<()> {
    queue.extend(edges::owned(at, owner)?.into_iter().map(|id| (id, lost.clone())));
    Ok(())
}

/// Settles one resource; if its environments changed, queues what it owns and tells so.
fn settle_one(
    at: &mut Apply<'_>,
    id: ResourceId,
    (before, after): (Standing, Standing),
    doubts: &Doubts,
    queue: &mut Queue,
) -> rusqlite::Result<bool> {
    let held = held(at, id)?;
    let mut wanted = if after == Standing::Absent { Belonging::new() } else { wanted(at, id)? };
    if held.is_empty() && wanted.is_empty() {
        return Ok(false);
    }
    for (&environment, belongs) in &held {
        let by_owners = wanted.get(&environment).is_some_and(|wanted| !wanted.matches());
        if by_owners && (belongs.matches() || doubts.contains(&environment)) {
            let baseless = baseless(at, id, environment)?;
            if !baseless.is_empty() {
                wanted.remove(&environment);
                leave(at, environment, baseless.into_iter().filter(|other| *other != id), queue)?;
            }
        }
    }
    exchange(at, id, (&held, before), (&wanted, after))?;
    let lost: Doubts = held.keys().filter(|environment| !wanted.contains_key(environment)).copied().collect();
    let moved = !held.keys().eq(wanted.keys());
    if moved {
        enqueue(at, id, &lost, queue)?;
    }
    Ok(moved)
}

/// Puts what a resource is to belong to in the place of what it belonged to.
fn exchange(
    at: &mut Apply<'_>,
    id: ResourceId,
    (held, before): (&Belonging, Standing),
    (wanted, after): (&Belonging, Standing),
) -> rusqlite::Result<()> {
    let kind = kind_of(at, id)?;
    for (&environment, belongs) in held {
        let kept = wanted.get(&environment);
        if kept != Some(belongs) {
            close(at, environment, id)?;
        }
        if kept.map(|kept| (kept.root, after)) != Some((belongs.root, before)) {
            count(at, environment, kind, before, belongs.root, -1)?;
        }
    }
    for (&environment, belongs) in wanted {
        let kept = held.get(&environment);
        if kept != Some(belongs) {
            open(at, environment, id, belongs)?;
        }
        if kept.map(|kept| (kept.root, before)) != Some((belongs.root, after)) {
            count(at, environment, kind, after, belongs.root, 1)?;
        }
    }
    Ok(())
}

/// A resource and all above it that hold an environment, unless one of them matches it; then nothing.
fn baseless(at: &Apply<'_>, id: ResourceId, environment: i64) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let mut met = BTreeSet::from([id]);
    let mut waiting = vec![id];
    while let Some(next) = waiting.pop() {
        for owner in edges::owners(at, next)? {
            if met.contains(&owner) {
                continue;
            }
            match held(at, owner)?.get(&environment) {
                Some(belongs) if belongs.matches() => return Ok(BTreeSet::new()),
                Some(_) => {
                    met.insert(owner);
                    waiting.push(owner);
                }
                None => {}
            }
        }
    }
    Ok(met)
}

/// Takes resources out of an environment to which they belonged only by each other.
fn leave(
    at: &mut Apply<'_>,
    environment: i64,
    circle: impl Iterator<Item = ResourceId>,
    queue: &mut Queue,
) -> rusqlite::Result<()> {
    for id in circle {
        let Some(belongs) = held(at, id)?.remove(&environment) else { continue };
        let (kind, standing) = (kind_of(at, id)?, resources::standing(at, id)?);
        close(at, environment, id)?;
        count(at, environment, kind, standing, belongs.root, -1)?;
        enqueue(at, id, &Doubts::from([environment]), queue)?;
    }
    Ok(())
}

fn kind_of(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<i64> {
    let sql = "SELECT kind_id FROM resource WHERE id = ?1";
    at.connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0))
}

fn held(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Belonging> {
    let sql = "SELECT environment_id, why, root FROM membership WHERE resource_id = ?1 AND to_offset = ?2";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![id.0, OPEN], |row| {
        Ok((row.get(0)?, Belongs { why: row.get(1)?, root: row.get(2)? }))
    })?;
    rows.collect()
}

fn wanted(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Belonging> {
    let mut wanted = Belonging::new();
    for environment in matching(at, id)? {
        wanted.insert(environment, Belongs { why: MATCHES.into(), root: true });
    }
    for owner in edges::owners(at, id)? {
        for environment in held(at, owner)?.into_keys() {
            let belongs = wanted.entry(environment).or_insert(Belongs { why: OWNED.into(), root: false });
            belongs.root = false;
        }
    }
    Ok(wanted)
}

fn matching(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Vec<i64>> {
    // A target matches when none of its labels is missing from the resource.
    let sql = "SELECT DISTINCT t.environment_id FROM resource r
        JOIN target t ON t.cluster_id = r.cluster_id AND t.namespace = r.namespace
        WHERE r.id = ?1 AND NOT EXISTS (
            SELECT 1 FROM json_each(t.labels) wanted LEFT JOIN label l ON l.resource_id = r.id AND l.name = wanted.key
            WHERE l.value IS NOT wanted.value)";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map([id.0], |row| row.get(0))?;
    rows.collect()
}

fn close(at: &Apply<'_>, environment: i64, id: ResourceId) -> rusqlite::Result<()> {
    let sql = "UPDATE membership SET to_offset = ?3 WHERE environment_id = ?1 AND resource_id = ?2 AND to_offset = ?4";
    at.connection.prepare_cached(sql)?.execute(params![environment, id.0, at.offset.as_i64(), OPEN])?;
    Ok(())
}

fn open(at: &Apply<'_>, environment: i64, id: ResourceId, belongs: &Belongs) -> rusqlite::Result<()> {
    // A row of this very offset is overwritten: between two settlings of one change nothing was to be seen.
    let sql = "INSERT OR REPLACE INTO membership
        (environment_id, resource_id, from_offset, to_offset, why, root) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let from = at.offset.as_i64();
    at.connection.prepare_cached(sql)?.execute(params![
        environment,
        id.0,
        from,
        OPEN,
        belongs.why,
        belongs.root
    ])?;
    Ok(())
}

fn count(
    at: &mut Apply<'_>,
    environment: i64,
    kind: i64,
    standing: Standing,
    root: bool,
    by: i64,
) -> rusqlite::Result<()> {
    let Standing::Alive(health) = standing else { return Ok(()) };
    let sql =
        "INSERT INTO member_count (environment_id, kind_id, health, total, roots) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT DO UPDATE SET total = total + excluded.total, roots = roots + excluded.roots";
    let health = health.map_or(-1, health_to_i64);
    let roots = if root { by } else { 0 };
    at.connection.prepare_cached(sql)?.execute(params![environment, kind, health, by, roots])?;
    at.touched.environments.insert(environment);
    Ok(())
}
