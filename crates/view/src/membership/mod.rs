//! Which resources belong to which environments, and how many of each health there are.
//!
//! A resource belongs where a target matches it, and where one of its owners belongs. Whenever either may have
//! changed, the resource is settled anew and, if its environments changed, so is what it owns: a walk with a
//! queue, never a recursion, which ends because settling twice changes nothing.
//!
//! Owners can run in a circle, in which each would belong because the next does. So whoever may have lost what
//! it belonged through looks for a match above itself; where there is none, all that it met on the way leaves.
//!
//! Why: docs/decisions/0014-graphs-count-what-they-leave-out.md.

mod rows;
mod targets;

use std::collections::{BTreeSet, VecDeque};

use self::rows::{Belonging, Belongs, Why};
pub(super) use self::targets::Targets;
use super::addresses::address;
use super::context::Apply;
use super::homes::Home;
use super::owners::{self, Around};
use super::presence::{Presence, presence};
use super::{labels, ruleset};
use strandline_model::{Health, ResourceId};

/// Environments through which a resource may no longer belong by its owners.
type Doubts = BTreeSet<i64>;

/// Resources to be settled, each with what its owner lost.
type Queue = VecDeque<(ResourceId, Doubts)>;

/// Brings memberships and counts up to date after a resource came, went or changed, or was linked anew;
/// `owned` are those that it owns, or not, by its own declaration.
pub(super) fn settle(
    at: &mut Apply<'_>,
    id: ResourceId,
    (before, after): (Presence, Presence),
    owned: Vec<ResourceId>,
) -> rusqlite::Result<()> {
    let mut queue = Queue::new();
    // It may have lost an owner.
    let current = at.had(id, |at| rows::current(at, id))?;
    let doubts = current.keys().copied().collect();
    let Settled { moved, owned: below } = settle_one(at, id, (current, after), &doubts, &mut queue)?;
    // What it owns may be waiting for it to arrive, or lose it.
    let (came, went) = (before == Presence::Absent, after == Presence::Absent);
    if (came || went) && !moved {
        queue.extend(below.into_iter().map(|id| (id, Doubts::new())));
    }
    for id in owned {
        let doubts = rows::current(at, id)?.into_keys().collect();
        queue.push_back((id, doubts));
    }
    drain(at, queue)
}

/// Takes over another health of a resource of which nothing else changed that matters here.
pub(super) fn rejudge(at: &mut Apply<'_>, id: ResourceId, health: Option<Health>) -> rusqlite::Result<()> {
    let current = rows::current(at, id)?;
    at.activity.set_environments(id, current.keys());
    if current.values().all(|belongs| belongs.health == health) {
        return Ok(());
    }
    let wanted =
        current.iter().map(|(environment, belongs)| (*environment, Belongs { health, ..belongs.clone() }));
    let wanted = wanted.collect();
    rows::replace(at, id, &current, &wanted)
}

/// The environments to which a resource belongs.
pub(super) fn home(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Home> {
    Ok(rows::current(at, id)?.into_keys().collect())
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
        let state = (rows::current(at, id)?, presence(at, id)?);
        settle_one(at, id, state, &doubts, &mut queue)?;
    }
    Ok(())
}

/// What came of settling a resource.
struct Settled {
    /// Whether its environments changed; then what it owns is queued.
    moved: bool,
    /// What it owns.
    owned: BTreeSet<ResourceId>,
}

/// Settles one resource, given to what it belongs and whether it is there; if its environments changed, queues what it owns.
fn settle_one(
    at: &mut Apply<'_>,
    id: ResourceId,
    (current, presence): (Belonging, Presence),
    doubts: &Doubts,
    queue: &mut Queue,
) -> rusqlite::Result<Settled> {
    let Around { owners, owned } = owners::around(at, id)?;
    let mut wanted = match presence {
        Presence::Absent => Belonging::new(),
        Presence::Present(health) => wanted(at, id, health, owners)?,
    };
    if current.is_empty() && wanted.is_empty() {
        return Ok(Settled { moved: false, owned });
    }
    for (&environment, belongs) in &current {
        let by_owners = wanted.get(&environment).is_some_and(|wanted| wanted.why == Why::Owned);
        if by_owners && (belongs.why == Why::Matches || doubts.contains(&environment)) {
            let baseless = baseless(at, id, environment)?;
            if !baseless.is_empty() {
                wanted.remove(&environment);
                leave(at, environment, baseless.into_iter().filter(|other| *other != id), queue)?;
            }
        }
    }
    rows::replace(at, id, &current, &wanted)?;
    let lost: Doubts =
        current.keys().filter(|environment| !wanted.contains_key(environment)).copied().collect();
    let moved = !current.keys().eq(wanted.keys());
    if moved {
        queue.extend(owned.iter().map(|id| (*id, lost.clone())));
    }
    Ok(Settled { moved, owned })
}

/// A resource and all above it that hold an environment, unless one of them matches it; then nothing.
fn baseless(at: &Apply<'_>, id: ResourceId, environment: i64) -> rusqlite::Result<BTreeSet<ResourceId>> {
    let mut met = BTreeSet::from([id]);
    let mut waiting = vec![id];
    while let Some(next) = waiting.pop() {
        for owner in owners::around(at, next)?.owners {
            if met.contains(&owner) {
                continue;
            }
            match rows::current(at, owner)?.get(&environment) {
                Some(belongs) if belongs.why == Why::Matches => return Ok(BTreeSet::new()),
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
        let current = rows::current(at, id)?;
        let mut wanted = current.clone();
        if wanted.remove(&environment).is_some() {
            rows::replace(at, id, &current, &wanted)?;
            let owned = owners::around(at, id)?.owned;
            queue.extend(owned.into_iter().map(|id| (id, Doubts::from([environment]))));
        }
    }
    Ok(())
}

/// What a resource with this health is to belong to: where a target matches it, and where its owners belong.
fn wanted(
    at: &Apply<'_>,
    id: ResourceId,
    health: Option<Health>,
    owners: BTreeSet<ResourceId>,
) -> rusqlite::Result<Belonging> {
    let mut wanted = Belonging::new();
    for environment in rows::matching(at, id)? {
        let belongs = Belongs { why: Why::Matches, owner: None, counted: false, health };
        wanted.insert(environment, belongs);
    }
    for owner in owners {
        for environment in rows::current(at, owner)?.into_keys() {
            let by_owner = Belongs { why: Why::Owned, owner: Some(owner), counted: false, health };
            wanted.entry(environment).or_insert(by_owner).owner.get_or_insert(owner);
        }
    }
    if !wanted.is_empty() {
        let (counts, by_itself) = counts(at, id)?;
        wanted
            .values_mut()
            .for_each(|belongs| belongs.counted = counts && (by_itself || belongs.owner.is_none()));
    }
    Ok(wanted)
}

/// Whether the rules count a resource's health, and whether they do though something owns it.
fn counts(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<(bool, bool)> {
    let rules = at.rules.set;
    let address = address(at, id)?;
    let by_itself = ruleset::counts_by_itself(&address.kind);
    if rules.exceptions.is_empty() {
        return Ok((true, by_itself));
    }
    let labels = labels::of(at, id)?.unwrap_or_default();
    Ok((rules.counts(&address.kind, |name| labels.get(name).map(String::as_str)), by_itself))
}
