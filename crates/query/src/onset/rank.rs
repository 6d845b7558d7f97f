//! What a change may have to do with what followed.
//!
//! Why: docs/decisions/0025-kubernetes-events-are-folded-not-resources.md.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use strandline_model::{ChangedBy, Happening, Timestamp};
use strandline_object_diff::Class;
use strandline_protocol::Rank;

/// How much later than its effect a cause may seem to be: kinds are watched apart, and none waits for the other.
const DISORDER: Duration = Duration::from_secs(5);

/// How soon what follows directly from a change follows it.
const PROMPT: Duration = Duration::from_secs(60);

/// A change of a resource, as far as its rank depends on it.
#[derive(Clone, Debug)]
pub(super) struct Changed {
    pub(super) resource: i64,
    pub(super) offset: i64,
    pub(super) time: Timestamp,
    pub(super) what: Happening,
    /// What a change of state concerns.
    pub(super) parts: Vec<Class>,
    /// Who wrote last, as far as the object tells.
    pub(super) by: Option<ChangedBy>,
    /// Whether what was well needs attention from then on.
    pub(super) failed: bool,
}

impl Changed {
    /// Whether what is asked for is otherwise: the spec, or that it is there at all.
    fn is_asked(&self) -> bool {
        self.what != Happening::Changed || self.parts.contains(&Class::Spec)
    }

    /// Whether only what the cluster says of it is otherwise.
    fn is_report(&self) -> bool {
        !self.is_asked() && !self.parts.contains(&Class::Metadata)
    }

    fn is_deployment(&self) -> bool {
        matches!(self.what, Happening::Deployed | Happening::Progressed)
    }

    /// Who wrote it, where that is sure. Managers are dated to the second, so that who the object names may have written
    /// another change of the same second: the status subresource changes no spec, and who changed the spec then is still
    /// named with the report that follows.
    fn writer<'a>(&'a self, mut of_resource: impl Iterator<Item = &'a Changed>) -> Option<&'a str> {
        let by = self.by.as_ref().filter(|by| !by.manager.is_empty())?;
        let reports = by.subresource == "status";
        let before = |other: &Changed| other.offset < self.offset && other.is_asked() && other.by == self.by;
        let sure = match reports {
            true => !self.parts.contains(&Class::Spec),
            false => !self.is_report() || !of_resource.any(before),
        };
        sure.then_some(&by.manager)
    }
}

/// What surrounds the changes.
pub(super) struct Around<'a> {
    /// What the sick hang on, with how many links away.
    pub(super) upstream: &'a HashMap<i64, u64>,
    /// Who owns the sick, and the sick.
    pub(super) above: &'a HashSet<i64>,
    pub(super) owners: &'a Links,
    /// What each hangs on directly, its owners among it.
    pub(super) hangs_on: &'a Links,
    /// What each says itself that it acts on.
    pub(super) acts_on: &'a Links,
}

/// Resources with others, each by its number.
pub(super) type Links = HashMap<i64, Vec<i64>>;

fn linked(links: &Links, resource: i64) -> &[i64] {
    links.get(&resource).map_or(&[], Vec::as_slice)
}

/// The changes by what they are of.
struct Ranking<'a> {
    around: &'a Around<'a>,
    of: HashMap<i64, Vec<&'a Changed>>,
    /// Who wrote a status: a controller, whatever its name.
    controllers: HashSet<&'a str>,
}

/// The rank of each change, in their order, and the place that it has among those of its rank.
///
/// What has an owner is made by it: it follows where the owner was changed before, where it came or went, where nothing
/// sick hangs on it, and where it acts on what changed before, since then it is made from that. So a Deployment goes before
/// its ReplicaSets and Pods, these before the EndpointSlice that routes to them, and an operator's work before nothing.
///
/// What only reports is a symptom, but for what fails by itself and has the sick hang on it, such as a node that goes away.
pub(super) fn ranks(changes: &[Changed], around: &Around<'_>) -> Vec<(Rank, Order)> {
    let mut of: HashMap<i64, Vec<&Changed>> = HashMap::new();
    for change in changes.iter().filter(|change| !change.is_deployment()) {
        of.entry(change.resource).or_default().push(change);
    }
    let reports = changes.iter().filter(|change| change.is_report() && change.parts.contains(&Class::Status));
    let of_resource = |change: &Changed| of.get(&change.resource).into_iter().flatten().copied();
    let controllers = reports.filter_map(|change| change.writer(of_resource(change))).collect();
    let ranking = Ranking { around, of, controllers };
    let placed = |change| {
        let rank = ranking.rank(change);
        (rank, ranking.order(change, rank))
    };
    changes.iter().map(placed).collect()
}

