//! Which elements of two lists are the same thing.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::align::{align, rising};
use super::keys::{self, Keys, Order};

/// How many elements of a gap are held against each other at most.
const SIMILAR_MAX: usize = 1024;

/// The elements of two lists that belong together.
pub(super) struct Pairing {
    /// Places before and after, by the place after.
    pub(super) pairs: Vec<(usize, usize)>,
    /// By what they are told apart, where anything does it.
    pub(super) keys: Option<Keys>,
    pub(super) order: Order,
}

impl Pairing {
    /// Pairs that left their place among the others, as few as can be; none where order says nothing.
    pub(super) fn moved(&self) -> Vec<(usize, usize)> {
        if self.order == Order::Silent {
            return Vec::new();
        }
        let places: Vec<usize> = self.pairs.iter().map(|(before, _)| *before).collect();
        let mut stayed = rising(&places).into_iter().peekable();
        let left = |place: &usize| stayed.next_if_eq(place).is_none();
        (0..self.pairs.len()).filter(left).map(|place| self.pairs[place]).collect()
    }
}

/// Pairs the elements of two lists of a name; `across` where the two are of different clusters.
pub(super) fn pair(list: &str, before: &[Value], after: &[Value], across: bool) -> Pairing {
    if let Some((keys, order)) = keys::of(list, before, after, across) {
        let places: HashMap<_, usize> = keys.0.iter().enumerate().map(|(place, key)| (key, place)).collect();
        let found = keys.1.iter().enumerate().filter_map(|(place, key)| Some((*places.get(key)?, place)));
        let pairs = found.collect();
        return Pairing { pairs, keys: Some(keys), order };
    }
    if keys::is_set(list) && before.iter().chain(after).all(|item| !item.is_object() && !item.is_array()) {
        let all: Vec<usize> = (0..before.len()).collect();
        let pairs = equal(before, after, &all, &(0..after.len()).collect::<Vec<_>>());
        return Pairing { pairs, keys: None, order: Order::Silent };
    }
    Pairing { pairs: by_content(before, after), keys: None, order: Order::Counts }
}

/// Elements that are equal, each used once, by the place after.
fn equal(before: &[Value], after: &[Value], left: &[usize], right: &[usize]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&Value, VecDeque<usize>> = HashMap::new();
    for place in left {
        places.entry(&before[*place]).or_default().push_back(*place);
    }
    let take = |place: &usize| Some((places.get_mut(&after[*place])?.pop_front()?, *place));
    right.iter().filter_map(take).collect()
}

/// Equal elements in their order, then equal ones that moved, then within what is left between them those that became
/// each other: all in order where as many went as came, or else objects that share most.
fn by_content(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    let mut pairs = align(before, after);
    let (left, right) = (unpaired(before.len(), &pairs, |p| p.0), unpaired(after.len(), &pairs, |p| p.1));
    let moved = equal(before, after, &left, &right);
    let (went, came): (HashSet<usize>, HashSet<usize>) = moved.iter().copied().unzip();
    for (left, right) in gaps(&pairs, before.len(), after.len()) {
        let left: Vec<usize> = left.filter(|place| !went.contains(place)).collect();
        let right: Vec<usize> = right.filter(|place| !came.contains(place)).collect();
        if left.len() == right.len() {
            pairs.extend(left.into_iter().zip(right).filter(|(a, b)| alike(&before[*a], &after[*b])));
        } else if left.len().saturating_mul(right.len()) <= SIMILAR_MAX {
            pairs.extend(similar(before, after, &left, right));
        }
    }
    pairs.extend(moved);
    pairs.sort_unstable_by_key(|(_, after)| *after);
    pairs
}

fn unpaired(length: usize, pairs: &[(usize, usize)], side: impl Fn(&(usize, usize)) -> usize) -> Vec<usize> {
    let mut free = vec![true; length];
    pairs.iter().for_each(|pair| free[side(pair)] = false);
    (0..length).filter(|place| free[*place]).collect()
}

type Places = std::ops::Range<usize>;

/// What lies between pairs that rise on both sides.
fn gaps(pairs: &[(usize, usize)], before: usize, after: usize) -> Vec<(Places, Places)> {
    let mut from = (0, 0);
    let ends = pairs.iter().copied().chain([(before, after)]);
    ends.map(|to| {
        let gap = (from.0..to.0, from.1..to.1);
        from = (to.0 + 1, to.1 + 1);
        gap
    })
    .filter(|(left, right)| !left.is_empty() && !right.is_empty())
    .collect()
}

