//! All members of an environment, as the forest of what owns what.
//!
//! Read in one pass over the rows of membership, which hold all that a forest needs, so that twenty thousand Pods
//! cost milliseconds. Nothing here recurses: chains of any depth, shared children and circles are walked in time
//! linear in the members.

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::stretch::holds;
use strandline_model::{Health, HealthCounts, Offset, attention, more_urgent};
use strandline_sqlite::column::VIEW;
use strandline_view::MemberHealth;

/// A member, as lists and trees need it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The view's number of the resource.
    pub(super) id: i64,
    /// The view's number of its kind, which is one of a cluster.
    pub(super) kind: i64,
    pub(super) health: Option<Health>,
    /// Whether its health is the environment's.
    pub(super) counted: bool,
    /// The place of its first owner; none for a root.
    pub(super) owner: Option<usize>,
}

/// Members with their places in the forest. Places are those of the list of members, which is in the order in which
/// they came into being.
pub(super) struct Forest {
    pub(super) members: Vec<Member>,
    pub(super) roots: Vec<usize>,
    children: Vec<Vec<usize>>,
    /// Each place before those below it.
    order: Vec<usize>,
    /// What needs attention most in each place and all below it.
    pub(super) worst: Vec<Option<Health>>,
    /// All below each place, by health.
    below: Vec<HealthCounts>,
}

impl Forest {
    /// Reads the members of an environment at an offset.
    pub(super) fn load(view: &Connection, at: Offset, environment: i64) -> Result<Self> {
        let sql = concat!(
            "SELECT m.resource_id, m.kind_id, m.health, m.counted, m.owner_id FROM membership m
            WHERE m.environment_id = :environment AND ",
            holds!("membership" m, environment_id = ":environment"),
            " ORDER BY m.resource_id"
        );
        let mut statement = view.prepare_cached(sql)?;
        let mut rows = statement.query(named_params! { ":environment": environment, ":at": at.as_i64() })?;
        let (mut members, mut owners) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            members.push(Member {
                id: row.get(0)?,
                kind: row.get(1)?,
                health: VIEW.get_at::<MemberHealth>(row, 2, "membership.health")?.0,
                counted: row.get(3)?,
                owner: None,
            });
            owners.push(row.get::<_, Option<i64>>(4)?);
        }
        for (place, owner) in owners.into_iter().enumerate() {
            let owner = owner.and_then(|id| members.binary_search_by_key(&id, |member| member.id).ok());
            members[place].owner = owner;
        }
        Ok(Forest::of(members))
    }

    /// The forest of members that are ordered by their numbers.
    pub(super) fn of(mut members: Vec<Member>) -> Self {
        let mut children = vec![Vec::new(); members.len()];
        for (place, member) in members.iter().enumerate() {
            if let Some(owner) = member.owner {
                children[owner].push(place);
            }
        }
        let mut roots: Vec<usize> =
            (0..members.len()).filter(|&place| members[place].owner.is_none()).collect();
        let order = cut_circles(&mut members, &mut roots, &mut children);
        let mut worst: Vec<Option<Health>> = members.iter().map(|member| member.health).collect();
        let mut below = vec![HealthCounts::default(); members.len()];
        for &place in order.iter().rev() {
            let Some(owner) = members[place].owner else { continue };
            worst[owner] = more_urgent(worst[owner], worst[place]);
            let mut counts = below[place];
            *counts.slot(members[place].health) += 1;
            below[owner].add(counts);
        }
        Forest { members, roots, children, order, worst, below }
    }

    /// What is directly below a place.
    pub(super) fn children(&self, place: usize) -> &[usize] {
        &self.children[place]
    }

    /// The way down to a place, from the root above it.
    pub(super) fn above(&self, place: usize) -> Vec<usize> {
        let up = std::iter::successors(Some(place), |&place| self.members[place].owner);
        let mut way: Vec<usize> = up.collect();
        way.reverse();
        way
    }

    /// All below a place, by health.
    pub(super) fn below(&self, place: usize) -> HealthCounts {
        self.below[place]
    }

    /// Each place before those below it.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The place of a resource.
    pub(super) fn find(&self, id: i64) -> Option<usize> {
        self.members.binary_search_by_key(&id, |member| member.id).ok()
    }

    /// Puts what needs attention first, then what came first.
    pub(super) fn sort(&self, places: &mut [usize]) {
        places.sort_by_cached_key(|&place| (attention(self.worst[place]), place));
    }
}

