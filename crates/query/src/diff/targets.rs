//! Which clusters of two environments are held against each other.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Clusters of the one environment with those of the other: each with the nearest that no other has, and where one
/// environment has more of them, each that is left with the nearest of all.
///
/// Near is first the same cluster, then one of the same region, then the one whose name shares most words, then the one that
/// stands in the same place among all.
pub(super) fn matched<'c>(
    here: &'c BTreeSet<String>,
    there: &'c BTreeSet<String>,
    regions: &HashMap<String, String>,
) -> Vec<(&'c str, &'c str)> {
    let mut all = Vec::new();
    for (place, one) in here.iter().enumerate() {
        for (other_place, other) in there.iter().enumerate() {
            let nearness = (
                one == other,
                regions
                    .get(one)
                    .is_some_and(|region| !region.is_empty() && regions.get(other) == Some(region)),
                shared_words(one, other),
                Reverse(place.abs_diff(other_place)),
            );
            all.push((Reverse(nearness), one.as_str(), other.as_str()));
        }
    }
    all.sort();
    let (mut ours, mut theirs, mut pairs) = (HashSet::new(), HashSet::new(), Vec::new());
    for alone in [true, false] {
        for (_, one, other) in &all {
            let (known, met) = (ours.contains(one), theirs.contains(other));
            // First both are to be new, then one of them.
            if (alone && !known && !met) || (!alone && known != met) {
                ours.insert(*one);
                theirs.insert(*other);
                pairs.push((*one, *other));
            }
        }
    }
    pairs.sort_by_key(|(one, other)| (*other, *one));
    pairs
}

/// How many words two names share, such as `eu` and `west`.
fn shared_words(one: &str, other: &str) -> usize {
    let words =
        |name: &str| name.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<HashSet<_>>();
    words(one).intersection(&words(other)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clusters of both, and which are held against which.
    type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [(&'a str, &'a str)]);

    #[test]
    fn each_cluster_is_held_against_the_nearest() {
        let regions =
            [("us-east", "us"), ("us-west", "us"), ("virginia", "us"), ("dublin", "eu"), ("eu-west", "eu")];
        let regions =
            regions.map(|(name, region)| (name.to_owned(), region.to_owned())).into_iter().collect();
        let cases: &[Case] = &[
            (&["us-west"], &["us-east", "us-west"], &[("us-west", "us-east"), ("us-west", "us-west")]),
            (&["us-east", "us-west"], &["us-west"], &[("us-east", "us-west"), ("us-west", "us-west")]),
            (
                &["dublin", "virginia"],
                &["eu-west", "us-east"],
                &[("dublin", "eu-west"), ("virginia", "us-east")],
            ),
            (&["stage-a", "stage-b"], &["prod-b", "prod-c"], &[("stage-b", "prod-b"), ("stage-a", "prod-c")]),
            (&["x", "y"], &["p", "q"], &[("x", "p"), ("y", "q")]),
            (&["x", "y"], &["p", "q", "r"], &[("x", "p"), ("y", "q"), ("y", "r")]),
            (&[], &["p"], &[]),
        ];
        for (here, there, expected) in cases {
            let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
            assert_eq!(matched(&set(here), &set(there), &regions), *expected, "{here:?} {there:?}");
        }
    }
}