/// Whether one may have become the other.
fn alike(before: &Value, after: &Value) -> bool {
    std::mem::discriminant(before) == std::mem::discriminant(after)
}

/// Objects that share more than half of their members, each with what it shares most with.
fn similar(before: &[Value], after: &[Value], left: &[usize], mut right: Vec<usize>) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for place in left {
        let Some(one) = before[*place].as_object() else { continue };
        let shared = |other: &usize| {
            let other = after[*other].as_object()?;
            let same = one.iter().filter(|(name, value)| other.get(*name) == Some(value)).count();
            (same * 2 > one.len().max(other.len())).then_some(same)
        };
        let best = right.iter().enumerate().filter_map(|(at, other)| Some((shared(other)?, at)));
        if let Some((_, at)) = best.max_by_key(|(same, at)| (*same, usize::MAX - at)) {
            pairs.push((*place, right.remove(at)));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn list(value: &Value) -> &[Value] {
        value.as_array().map(Vec::as_slice).unwrap_or_default()
    }

    #[test]
    fn elements_find_each_other() {
        let cases = [
            (
                "containers",
                json!([{"name": "a"}, {"name": "b"}]),
                json!([{"name": "b"}, {"name": "c"}]),
                vec![(1, 0)],
            ),
            ("args", json!(["a", "b"]), json!(["x", "a", "b"]), vec![(0, 1), (1, 2)]),
            ("args", json!(["a", "--v=1", "b"]), json!(["a", "--v=2", "b"]), vec![(0, 0), (1, 1), (2, 2)]),
            ("args", json!(["a", "b", "c"]), json!(["c", "a", "b"]), vec![(2, 0), (0, 1), (1, 2)]),
            ("args", json!(["a", 1]), json!(["a", "1"]), vec![(0, 0)]),
            ("finalizers", json!(["a", "b", "a"]), json!(["a", "a", "c"]), vec![(0, 0), (2, 1)]),
            (
                "things",
                json!([{"w": 1, "x": 1, "y": 1}]),
                json!([{"q": 1}, {"w": 2, "x": 1, "y": 1}]),
                vec![(0, 1)],
            ),
            ("things", json!([{"w": 1}]), json!([{"w": 2}]), vec![(0, 0)]),
            ("things", json!([[1]]), json!([[1, 2]]), vec![(0, 0)]),
            ("things", json!([]), json!([1]), vec![]),
        ];
        for (name, before, after, expected) in cases {
            assert_eq!(
                pair(name, list(&before), list(&after), false).pairs,
                expected,
                "{name} {before} {after}"
            );
        }
    }

    #[test]
    fn few_are_said_to_have_moved_and_none_where_order_says_nothing() {
        let named =
            |names: &str| Value::Array(names.chars().map(|n| json!({"name": n.to_string()})).collect());
        let moved = |list_name: &str, before: &str, after: &str| {
            pair(list_name, list(&named(before)), list(&named(after)), false).moved()
        };
        assert_eq!(moved("initContainers", "abcd", "dabc"), [(3, 0)]);
        assert_eq!(moved("initContainers", "abcd", "abxcd"), []);
        assert_eq!(moved("containers", "abcd", "dcba"), []);
    }

    proptest! {
        #[test]
        fn each_element_belongs_to_one_other(
            name in "(containers|args|finalizers|things|ports)",
            before in prop::collection::vec(element(), 0..8), after in prop::collection::vec(element(), 0..8),
        ) {
            let pairs = pair(&name, &before, &after, false).pairs;
            prop_assert!(pairs.windows(2).all(|two| two[0].1 < two[1].1));
            let mut left: Vec<usize> = pairs.iter().map(|pair| pair.0).collect();
            left.sort_unstable();
            left.dedup();
            prop_assert_eq!(left.len(), pairs.len());
            prop_assert!(pairs.iter().all(|(a, b)| *a < before.len() && *b < after.len()));
            let itself = pair(&name, &before, &before, false);
            prop_assert_eq!(&itself.pairs, &(0..before.len()).map(|at| (at, at)).collect::<Vec<_>>());
        }
    }

    fn element() -> impl Strategy<Value = Value> {
        prop_oneof![
            (0_u8..3).prop_map(Value::from),
            "[ab]".prop_map(Value::from),
            ("[abc]", 0_u8..3).prop_map(|(name, n)| json!({"name": name, "n": n, "containerPort": n})),
            (0_u8..3, 0_u8..2).prop_map(|(n, m)| json!({"n": n, "m": m, "x": 0})),
        ]
    }
}
