//! The order of what is found: how near its name is, whether it is there, the shorter name, what is rather meant, what
//! came last.

use std::collections::BinaryHeap;

use super::terms::Places;
use crate::error::Result;
use strandline_protocol::{Hit, Hits, SearchMatch};

const NEARNESS_SHIFT: u32 = 62;
const LENGTH_SHIFT: u32 = 52;
const LENGTH_MAX: u64 = (1 << (NEARNESS_SHIFT - LENGTH_SHIFT)) - 1;
const NUMBER_MAX: u64 = (1 << LENGTH_SHIFT) - 1;

/// Of so many that are equally near, what is there comes before what is gone.
const COMPARED_MAX: usize = 200;
/// So many are looked at where there are as many, for what is rather meant among names of one length.
const COMPARED_MIN: usize = 30;

/// A candidate by what of its place in the order is known from its name: the best is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u64);

impl Candidate {
    fn new(nearness: SearchMatch, length: usize, number: i64) -> Self {
        let nearness = SearchMatch::ALL.len() as u64 - 1 - nearness as u64;
        let length = LENGTH_MAX - (length as u64).min(LENGTH_MAX);
        Candidate(nearness << NEARNESS_SHIFT | length << LENGTH_SHIFT | number.cast_unsigned() & NUMBER_MAX)
    }

    fn nearness(self) -> SearchMatch {
        let place = SearchMatch::ALL.len() as u64 - 1 - (self.0 >> NEARNESS_SHIFT);
        usize::try_from(place)
            .ok()
            .and_then(|n| SearchMatch::ALL.get(n).copied())
            .unwrap_or(SearchMatch::Substring)
    }

    /// The longer, the greater.
    fn length(self) -> u64 {
        LENGTH_MAX - (self.0 >> LENGTH_SHIFT & LENGTH_MAX)
    }

    fn number(self) -> i64 {
        (self.0 & NUMBER_MAX).cast_signed()
    }
}

/// Candidates for the best.
pub(super) struct Candidates {
    all: Vec<Candidate>,
    /// What is farther is found another time.
    farthest: SearchMatch,
}

impl Candidates {
    /// None yet, of what has a word at such a place.
    pub(super) fn new(places: Places) -> Self {
        let farthest = match places {
            Places::Names | Places::Paths | Places::Images => SearchMatch::Prefix,
            Places::All => SearchMatch::Substring,
        };
        Candidates { all: Vec::new(), farthest }
    }

    pub(super) fn add(&mut self, nearness: SearchMatch, length: usize, number: i64) {
        if nearness <= self.farthest {
            self.all.push(Candidate::new(nearness, length, number));
        }
    }
}

/// What a candidate is, looked at closely.
pub(super) struct Looked<T> {
    pub(super) is_gone: bool,
    /// Whether something else of such a name is rather meant.
    pub(super) is_minor: bool,
    pub(super) item: T,
}

/// The best of the candidates. `look` gives none for what the caller does not see at the moment: it takes no place from
/// what they see.
pub(super) fn best<T>(
    candidates: Candidates,
    limit: usize,
    mut look: impl FnMut(i64) -> Result<Option<Looked<T>>>,
) -> Result<Hits<T>> {
    let (mut heap, mut found) = (BinaryHeap::from(candidates.all), Vec::new());
    while let Some(nearness) = heap.peek().map(|best| best.nearness())
        && found.len() <= limit
    {
        let (mut alike, mut present) = (Vec::new(), 0);
        while let Some(next) = heap.peek().filter(|next| next.nearness() == nearness) {
            if alike.len() >= COMPARED_MAX || (present > limit && alike.len() >= COMPARED_MIN) {
                break;
            }
            let (length, looked) = (next.length(), look(next.number())?);
            heap.pop();
            if let Some(looked) = looked {
                present += usize::from(!looked.is_gone);
                alike.push((looked.is_gone, length, looked));
            }
        }
        alike.sort_by_key(|(is_gone, length, looked)| (*is_gone, *length, looked.is_minor));
        found.extend(alike.into_iter().map(|(.., looked)| Hit { nearness, item: looked.item }));
    }
    let more = found.len() > limit;
    found.truncate(limit);
    Ok(Hits { items: found, more })
}

