//! What two sequences have in common, in order: of lists in objects as of lines of texts, so that a library for texts would be a second
//! one beside it.

use std::collections::HashMap;
use std::hash::Hash;

/// The largest table that is filled to find the longest common subsequence: two bytes for each cell.
const CELLS_MAX: usize = 1 << 20;

/// Pairs of places that hold the same, rising on both sides: as many as there can be, and for long sequences that
/// have little in common those around what occurs once on each side.
pub(super) fn align<T: Eq + Hash>(before: &[T], after: &[T]) -> Vec<(usize, usize)> {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before_rest, after_rest) = (&before[head..], &after[head..]);
    let tail = before_rest.iter().rev().zip(after_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let before_rest = &before_rest[..before_rest.len() - tail];
    let after_rest = &after_rest[..after_rest.len() - tail];
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|place| (place, place)).collect();
    let cells = (before_rest.len() + 1).saturating_mul(after_rest.len() + 1);
    let middle = if before_rest.is_empty() || after_rest.is_empty() {
        Vec::new()
    } else if cells <= CELLS_MAX {
        longest(before_rest, after_rest)
    } else {
        around_what_is_unique(before_rest, after_rest)
    };
    pairs.extend(middle.into_iter().map(|(a, b)| (a + head, b + head)));
    pairs.extend((0..tail).rev().map(|back| (before.len() - 1 - back, after.len() - 1 - back)));
    pairs
}

/// The longest common subsequence, by the table of lengths; the shorter side has at most 1,024 places.
fn longest<T: Eq>(before: &[T], after: &[T]) -> Vec<(usize, usize)> {
    let width = after.len() + 1;
    let mut lengths = vec![0_u16; (before.len() + 1) * width];
    for a in (0..before.len()).rev() {
        for b in (0..after.len()).rev() {
            lengths[a * width + b] = if before[a] == after[b] {
                lengths[(a + 1) * width + b + 1] + 1
            } else {
                lengths[(a + 1) * width + b].max(lengths[a * width + b + 1])
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < before.len() && b < after.len() {
        if before[a] == after[b] {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if lengths[(a + 1) * width + b] >= lengths[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

/// What occurs once on each side holds the two together; between such places equal runs are added on both of their ends.
fn around_what_is_unique<T: Eq + Hash>(before: &[T], after: &[T]) -> Vec<(usize, usize)> {
    let once = |side: &[T]| -> HashMap<usize, usize> {
        let mut places: HashMap<&T, (usize, usize)> = HashMap::with_capacity(side.len());
        for (place, item) in side.iter().enumerate() {
            places.entry(item).or_insert((place, 0)).1 += 1;
        }
        places.into_values().filter(|(_, count)| *count == 1).collect()
    };
    let unique_after: HashMap<&T, usize> =
        once(after).into_keys().map(|place| (&after[place], place)).collect();
    let mut common: Vec<(usize, usize)> = once(before)
        .into_keys()
        .filter_map(|place| Some((place, *unique_after.get(&before[place])?)))
        .collect();
    common.sort_unstable();
    let anchors: Vec<(usize, usize)> = {
        let places: Vec<usize> = common.iter().map(|(_, b)| *b).collect();
        rising(&places).into_iter().map(|at| common[at]).collect()
    };
    let mut pairs = Vec::with_capacity(anchors.len());
    let (mut from_a, mut from_b) = (0, 0);
    for (a, b) in anchors {
        if a < from_a || b < from_b {
            continue;
        }
        let back = (1..=(a - from_a).min(b - from_b)).take_while(|n| before[a - n] == after[b - n]).count();
        let ahead = (0..).take_while(
            |n| matches!((before.get(a + n), after.get(b + n)), (Some(one), Some(other)) if one == other),
        );
        let ahead = ahead.count();
        pairs.extend((0..back + ahead).map(|n| (a - back + n, b - back + n)));
        (from_a, from_b) = (a + ahead, b + ahead);
    }
    pairs
}

/// The places of a longest rising subsequence.
pub(super) fn rising(numbers: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (place, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|end| numbers[*end] < *number);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() { ends.push(place) } else { ends[length] = place }
    }
    let mut places = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(place) = next {
        places.push(place);
        next = before[place];
    }
    places.reverse();
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<T: Eq + std::fmt::Debug>(before: &[T], after: &[T], pairs: &[(usize, usize)]) {
        assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1), "{pairs:?}");
        for (a, b) in pairs {
            assert_eq!(before[*a], after[*b]);
        }
    }

    #[test]
    fn an_insertion_leaves_the_rest_where_it_was() {
        assert_eq!(align(&["a", "b", "c"], &["x", "a", "b", "c"]), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(align(&["a", "b", "c", "d"], &["a", "c", "x", "d"]), [(0, 0), (2, 1), (3, 3)]);
        assert_eq!(align::<u8>(&[], &[1]), []);
    }

    #[test]
    fn long_sequences_hold_together_at_what_is_unique() {
        let before: Vec<u32> = (0..20_000).collect();
        let after: Vec<u32> = (0..20_000)
            .filter(|n| n % 1000 != 1)
            .flat_map(|n| if n % 777 == 0 { vec![99_999, n] } else { vec![n] })
            .collect();
        let pairs = align(&before, &after);
        check(&before, &after, &pairs);
        assert_eq!(pairs.len(), 20_000 - 20, "all but what was taken out");
    }

    #[test]
    fn long_sequences_without_anything_in_common_end() {
        let (before, after) = (vec![1; 50_000], vec![2; 50_000]);
        assert!(align(&before, &after).is_empty());
    }

    proptest! {
        #[test]
        fn pairs_hold_the_same_and_rise(
            before in prop::collection::vec(0_u8..6, 0..40), after in prop::collection::vec(0_u8..6, 0..40),
        ) {
            check(&before, &after, &align(&before, &after));
            check(&before, &after, &around_what_is_unique(&before, &after));
            let places: Vec<usize> = before.iter().map(|n| usize::from(*n)).collect();
            let found = rising(&places);
            prop_assert!(found.windows(2).all(|two| two[0] < two[1] && places[two[0]] < places[two[1]]));
        }
    }
}
