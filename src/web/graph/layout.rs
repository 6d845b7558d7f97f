//! Where boxes of a drawn graph are: in layers from left to right, every part that hangs together below the one before.
//!
//! The cost is bounded by the boxes and links that are given: circles are cut, layers are few, and the sweeps over them
//! are of a fixed number. Nothing here recurses.

use std::collections::VecDeque;

/// Layers of a drawing; what would be further right is in the last one.
const LAYERS_MAX: usize = 12;

/// How often layers are put into order by what their boxes are linked to, from each side.
const SWEEPS: usize = 4;

/// The width of a box.
pub(super) const BOX_WIDTH: f64 = 224.0;
/// The room between layers, in which links are seen.
const LAYER_GAP: f64 = 56.0;
/// The room between boxes of a layer.
const BOX_GAP: f64 = 12.0;
/// The room between parts that no link joins.
const PART_GAP: f64 = 22.0;

/// Boxes with their heights and links from left to right; both ends of a link are places of boxes.
#[derive(Clone, Debug, Default)]
pub(super) struct Boxes {
    pub(super) heights: Vec<f64>,
    pub(super) links: Vec<(usize, usize)>,
}

/// Where each box is, and how large the drawing is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Positions {
    pub(super) of: Vec<(f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Places boxes. Those that come first are further up, as far as their links allow.
pub(super) fn place(boxes: &Boxes) -> Positions {
    let count = boxes.heights.len();
    let mut positions = Positions { of: vec![(0.0, 0.0); count], width: 0.0, height: 0.0 };
    let links: Vec<(usize, usize)> =
        boxes.links.iter().copied().filter(|(from, to)| from != to && *from < count && *to < count).collect();
    let parts = parts(count, &links);
    let (linked, alone): (Vec<Vec<usize>>, Vec<Vec<usize>>) =
        parts.into_iter().partition(|part| part.len() > 1);
    let layers = layers(count, &links);
    let neighbours = Neighbours::of(count, &links);
    let mut top = 0.0;
    for part in linked {
        let height = place_part(&part, &layers, &neighbours, &boxes.heights, &mut positions, top);
        top += height + PART_GAP;
    }
    top = place_alone(&alone, &boxes.heights, &mut positions, top);
    positions.height = (top - PART_GAP).max(0.0);
    positions
}

/// The left edge of a layer.
fn left(layer: usize) -> f64 {
    layer as f64 * (BOX_WIDTH + LAYER_GAP)
}

/// What is linked with nothing, in rows as wide as the rest of the drawing.
fn place_alone(alone: &[Vec<usize>], heights: &[f64], positions: &mut Positions, top: f64) -> f64 {
    let wide = ((positions.width + LAYER_GAP) / (BOX_WIDTH + LAYER_GAP)).round().max(5.0) as usize;
    let mut top = top;
    for row in alone.iter().flatten().collect::<Vec<_>>().chunks(wide) {
        let mut height: f64 = 0.0;
        for (column, &&one) in row.iter().enumerate() {
            positions.of[one] = (left(column), top);
            positions.width = positions.width.max(left(column) + BOX_WIDTH);
            height = height.max(heights[one]);
        }
        top += height + BOX_GAP;
    }
    top + if alone.is_empty() { 0.0 } else { PART_GAP - BOX_GAP }
}

/// What hangs together, in the order of the first box of each.
fn parts(count: usize, links: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut joined = vec![Vec::new(); count];
    for &(from, to) in links {
        joined[from].push(to);
        joined[to].push(from);
    }
    let mut seen = vec![false; count];
    let mut parts = Vec::new();
    for first in 0..count {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let (mut part, mut next) = (vec![first], 0);
        while let Some(&one) = part.get(next) {
            next += 1;
            for &other in &joined[one] {
                if !std::mem::replace(&mut seen[other], true) {
                    part.push(other);
                }
            }
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

/// The layer of each box: right of all that links to it, and near to what it links to.
fn layers(count: usize, links: &[(usize, usize)]) -> Vec<usize> {
    let links = without_circles(count, links);
    let mut after = vec![Vec::new(); count];
    let mut before = vec![0_usize; count];
    for &(from, to) in &links {
        after[from].push(to);
        before[to] += 1;
    }
    let mut waiting_for = before.clone();
    let mut ready: VecDeque<usize> = (0..count).filter(|&one| before[one] == 0).collect();
    let (mut layer, mut order) = (vec![0_usize; count], Vec::with_capacity(count));
    while let Some(one) = ready.pop_front() {
        order.push(one);
        for &next in &after[one] {
            layer[next] = layer[next].max((layer[one] + 1).min(LAYERS_MAX - 1));
            waiting_for[next] -= 1;
            if waiting_for[next] == 0 {
                ready.push_back(next);
            }
        }
    }
    for &one in order.iter().rev().filter(|&&one| before[one] <= after[one].len()) {
        let nearest = after[one].iter().map(|&next| layer[next]).min();
        layer[one] = layer[one].max(nearest.unwrap_or(0).saturating_sub(1));
    }
    layer
}

/// The links without those that close a circle, found by a walk in the order of the boxes.
fn without_circles(count: usize, links: &[(usize, usize)]) -> Vec<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Walk {
        New,
        Open,
        Done,
    }
    let mut after = vec![Vec::new(); count];
    links.iter().for_each(|&(from, to)| after[from].push(to));
    let mut state = vec![Walk::New; count];
    let mut kept = Vec::with_capacity(links.len());
    // What nothing links to begins each walk, so that a circle is cut where one comes into it.
    let mut begins = vec![true; count];
    links.iter().for_each(|&(_, to)| begins[to] = false);
    let starts = (0..count).filter(|&one| begins[one]).chain(0..count);
    for start in starts {
        if state[start] != Walk::New {
            continue;
        }
        state[start] = Walk::Open;
        let mut open = vec![(start, 0_usize)];
        while let Some((one, next)) = open.last_mut() {
            let (from, Some(&to)) = (*one, after[*one].get(*next)) else {
                state[*one] = Walk::Done;
                open.pop();
                continue;
            };
            *next += 1;
            if state[to] != Walk::Open {
                kept.push((from, to));
            }
            if state[to] == Walk::New {
                state[to] = Walk::Open;
                open.push((to, 0));
            }
        }
    }
    kept
}

/// What each box is linked to, on either side.
struct Neighbours {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

impl Neighbours {
    fn of(count: usize, links: &[(usize, usize)]) -> Self {
        let mut found = Neighbours { before: vec![Vec::new(); count], after: vec![Vec::new(); count] };
        for &(from, to) in links {
            found.after[from].push(to);
            found.before[to].push(from);
        }
        found
    }
}

/// Places what hangs together below `top`, and returns its height.
fn place_part(
    part: &[usize],
    layers: &[usize],
    neighbours: &Neighbours,
    heights: &[f64],
    positions: &mut Positions,
    top: f64,
) -> f64 {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); LAYERS_MAX];
    part.iter().for_each(|&one| rows[layers[one]].push(one));
    rows.retain(|row| !row.is_empty());
    let first = part.iter().map(|&one| layers[one]).min().unwrap_or(0);
    let mut middle = vec![0.0; heights.len()];
    let stack = |row: &[usize], middle: &mut Vec<f64>| {
        let mut y = 0.0;
        for &one in row {
            middle[one] = y + heights[one] / 2.0;
            y += heights[one] + BOX_GAP;
        }
    };
    rows.iter().for_each(|row| stack(row, &mut middle));
    for sweep in 0..SWEEPS * 2 {
        let forward = sweep % 2 == 0;
        let order: Vec<usize> =
            if forward { (0..rows.len()).collect() } else { (0..rows.len()).rev().collect() };
        for row in order {
            let side = if forward { &neighbours.before } else { &neighbours.after };
            let wanted = |one: usize| match side[one].as_slice() {
                [] => middle[one],
                all => all.iter().map(|&other| middle[other]).sum::<f64>() / all.len() as f64,
            };
            let mut boxes: Vec<(f64, usize)> = rows[row].iter().map(|&one| (wanted(one), one)).collect();
            // The last sweeps only move what is in order already.
            if sweep + 2 < SWEEPS * 2 {
                boxes.sort_by(|one, other| one.0.total_cmp(&other.0));
            }
            rows[row] = boxes.iter().map(|(_, one)| *one).collect();
            let heights: Vec<f64> = rows[row].iter().map(|&one| heights[one]).collect();
            let wanted: Vec<f64> = boxes.iter().map(|(wanted, _)| *wanted).collect();
            for (place, y) in spread(&wanted, &heights).into_iter().enumerate() {
                middle[rows[row][place]] = y;
            }
        }
    }
    let upper = |one: usize| middle[one] - heights[one] / 2.0;
    let highest = part.iter().map(|&one| upper(one)).fold(f64::INFINITY, f64::min);
    let mut height: f64 = 0.0;
    for &one in part {
        let (x, y) = (left(layers[one] - first), (upper(one) - highest).round());
        positions.of[one] = (x, top + y);
        positions.width = positions.width.max(x + BOX_WIDTH);
        height = height.max(y + heights[one]);
    }
    height
}

/// The middles of boxes of a layer, each as near as can be to where it is wanted, in the order given and without touching:
/// blocks of boxes that would touch move together.
fn spread(wanted: &[f64], heights: &[f64]) -> Vec<f64> {
    // Within a block the boxes are one below the other, so a block is where its first box is.
    let mut offsets = Vec::with_capacity(wanted.len());
    let mut offset = 0.0;
    for (place, height) in heights.iter().enumerate() {
        if place > 0 {
            offset += heights[place - 1] / 2.0 + BOX_GAP + height / 2.0;
        }
        offsets.push(offset);
    }
    // Sum of what is wanted, and number of boxes.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        blocks.push((wanted - offset, 1));
        while let [.., (above, many), (below, few)] = blocks.as_slice() {
            if above / *many as f64 <= below / *few as f64 {
                break;
            }
            let joined = (above + below, many + few);
            blocks.truncate(blocks.len() - 2);
            blocks.push(joined);
        }
    }
    let starts = blocks.iter().flat_map(|(sum, many)| std::iter::repeat_n(sum / *many as f64, *many));
    starts.zip(&offsets).map(|(start, offset)| start + offset).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn boxes(count: usize, links: &[(usize, usize)]) -> Boxes {
        Boxes { heights: vec![50.0; count], links: links.to_vec() }
    }

    #[test]
    fn what_is_linked_to_is_to_the_right_and_near() {
        // Ingress 0 → Service 1 → Pod 4, Deployment 2 → ReplicaSet 3 → Pod 4.
        let drawn = place(&boxes(5, &[(0, 1), (1, 4), (2, 3), (3, 4)]));
        let layer = |one: usize| ((drawn.of[one].0) / (BOX_WIDTH + LAYER_GAP)).round() as usize;
        assert_eq!([0, 1, 2, 3, 4].map(layer), [0, 1, 0, 1, 2]);
        let drawn = place(&boxes(5, &[(0, 4), (1, 2), (2, 3), (3, 4)]));
        let layer = |one: usize| ((drawn.of[one].0) / (BOX_WIDTH + LAYER_GAP)).round() as usize;
        assert_eq!(layer(0), 2, "beside what it links to, not at the far left");
    }

    #[test]
    fn circles_chains_and_links_to_oneself_are_drawn() {
        let circle = place(&boxes(3, &[(0, 1), (1, 2), (2, 0), (1, 1)]));
        assert!(circle.of[0].0 < circle.of[1].0 && circle.of[1].0 < circle.of[2].0);
        let chain: Vec<(usize, usize)> = (0..5000).map(|one| (one, one + 1)).collect();
        let drawn = place(&boxes(5001, &chain));
        assert!(drawn.width <= left(LAYERS_MAX));
        assert_eq!(place(&boxes(0, &[])), Positions::default());
    }

    #[test]
    fn boxes_of_a_layer_are_where_they_are_wanted_or_next_to_it() {
        assert_eq!(spread(&[0.0, 100.0], &[50.0, 50.0]), [0.0, 100.0]);
        assert_eq!(spread(&[50.0, 50.0], &[50.0, 50.0]), [19.0, 81.0]);
        assert_eq!(spread(&[], &[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn no_two_boxes_overlap(
            count in 1usize..40,
            links in proptest::collection::vec((0usize..40, 0usize..40), 0..80),
            heights in proptest::collection::vec(30.0f64..80.0, 40),
        ) {
            let boxes = Boxes { heights: heights[..count].to_vec(), links };
            let drawn = place(&boxes);
            for one in 0..count {
                let (x, y) = drawn.of[one];
                prop_assert!(x >= 0.0 && y >= -0.5 && x + BOX_WIDTH <= drawn.width + 0.5);
                prop_assert!(y + boxes.heights[one] <= drawn.height + 1.5, "{y} of {}", drawn.height);
                for other in 0..one {
                    let (left, upper) = drawn.of[other];
                    let apart = (left - x).abs() >= BOX_WIDTH
                        || y + 1.5 >= upper + boxes.heights[other] || upper + 1.5 >= y + boxes.heights[one];
                    prop_assert!(apart, "{one} {other}: {:?}", drawn.of);
                }
            }
        }
    }
}
