//! Which members of an environment a graph shows, and which it only counts.
//!
//! Why: docs/decisions/0014-graphs-count-what-they-leave-out.md.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use crate::graph::forest::Forest;
use strandline_model::{Health, HealthCounts, attention, more_urgent};
use strandline_protocol::Collapse;

/// Of more siblings of one kind than this, only those that need attention most are shown one by one.
pub(super) const SIBLINGS_MAX: usize = 50;

/// What is to be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The place at which to begin; none for all roots.
    pub(super) under: Option<usize>,
    /// Levels below the first that are shown.
    pub(super) depth: usize,
    pub(super) collapse: Collapse,
    /// The most members that are shown.
    pub(super) limit: usize,
}

/// Siblings of one kind that are not shown one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heap {
    pub(super) counts: HealthCounts,
    pub(super) worst: Option<Health>,
}

/// What stands together: the place of the owner, and the kind.
pub(super) type HeapKey = (Option<usize>, i64);

/// What is drawn of a forest.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// Places that are shown.
    pub(super) shown: Vec<usize>,
    pub(super) heaps: BTreeMap<HeapKey, Heap>,
    /// In which heap a place is, for each that is in one.
    pub(super) heaped: Vec<(usize, HeapKey)>,
    /// Whether anything is left out, be it in a heap or below a place that is shown.
    pub(super) truncated: bool,
}

impl Drawing {
    /// Draws a forest from what needs attention most, so that where there is not room for all, the rest is sound.
    pub(super) fn of(forest: &Forest, wanted: &Wanted) -> Self {
        let mut drawing = Drawing::default();
        if wanted.collapse == Collapse::Kind {
            drawing.by_kind(forest, wanted.under);
            return drawing;
        }
        let mut waiting = BinaryHeap::new();
        let first = wanted.under.map_or_else(|| forest.roots.clone(), |place| vec![place]);
        drawing.line_up(forest, wanted, first, 0, &mut waiting);
        while let Some(Reverse((_, depth, place))) = waiting.pop() {
            if drawing.shown.len() >= wanted.limit {
                drawing.heap(forest, place);
                continue;
            }
            drawing.shown.push(place);
            let children = forest.children(place);
            if depth < wanted.depth {
                drawing.line_up(forest, wanted, children.to_vec(), depth + 1, &mut waiting);
            } else {
                drawing.truncated |= !children.is_empty();
            }
        }
        drawing
    }

    /// Lets siblings wait for their turn, as far as they are not too many of one kind.
    fn line_up(
        &mut self,
        forest: &Forest,
        wanted: &Wanted,
        mut siblings: Vec<usize>,
        depth: usize,
        waiting: &mut BinaryHeap<Reverse<(u8, usize, usize)>>,
    ) {
        forest.sort(&mut siblings);
        let most = if wanted.collapse == Collapse::None { usize::MAX } else { SIBLINGS_MAX };
        let mut kinds: BTreeMap<i64, usize> = BTreeMap::new();
        for place in siblings {
            let of_kind = kinds.entry(forest.members[place].kind).or_default();
            *of_kind += 1;
            if *of_kind > most {
                self.heap(forest, place);
            } else {
                waiting.push(Reverse((attention(forest.worst[place]), depth, place)));
            }
        }
    }

    fn heap(&mut self, forest: &Forest, place: usize) {
        let member = &forest.members[place];
        self.add(forest, (member.owner, member.kind), place);
    }

    fn add(&mut self, forest: &Forest, key: HeapKey, place: usize) {
        let heap = self.heaps.entry(key).or_default();
        *heap.counts.slot(forest.members[place].health) += 1;
        heap.worst = more_urgent(heap.worst, forest.worst[place]);
        self.heaped.push((place, key));
        self.truncated = true;
    }

    /// All members, or all below one, by their kinds.
    fn by_kind(&mut self, forest: &Forest, under: Option<usize>) {
        let mut inside = vec![under.is_none(); forest.members.len()];
        for &place in forest.order() {
            let below =
                forest.members[place].owner.is_some_and(|owner| inside[owner] || Some(owner) == under);
            if below || inside[place] {
                inside[place] = true;
                self.add(forest, (None, forest.members[place].kind), place);
            }
        }
    }
}

/// The kinds of what is below the places that are shown, with their counts.
///
/// The larger of two maps takes in the smaller, so that a long chain of many kinds costs little more than its length.
pub(super) fn kinds_below<N: Ord>(
    forest: &Forest,
    shown: &[usize],
    name: impl Fn(i64) -> N,
) -> HashMap<usize, Vec<(i64, HealthCounts)>> {
    let mut wanted = vec![false; forest.members.len()];
    shown.iter().for_each(|&place| wanted[place] = !forest.children(place).is_empty());
    let mut maps: Vec<BTreeMap<i64, HealthCounts>> = vec![BTreeMap::new(); forest.members.len()];
    let mut told = HashMap::new();
    for &place in forest.order().iter().rev() {
        let mut map = std::mem::take(&mut maps[place]);
        if wanted[place] {
            told.insert(place, most_telling(&map, &name));
        }
        let Some(owner) = forest.members[place].owner else { continue };
        if map.len() > maps[owner].len() {
            std::mem::swap(&mut map, &mut maps[owner]);
        }
        // Of what has nothing below it, which is nearly all, no map is made.
        for (kind, counts) in map {
            maps[owner].entry(kind).or_default().add(counts);
        }
        let member = &forest.members[place];
        *maps[owner].entry(member.kind).or_default().slot(member.health) += 1;
    }
    told
}

/// The most kinds that are told of what is below one resource.
const KINDS_MAX: usize = 10;

/// The kinds that need attention most, then those of which there are most, then by name.
fn most_telling<N: Ord>(
    kinds: &BTreeMap<i64, HealthCounts>,
    name: impl Fn(i64) -> N,
) -> Vec<(i64, HealthCounts)> {
    let mut kinds: Vec<_> = kinds.iter().map(|(kind, counts)| (*kind, *counts)).collect();
    kinds.sort_by_cached_key(|(kind, counts)| {
        (attention(counts.worst()), Reverse(counts.total()), name(*kind))
    });
    kinds.truncate(KINDS_MAX);
    kinds
}
