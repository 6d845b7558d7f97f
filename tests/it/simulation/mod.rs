//! Whole histories under a clock of their own: simulated clusters that lose, repeat, swap, refuse and vanish, followed
//! by the real supervisors, log and projector. A seed decides everything, so a failure can be had again:
//! `STRANDLINE_SEED=<seed> cargo test --test it simulation`.
//! An ordinary run plays a fifth of the seeds, `.ci/run` all of them.

mod history;
mod law;
mod many;
mod truth;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use strandline_sim::api_server::Fault;

use self::world::{Scenario, SetBack, run};

/// Histories of one kind and the next together.
const SEEDS: u32 = 1000;

/// Runs scenarios side by side; tells the seed of the first that fails.
fn all(name: &str, scenarios: Vec<Scenario>) {
    let (next, failed) = (AtomicU64::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while failed.lock().is_ok_and(|failed| failed.is_none()) {
                    let index = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
                    let Some(scenario) = scenarios.get(index) else { return };
                    let outcome = std::panic::catch_unwind(|| run(scenario));
                    let outcome = outcome.unwrap_or_else(|_| Err("it panicked".into()));
                    if let (Err(error), Ok(mut failed)) = (outcome, failed.lock()) {
                        failed.get_or_insert_with(|| {
                            format!("{scenario:?}: {error}\nagain: STRANDLINE_SEED={} cargo test --test it {name}", scenario.seed)
                        });
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().ok().flatten();
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
}

/// The one seed that was asked for, or so many, as far as this run plays them.
fn seeds(count: u32) -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("STRANDLINE_SEED") {
        Some(seed) => {
            // One history is worth listening to.
            let _ =
                tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_test_writer().try_init();
            vec![seed]
        }
        None => (0..u64::from(strandline_testkit::few_of(count))).collect(),
    }
}

#[test]
fn whatever_happens_the_history_is_true_or_says_what_it_missed() {
    let scenario = |seed| Scenario { seed, fault: None, hard: false, set_back: SetBack::Never };
    all("whatever_happens", seeds(SEEDS - ONE_FAULT).into_iter().map(scenario).collect());
}

#[test]
fn at_every_moment_the_answer_is_true_or_names_its_gap() {
    let scenario = |seed| Scenario { seed, fault: None, hard: true, set_back: SetBack::Never };
    all("at_every_moment", seeds(SEEDS - SET_BACK).into_iter().map(scenario).collect());
}

/// Whatever else happens meanwhile, the record ends as what the clusters hold.
#[test]
fn what_a_store_set_back_changed_is_found() {
    let scenario = |seed| Scenario { seed, fault: None, hard: true, set_back: SetBack::Anytime };
    all("what_a_store", seeds(100).into_iter().map(scenario).collect());
}

/// Histories in which stores are set back, and the law is held against all of it.
const SET_BACK: u32 = 300;

/// Where a trace is left until the kinds are compared, every moment is answered as it was or lies in a gap.
#[test]
fn a_store_set_back_is_a_gap_from_its_first_moment_on() {
    let scenario = |seed| Scenario { seed, fault: None, hard: true, set_back: SetBack::Traced };
    all("a_store_set_back", seeds(SET_BACK).into_iter().map(scenario).collect());
}

/// Faults that strike once, each at every point of a short history.
const ONE_FAULT: u32 = 300;

#[test]
fn one_fault_at_any_point_is_survived() {
    const FAULTS: [Fault; 10] = [
        Fault::GoneInStream,
        Fault::GoneAtStart,
        Fault::ExpiredPage,
        Fault::TruncatedLine,
        Fault::GarbageLine,
        Fault::RepeatedEvent,
        Fault::ClosedWatch,
        Fault::SilentWatch,
        Fault::Hang,
        Fault::InternalError,
    ];
    let scenario = |seed: u64| {
        let fault = FAULTS[(seed % FAULTS.len() as u64) as usize];
        Scenario {
            seed,
            fault: Some((fault, (seed / FAULTS.len() as u64) as u32)),
            hard: false,
            set_back: SetBack::Never,
        }
    };
    all("one_fault", seeds(ONE_FAULT).into_iter().map(scenario).collect());
}