/// The best of what is all in sight and there: the nearest, then what weighs least, then by name. None of it depends on
/// what others have, as the view's numbers of environments do.
pub(super) struct First<'n, T> {
    limit: usize,
    /// One more than are wanted, the farthest on top.
    kept: BinaryHeap<(SearchMatch, usize, &'n str, T)>,
}

impl<'n, T: Ord> First<'n, T> {
    /// None yet, of so many at most.
    pub(super) fn new(limit: usize) -> Self {
        First { limit, kept: BinaryHeap::new() }
    }

    /// Adds one, which its name tells from all others.
    pub(super) fn add(&mut self, nearness: SearchMatch, weight: usize, name: &'n str, item: T) {
        let next = (nearness, weight, name, item);
        if self.kept.len() <= self.limit {
            self.kept.push(next);
        } else if let Some(mut farthest) = self.kept.peek_mut()
            && next < *farthest
        {
            *farthest = next;
        }
    }

    /// What was added, the best first. `look` gives what is told of one.
    pub(super) fn hits<U>(self, mut look: impl FnMut(T) -> Result<Option<U>>) -> Result<Hits<U>> {
        let more = self.kept.len() > self.limit;
        let mut items = Vec::with_capacity(self.kept.len());
        for (nearness, .., item) in self.kept.into_sorted_vec().into_iter().take(self.limit) {
            items.extend(look(item)?.map(|item| Hit { nearness, item }));
        }
        Ok(Hits { items, more })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use SearchMatch::{Exact, Prefix, Substring, Word};

    #[test]
    fn the_nearest_then_what_is_there_then_the_shorter_then_what_is_meant_then_the_last() {
        // By number: nearness, length, gone; the odd one is not in sight.
        let all = [
            (Substring, 3, false),
            (Exact, 3, true),
            (Exact, 3, false),
            (Exact, 3, false),
            (Prefix, 9, false),
            (Prefix, 5, false),
            (Word, 4, true),
            (Exact, 3, false),
        ];
        let candidates = || {
            let mut candidates = Candidates::new(Places::All);
            all.iter().zip(0..).for_each(|((near, length, _), n)| candidates.add(*near, *length, n));
            candidates
        };
        let look = |n: i64| {
            let (_, _, is_gone) = all[usize::try_from(n).unwrap()];
            Ok((n != 7).then_some(Looked { is_gone, is_minor: n == 3, item: n }))
        };
        let found = best(candidates(), 100, look).unwrap();
        assert_eq!(found.items.iter().map(|hit| hit.item).collect::<Vec<_>>(), [2, 3, 1, 5, 4, 6, 0]);
        assert_eq!(
            found.items.iter().map(|hit| hit.nearness).collect::<Vec<_>>(),
            [Exact, Exact, Exact, Prefix, Prefix, Word, Substring]
        );
        assert!(!found.more);
        for limit in 1..7 {
            let cut = best(candidates(), limit, look).unwrap();
            assert_eq!((cut.items.as_slice(), cut.more), (&found.items[..limit], true), "{limit}");
        }
        assert!(!best(candidates(), 7, look).unwrap().more);
    }

    #[test]
    fn the_first_are_the_nearest_then_the_lightest_then_by_name_in_whatever_order_they_come() {
        let mut all = [
            (Word, 1, "b"),
            (Exact, 9, "c"),
            (Word, 1, "a"),
            (Word, 0, "z"),
            (Exact, 9, "d"),
            (Prefix, 0, "x"),
        ];
        let sorted = ["c", "d", "x", "z", "a", "b"];
        for turn in 0..all.len() {
            all.rotate_left(1);
            for limit in 1..=all.len() {
                let mut first = First::new(limit);
                all.iter().for_each(|(near, weight, name)| first.add(*near, *weight, name, *name));
                let found = first.hits(|name| Ok(Some(name))).unwrap();
                let names: Vec<_> = found.items.iter().map(|hit| hit.item).collect();
                assert_eq!((names.as_slice(), found.more), (&sorted[..limit], limit < all.len()), "{turn}");
            }
        }
    }
}
