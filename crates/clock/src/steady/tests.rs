//! Jumps of the machine's clock against what clusters' clocks tell.

use super::*;
use crate::testing::Machine;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const YEAR: i64 = 365 * 24 * HOUR;

fn machine(wrong_by: i64) -> (Arc<Machine>, SteadyClock) {
    let machine = Arc::new(Machine::default());
    machine.set(wrong_by);
    let clock = SteadyClock::new(Arc::clone(&machine) as Arc<dyn Clock>);
    (machine, clock)
}

fn events(clock: &SteadyClock) -> Vec<ClockEvent> {
    clock.take_changes().into_iter().map(|change| change.event).collect()
}

const JUMPS: [i64; 8] = [3 * SECOND, 60 * SECOND, HOUR, YEAR, -3 * SECOND, -60 * SECOND, -HOUR, -YEAR];

#[test]
fn a_jump_that_clusters_contradict_is_not_followed_however_long_it_lasts() {
    for jump in JUMPS {
        let (machine, clock) = machine(0);
        clock.witness("one", machine.truth());
        machine.pass(10 * SECOND);
        machine.set(jump);
        assert_eq!(clock.now(), machine.truth(), "{jump}");
        let status = clock.status();
        assert_eq!((status.jumps, status.deviation_micros), (1, jump), "noticed at once");
        assert_eq!((status.problem(), status.detail().is_empty()), (None, false), "{jump}");
        for _ in 0..100 {
            machine.pass(30 * SECOND);
            clock.witness("one", machine.truth().minus(Duration::from_secs(1)));
            assert_eq!(clock.now(), machine.truth(), "{jump}");
        }
        assert!(clock.status().problem().is_some(), "it lasts: {jump}");
        assert_eq!(events(&clock), [ClockEvent::Jumped], "{jump}");
        machine.set(0);
        assert_eq!((clock.now(), clock.status().jumps), (machine.truth(), 1));
        assert_eq!(events(&clock), [ClockEvent::Returned], "{jump}");
        assert_eq!(clock.status().problem(), None);
    }
}

#[test]
fn a_clock_that_was_wrong_from_the_start_is_left_for_the_one_that_clusters_confirm() {
    // A difference that clusters' times cannot show, as they are told late and in whole seconds, is no evidence.
    for wrong_by in JUMPS.into_iter().filter(|by| by.abs() > AGREES) {
        let (machine, clock) = machine(wrong_by);
        let start = clock.now();
        for cluster in ["one", "two", "three"] {
            clock.witness(cluster, machine.truth());
        }
        let disagrees = wrong_by.abs() > 60 * SECOND;
        assert_eq!(clock.status().problem().is_some(), disagrees, "{wrong_by}");
        machine.pass(10 * SECOND);
        machine.set(0);
        assert_ne!(clock.now(), machine.truth(), "there is no evidence after the jump yet");
        assert_eq!(events(&clock), [ClockEvent::Jumped]);
        clock.witness("one", machine.truth());
        assert_ne!(clock.now(), machine.truth(), "another time is told only once that is recorded");
        let adopted = clock.take_changes();
        let expected = ClockChange {
            event: ClockEvent::Adopted,
            deviation_micros: -wrong_by,
            exact: Exact::Before(start),
        };
        assert_eq!(adopted, [expected]);
        assert_eq!(clock.now(), machine.truth());
        assert_eq!(clock.status().deviates_for, None);
    }
}

#[test]
fn the_time_that_passed_while_the_machine_slept_is_adopted_and_what_was_before_is_exact() {
    let (machine, clock) = machine(-HOUR);
    // What the clock that never jumps did not count shows as a jump of the other.
    machine.set(0);
    clock.take_changes();
    machine.pass(70 * SECOND);
    assert_eq!(events(&clock), [ClockEvent::Adopted]);
    clock.witness("one", machine.truth());
    let before = clock.now();
    machine.pass(5 * SECOND);
    machine.set(HOUR);
    assert_eq!(events(&clock), [ClockEvent::Jumped]);
    clock.witness("one", machine.now());
    let exact = Exact::Until(before);
    let adopted = ClockChange { event: ClockEvent::Adopted, deviation_micros: HOUR, exact };
    assert_eq!(clock.take_changes(), [adopted]);
}

#[test]
fn without_any_witness_the_machine_is_believed_after_a_minute_and_not_before() {
    for jump in JUMPS {
        let (machine, clock) = machine(0);
        machine.pass(10 * SECOND);
        machine.set(jump);
        assert_eq!(events(&clock), [ClockEvent::Jumped]);
        machine.pass(59 * SECOND);
        assert_eq!((events(&clock), clock.now()), (vec![], machine.truth()), "{jump}");
        machine.pass(SECOND);
        assert_eq!((events(&clock), clock.now()), (vec![ClockEvent::Adopted], machine.now()), "{jump}");
    }
}

#[test]
fn small_differences_are_followed_without_going_back() {
    for wrong_by in [-1_900_000, -1000, 1000, 1_900_000] {
        let (machine, clock) = machine(0);
        let mut before = clock.now();
        machine.set(wrong_by);
        for _ in 0..100 {
            machine.pass(SECOND / 10);
            let now = clock.now();
            assert!(now >= before, "{wrong_by}");
            before = now;
        }
        assert_eq!((before, clock.status().jumps), (machine.now(), 0), "{wrong_by}");
    }
}

#[test]
fn the_median_of_several_clusters_decides_and_old_evidence_does_not() {
    let (machine, clock) = machine(0);
    machine.pass(SECOND);
    machine.set(HOUR);
    assert_eq!(events(&clock), [ClockEvent::Jumped]);
    // One cluster's clock is as wrong as the machine's.
    clock.witness("odd", machine.now());
    clock.witness("one", machine.truth());
    clock.witness("two", machine.truth());
    machine.pass(100 * SECOND);
    assert_eq!(events(&clock), []);
    // No cluster has told anything for long.
    machine.pass(700 * SECOND);
    assert_eq!(events(&clock), [ClockEvent::Adopted]);
}
