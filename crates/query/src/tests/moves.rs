//! What is kept of what environments showed, held against what the view says of the same span.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::overview::history;
use super::*;
use crate::overview::{KeptMoves, Moves, Said};

/// The view's numbers of more environments than there are.
fn numbers() -> Vec<i64> {
    (0..100).collect()
}

/// What environments show at an offset, and what moves after it, without those that ended meanwhile.
#[derive(Debug, PartialEq)]
struct Shown {
    held: BTreeMap<usize, Said>,
    moved: Vec<(usize, Offset, Said)>,
}

fn shown(moves: &Moves, start: Offset, without: &HashSet<i64>) -> Shown {
    let who = moves.who(&numbers());
    let of = |place: usize| who[place].filter(|number| !without.contains(&numbers()[*number]));
    let (held, moved) = moves.from(start);
    let held = held.into_iter().enumerate().filter_map(|(place, said)| Some((of(place)?, said?))).collect();
    let moved = moved.filter_map(|one| Some((of(one.place)?, one.offset, one.said))).collect();
    Shown { held, moved }
}

/// The environments that ended after an offset.
fn ended(world: &World, since: Offset) -> HashSet<i64> {
    let view = world.view();
    let sql =
        "SELECT environment_id FROM environment_health h WHERE to_offset > ?1 AND to_offset < 140737488355327
        AND NOT EXISTS (SELECT 1 FROM environment_health n
            WHERE n.environment_id = h.environment_id AND n.from_offset = h.to_offset)";
    let mut statement = view.prepare(sql).unwrap();
    let ended = statement.query_map([since.as_i64()], |row| row.get(0)).unwrap();
    ended.collect::<rusqlite::Result<_>>().unwrap()
}

proptest! {
    #![proptest_config(strandline_testkit::cases(16))]

    #[test]
    fn what_is_kept_of_a_span_is_what_the_view_says_of_it(
        events in history(),
        most in 1..20_usize,
        starts in prop::collection::vec(any::<prop::sample::Index>(), 90),
    ) {
        let mut world = World::new([]);
        let kept = KeptMoves::of(most);
        for (event, start) in events.into_iter().zip(starts) {
            world.go_on([event]);
            let (view, head) = (world.view(), world.head());
            let start = Offset::new(start.index(usize::try_from(head.get()).unwrap() + 1) as u64);
            let look = |moves: &Moves| {
                let ended = ended(&world, moves.first());
                (shown(moves, start, &ended), ended)
            };
            if let Some((shown_by_kept, ended)) = kept.since(&view, (start, head), true, look).unwrap() {
                let fresh = Moves::of(&view, (start, head), &numbers()).unwrap();
                prop_assert_eq!(shown_by_kept, shown(&fresh, start, &ended), "from {} to {}", start, head);
            }
        }
    }
}

#[test]
fn no_more_is_kept_than_may_be() {
    let pod = |n: usize| {
        Event::Apply(Thing { health: n % 3, app: "web".into(), ..Thing::pod("east", "shop", "web") })
    };
    let mut world = World::new([Event::Declare(environments())]);
    let kept = KeptMoves::of(4);
    let since = |world: &World, start: Offset, is_to_be_kept: bool| {
        kept.since(&world.view(), (start, world.head()), is_to_be_kept, Moves::first).unwrap()
    };
    let begin = world.head();
    assert_eq!(since(&world, begin, false), None, "of the past nothing is kept");
    assert_eq!(since(&world, begin, true), Some(begin));
    world.go_on((0..3).map(pod));
    assert_eq!(since(&world, begin, true), Some(begin));
    world.go_on((3..20).map(pod));
    assert_eq!(since(&world, begin, true), None, "too much moved since");
    let late = world.head();
    assert!(since(&world, late, false).is_some_and(|first| first > begin));
}