/// Makes a root of the first member of every circle and cuts the link that closes it; tells an order in which each
/// place comes before those below it.
fn cut_circles(members: &mut [Member], roots: &mut Vec<usize>, children: &mut [Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; members.len()];
    let mut order = Vec::with_capacity(members.len());
    let (mut start, mut next) = (0, 0);
    loop {
        if start == roots.len() {
            let Some(place) = (next..members.len()).find(|&place| !seen[place]) else { return order };
            next = place;
            let first = circle_above(members, place);
            if let Some(owner) = members[first].owner.take() {
                children[owner].retain(|&child| child != first);
            }
            roots.push(first);
        }
        let mut waiting = vec![roots[start]];
        seen[roots[start]] = true;
        start += 1;
        while let Some(place) = waiting.pop() {
            order.push(place);
            for &child in &children[place] {
                seen[child] = true;
                waiting.push(child);
            }
        }
    }
}

/// The first member of the circle to which one comes from a place by going from owner to owner.
fn circle_above(members: &[Member], place: usize) -> usize {
    let above = |place: usize| members[place].owner.unwrap_or(place);
    // Of two walkers, one twice as fast, the fast one meets the other in the circle.
    let (mut slow, mut fast) = (above(place), above(above(place)));
    while slow != fast {
        (slow, fast) = (above(slow), above(above(fast)));
    }
    let (mut first, mut here) = (slow, above(slow));
    while here != slow {
        (first, here) = (first.min(here), above(here));
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members with the given healths and owners.
    fn forest(members: &[(Option<Health>, Option<usize>)]) -> Forest {
        let member = |(place, &(health, owner)): (usize, &(Option<Health>, Option<usize>))| Member {
            id: place as i64 * 10,
            kind: 1,
            health,
            counted: owner.is_none(),
            owner,
        };
        Forest::of(members.iter().enumerate().map(member).collect())
    }

    const GOOD: Option<Health> = Some(Health::Healthy);
    const BAD: Option<Health> = Some(Health::Degraded);

    #[test]
    fn what_is_worst_below_shows_above() {
        let forest = forest(&[(GOOD, None), (None, Some(0)), (BAD, Some(1)), (GOOD, Some(1)), (GOOD, None)]);
        assert_eq!(forest.worst, [BAD, BAD, BAD, GOOD, GOOD]);
        assert_eq!(
            forest.below(0),
            HealthCounts { healthy: 1, degraded: 1, none: 1, ..HealthCounts::default() }
        );
        assert_eq!(forest.below(2).total(), 0);
        assert_eq!((forest.roots.as_slice(), forest.children(1)), (&[0, 4][..], &[2, 3][..]));
        assert_eq!((forest.find(20), forest.find(25)), (Some(2), None));
    }

    #[test]
    fn a_circle_is_cut_at_its_first_member() {
        let forest =
            forest(&[(GOOD, Some(2)), (GOOD, Some(0)), (BAD, Some(1)), (GOOD, Some(2)), (GOOD, Some(4))]);
        assert_eq!(forest.roots, [0, 4]);
        assert_eq!(forest.children(2), [3]);
        assert_eq!(forest.worst[0], BAD);
        assert_eq!(forest.order().len(), 5);
    }

    #[test]
    fn what_hangs_below_a_circle_stays_below_it_though_it_came_first() {
        let forest = forest(&[(GOOD, Some(1)), (GOOD, Some(3)), (BAD, Some(1)), (GOOD, Some(2))]);
        assert_eq!(forest.roots, [1]);
        assert_eq!((forest.children(1), forest.children(2)), (&[0, 2][..], &[3][..]));
        assert_eq!(forest.order().len(), 4);
    }

    #[test]
    fn a_long_chain_is_walked() {
        let chain: Vec<_> =
            (0..100_000_usize).map(|n| (if n == 99_999 { BAD } else { GOOD }, n.checked_sub(1))).collect();
        let forest = forest(&chain);
        assert_eq!((forest.worst[0], forest.below(0).total()), (BAD, 99_999));
    }
}