/// Among changes of one rank: what people and pipelines wrote goes before what controllers did, the newest first, but what
/// directly follows a change of what it hangs on goes behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    controllers: bool,
    newest: Reverse<(Timestamp, i64)>,
    behind: u8,
}

impl Ranking<'_> {
    fn rank(&self, change: &Changed) -> Rank {
        let owners = linked(self.around.owners, change.resource);
        let hangs = self.around.upstream.contains_key(&change.resource);
        let asked_earlier =
            || self.of(change.resource).any(|other| other.is_asked() && other.offset < change.offset);
        match change.what {
            Happening::Deployed | Happening::Progressed => Rank::Deployment,
            _ if change.is_report() => {
                if self.fails_by_itself(change) {
                    Rank::Cause
                } else {
                    Rank::Symptom
                }
            }
            _ if self.follows(owners, change, Changed::is_asked) => Rank::Consequence,
            Happening::Changed if !change.is_asked() => {
                match asked_earlier() || self.is_controllers(change) {
                    true => Rank::Consequence,
                    false => Rank::Other,
                }
            }
            Happening::Changed if owners.is_empty() => {
                if hangs {
                    Rank::Cause
                } else {
                    Rank::Other
                }
            }
            Happening::Changed if hangs && !asked_earlier() && !self.is_made_from_others(change) => {
                Rank::Cause
            }
            _ if !owners.is_empty() => Rank::Consequence,
            _ if hangs => Rank::Cause,
            _ => Rank::Other,
        }
    }

    /// Where it stands: as what it directly follows, and behind it.
    fn order(&self, change: &Changed, rank: Rank) -> Order {
        // A report that is a cause tells of what failed by itself, not of a controller's work.
        let by_itself = change.is_deployment() || (rank == Rank::Cause && change.is_report());
        let controllers = !by_itself && self.is_controllers(change);
        let before = linked(self.around.hangs_on, change.resource).iter().flat_map(|on| self.of(*on));
        let before = before.filter(|other| {
            let since = change.time.since(other.time);
            other.is_asked()
                && other.resource != change.resource
                && other.time <= change.time
                && since <= PROMPT
        });
        match before.map(|other| (other.time, other.offset)).max().filter(|_| !change.is_deployment()) {
            Some(place) => Order { controllers, newest: Reverse(place), behind: 1 },
            None => Order { controllers, newest: Reverse((change.time, change.offset)), behind: 0 },
        }
    }

    fn of(&self, resource: i64) -> impl Iterator<Item = &Changed> {
        self.of.get(&resource).into_iter().flatten().copied()
    }

    /// Whether any of these resources changed so before a change.
    fn follows(&self, resources: &[i64], change: &Changed, so: fn(&Changed) -> bool) -> bool {
        let before = |other: &Changed| other.time <= change.time.plus(DISORDER);
        let others = resources.iter().filter(|other| **other != change.resource);
        others.flat_map(|other| self.of(*other)).any(|other| so(other) && before(other))
    }

    /// Whether a report tells of a failure above which nothing is known to have happened.
    fn fails_by_itself(&self, change: &Changed) -> bool {
        let Around { upstream, above, hangs_on, .. } = self.around;
        // That it was made is no reason for its failure.
        let explains = |other: &Changed| {
            other.is_asked() && other.what != Happening::Created && other.time <= change.time.plus(DISORDER)
        };
        let upward =
            || [change.resource].into_iter().chain(linked(hangs_on, change.resource).iter().copied());
        let asked = || upward().flat_map(|one| self.of(one)).any(explains);
        change.failed
            && change.is_report()
            && upstream.contains_key(&change.resource)
            && !above.contains(&change.resource)
            && !self.is_made_from_others(change)
            && !asked()
    }

    /// Whether what it says of others, such as the endpoints of Pods, moved because these did.
    fn is_made_from_others(&self, change: &Changed) -> bool {
        self.follows(linked(self.around.acts_on, change.resource), change, |_| true)
    }

    fn is_controllers(&self, change: &Changed) -> bool {
        let writer = change.writer(self.of(change.resource));
        writer.is_some_and(|writer| self.controllers.contains(writer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &[Class] = &[Class::Spec, Class::Metadata];
    const STATUS: &[Class] = &[Class::Status];
    const METADATA: &[Class] = &[Class::Metadata];

    /// A change at a minute.
    fn change(resource: i64, minute: i64, what: Happening, parts: &[Class]) -> Changed {
        let time = Timestamp::from_micros(minute * 60_000_000);
        Changed { resource, offset: minute, time, what, parts: parts.to_vec(), by: None, failed: false }
    }

    /// By a manager, in the second of a minute.
    fn by(manager: &str, change: Changed) -> Changed {
        by_the(manager, "", change)
    }

    fn by_the(manager: &str, subresource: &str, change: Changed) -> Changed {
        let (manager, operation) = (manager.into(), "Update".into());
        let by = ChangedBy { manager, operation, subresource: subresource.into(), time: Some(change.time) };
        Changed { by: Some(by), ..change }
    }

    /// A Deployment 1 with ReplicaSet 2 and Pod 3, which is sick and mounts ConfigMap 4; 5 is elsewhere, 6 is owned by it;
    /// 7 is a Service that owns EndpointSlice 8, which routes to the Pod.
    fn ranking(changes: &[Changed]) -> Vec<(Rank, Order)> {
        let upstream = HashMap::from([(3, 0), (2, 1), (4, 1), (8, 1), (1, 2), (7, 2)]);
        let owners = Links::from([(2, vec![1]), (3, vec![2]), (6, vec![5]), (8, vec![7])]);
        let hangs_on =
            Links::from([(1, vec![4]), (2, vec![1]), (3, vec![2, 4, 8]), (6, vec![5]), (8, vec![7])]);
        let acts_on = Links::from([(8, vec![3])]);
        let above = HashSet::from([3, 2, 1]);
        let around = Around {
            upstream: &upstream,
            above: &above,
            owners: &owners,
            hangs_on: &hangs_on,
            acts_on: &acts_on,
        };
        ranks(changes, &around)
    }

    fn ranked(changes: &[Changed]) -> Vec<Rank> {
        ranking(changes).into_iter().map(|(rank, _)| rank).collect()
    }

    /// Resources and minutes in the order in which they are told.
    fn told(changes: &[Changed]) -> Vec<(i64, i64)> {
        let mut all: Vec<_> = ranking(changes).into_iter().zip(changes).collect();
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, change)| (change.resource, change.offset)).collect()
    }

    #[test]
    fn what_controllers_make_of_a_change_follows_it() {
        let rollout = [
            change(1, 10, Happening::Changed, SPEC),
            change(2, 11, Happening::Created, &[]),
            change(1, 12, Happening::Changed, METADATA),
            change(3, 13, Happening::Created, &[]),
            change(3, 14, Happening::Changed, SPEC),
            change(3, 15, Happening::Changed, STATUS),
        ];
        use Rank::{Cause, Consequence, Symptom};
        assert_eq!(ranked(&rollout), [Cause, Consequence, Consequence, Consequence, Consequence, Symptom]);
    }

    #[test]
    fn an_owner_changed_afterwards_explains_nothing() {
        use Rank::{Cause, Consequence};
        let (set, deployment) =
            (change(2, 10, Happening::Changed, SPEC), change(1, 12, Happening::Changed, SPEC));
        assert_eq!(ranked(&[set.clone(), deployment]), [Cause, Cause]);
        let seen_late = Changed {
            time: set.time.plus(Duration::from_secs(4)),
            ..change(1, 11, Happening::Changed, SPEC)
        };
        assert_eq!(ranked(&[set, seen_late]), [Consequence, Cause], "kinds are watched apart");
    }

    #[test]
    fn what_is_made_from_others_follows_them() {
        let slice = change(8, 12, Happening::Changed, SPEC);
        let pod = change(3, 11, Happening::Changed, STATUS);
        use Rank::{Cause, Consequence, Symptom};
        assert_eq!(ranked(&[slice.clone(), pod]), [Consequence, Symptom], "endpoints of Pods that moved");
        assert_eq!(ranked(&[slice]), [Cause], "by hand");
        let service = change(7, 10, Happening::Changed, SPEC);
        assert_eq!(ranked(&[service, change(3, 11, Happening::Deleted, &[])]), [Cause, Consequence]);
    }

    #[test]
    fn what_the_sick_hang_on_goes_before_what_is_elsewhere() {
        let changes = [
            change(4, 10, Happening::Changed, SPEC),
            change(4, 11, Happening::Deleted, &[]),
            change(5, 12, Happening::Changed, SPEC),
            change(5, 13, Happening::Created, &[]),
            change(1, 14, Happening::Changed, METADATA),
            change(7, 15, Happening::Deployed, &[]),
        ];
        use Rank::{Cause, Deployment, Other};
        assert_eq!(ranked(&changes), [Cause, Cause, Other, Other, Other, Deployment]);
    }

    #[test]
    fn what_fails_by_itself_and_has_the_sick_hang_on_it_is_a_cause() {
        use Rank::{Cause, Symptom};
        let fails = |resource, minute| {
            let report = change(resource, minute, Happening::Changed, STATUS);
            Changed { failed: true, ..by_the("kubelet", "status", report) }
        };
        let ranked_first = |changes: &[Changed]| ranked(changes)[0];
        assert_eq!(ranked(&[fails(4, 10), fails(3, 11)]), [Cause, Symptom], "a node, and its Pod");
        assert_eq!(ranked_first(&[fails(1, 10)]), Symptom, "a Deployment tells of its Pods");
        assert_eq!(ranked_first(&[fails(5, 10)]), Symptom, "nothing hangs on it");
        assert_eq!(ranked_first(&[change(4, 10, Happening::Changed, STATUS)]), Symptom, "it is well");
        assert_eq!(ranked_first(&[fails(8, 10), fails(3, 9)]), Symptom, "it tells of what it routes to");
        assert_eq!(told(&[fails(4, 10), fails(4, 12)]), [(4, 12), (4, 10)], "the last time first");
        let asked = by("alice", change(4, 9, Happening::Changed, SPEC));
        assert_eq!(ranked(&[fails(4, 10), asked]), [Symptom, Cause], "of what was asked of it");
        let web = by("alice", change(1, 8, Happening::Changed, SPEC));
        assert_eq!(told(&[web, fails(4, 10)]), [(4, 10), (1, 8)], "no controller's work");
    }

    #[test]
    fn what_is_owned_causes_only_what_hangs_on_it() {
        use Rank::{Cause, Consequence};
        assert_eq!(ranked(&[change(2, 10, Happening::Changed, SPEC)]), [Cause], "by hand, or by an operator");
        assert_eq!(ranked(&[change(6, 10, Happening::Changed, SPEC)]), [Consequence]);
        assert_eq!(
            ranked(&[change(3, 10, Happening::Created, &[])]),
            [Consequence],
            "such as one rescheduled"
        );
    }

    #[test]
    fn a_cause_is_told_before_what_follows_from_it() {
        let config = |minute| by("alice", change(4, minute, Happening::Changed, SPEC));
        let web = |minute| by("reloader", change(1, minute, Happening::Changed, SPEC));
        assert_eq!(told(&[web(11), config(10)]), [(4, 10), (1, 11)], "a minute later, because of it");
        assert_eq!(told(&[config(10), web(13)]), [(1, 13), (4, 10)], "the newest first");
        let scaled = by("autoscaler", change(1, 14, Happening::Changed, SPEC));
        let report = by("autoscaler", change(1, 9, Happening::Changed, STATUS));
        assert_eq!(
            told(&[scaled.clone(), config(10), report])[..2],
            [(4, 10), (1, 14)],
            "people before controllers"
        );
        let labelled = Changed { parts: METADATA.to_vec(), ..scaled };
        let report = by("autoscaler", change(1, 9, Happening::Changed, STATUS));
        assert_eq!(ranked(&[labelled, report])[0], Rank::Consequence, "a controller's own mark");
    }
    #[test]
    fn who_is_named_with_a_report_of_the_same_second_is_no_controller_for_it() {
        let node = change(7, 9, Happening::Created, &[]);
        let node = by_the("kubelet", "status", node);
        let running = by_the("kubelet", "status", change(3, 10, Happening::Changed, STATUS));
        let applied = by("alice", change(1, 11, Happening::Changed, SPEC));
        // The controller's entry is as new as that of who applied, and stands before it.
        let report = Changed { by: applied.by.clone(), ..change(1, 12, Happening::Changed, STATUS) };
        let all = [node.clone(), running.clone(), applied, report];
        assert_eq!(told(&all)[..2], [(1, 11), (7, 9)], "who applied is no controller");
        // Or stands behind it.
        let applied = by_the("deployer", "status", change(1, 11, Happening::Changed, SPEC));
        let report = Changed { by: applied.by.clone(), ..change(1, 12, Happening::Changed, STATUS) };
        assert_eq!(
            told(&[node, running, applied, report])[..2],
            [(1, 11), (7, 9)],
            "a report writes no spec"
        );
    }
}
