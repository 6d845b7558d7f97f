//! What a change may have to do with what followed.

use std::collections::{HashMap, HashSet};

use super::super::types::Rank;
use crate::diff::Class;
use crate::model::Happening;

/// A change of a resource, as far as its rank depends on it.
#[derive(Clone, Debug)]
pub(super) struct Changed {
    pub(super) resource: i64,
    pub(super) offset: i64,
    pub(super) what: Happening,
    /// What a change of state concerns.
    pub(super) parts: Vec<Class>,
}

impl Changed {
    /// Whether what is asked for is otherwise: the spec, or that it is there at all.
    fn is_asked(&self) -> bool {
        self.what != Happening::Changed || self.parts.contains(&Class::Spec)
    }
}

/// What surrounds the changes.
pub(super) struct Around<'a> {
    /// What the sick hang on, with how many links away.
    pub(super) upstream: &'a HashMap<i64, u64>,
    pub(super) owners: &'a HashMap<i64, Vec<i64>>,
}

/// The rank of each change, in their order.
///
/// What has an owner is made by it: it follows where the owner was changed in the window, where it came or went, and where
/// nothing sick hangs on it. So a Deployment goes before its ReplicaSets and Pods, and an operator's work before nothing.
pub(super) fn ranks(changes: &[Changed], around: &Around<'_>) -> Vec<Rank> {
    let asked: HashSet<i64> =
        changes.iter().filter(|change| change.is_asked()).map(|change| change.resource).collect();
    let mut first_asked: HashMap<i64, i64> = HashMap::new();
    for change in changes.iter().filter(|change| change.is_asked()) {
        let first = first_asked.entry(change.resource).or_insert(change.offset);
        *first = (*first).min(change.offset);
    }
    let rank = |change: &Changed| {
        let owners = around.owners.get(&change.resource).map_or(&[][..], Vec::as_slice);
        let hangs = around.upstream.contains_key(&change.resource);
        let earlier = first_asked.get(&change.resource).is_some_and(|first| *first < change.offset);
        match change.what {
            Happening::Deployed | Happening::Progressed => Rank::Deployment,
            Happening::Changed if !change.is_asked() && !change.parts.contains(&Class::Metadata) => {
                Rank::Symptom
            }
            _ if owners.iter().any(|owner| asked.contains(owner)) => Rank::Consequence,
            Happening::Changed if !change.is_asked() && earlier => Rank::Consequence,
            Happening::Changed if !change.is_asked() => Rank::Other,
            Happening::Changed if owners.is_empty() && hangs => Rank::Cause,
            Happening::Changed if hangs && !earlier => Rank::Cause,
            Happening::Changed if owners.is_empty() => Rank::Other,
            Happening::Changed => Rank::Consequence,
            _ if !owners.is_empty() => Rank::Consequence,
            _ if hangs => Rank::Cause,
            _ => Rank::Other,
        }
    };
    changes.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &[Class] = &[Class::Spec, Class::Metadata];
    const STATUS: &[Class] = &[Class::Status];
    const METADATA: &[Class] = &[Class::Metadata];

    fn change(resource: i64, offset: i64, what: Happening, parts: &[Class]) -> Changed {
        Changed { resource, offset, what, parts: parts.to_vec() }
    }

    /// A Deployment 1 with ReplicaSet 2 and Pod 3, which is sick and mounts ConfigMap 4; 5 is elsewhere, 6 is owned by it.
    fn ranked(changes: &[Changed]) -> Vec<Rank> {
        let upstream = HashMap::from([(3, 0), (2, 1), (4, 1), (1, 2)]);
        let owners = HashMap::from([(2, vec![1]), (3, vec![2]), (6, vec![5])]);
        ranks(changes, &Around { upstream: &upstream, owners: &owners })
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
    fn what_is_owned_causes_only_what_hangs_on_it() {
        use Rank::{Cause, Consequence};
        assert_eq!(ranked(&[change(2, 10, Happening::Changed, SPEC)]), [Cause], "by hand, or by an operator");
        assert_eq!(
            ranked(&[change(6, 10, Happening::Changed, SPEC)]),
            [Consequence],
            "such as an EndpointSlice"
        );
        assert_eq!(
            ranked(&[change(3, 10, Happening::Created, &[])]),
            [Consequence],
            "such as one rescheduled"
        );
    }
}
