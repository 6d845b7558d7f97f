//! Random histories: at every offset, what is asked of the view equals what a naive fold over the log says.
//!
//! `STRANDLINE_HISTORIES` says how many histories are played and `STRANDLINE_HISTORY_FIRST` from which seed on,
//! `STRANDLINE_HISTORY_CHANGES` how many things happen in each, and `STRANDLINE_HISTORY_SEED` which one alone is played
//! again, its files being kept: a shorter one begins like a longer one.

mod catalog;
mod compare;
mod fold;
mod happen;
mod missed;
mod retained;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use self::compare::Asked;
use self::fold::Present;
use self::happen::{Dice, Happening};
use strandline_clock::testing::ManualClock;
use strandline_log::LogReader;
use strandline_model::*;
use strandline_protocol::*;
use strandline_query::testing::{self, World, block_on, judged_fields, observation, uncut, whole};
use strandline_query::*;
use strandline_query::{GetEnvironmentGraph, ListClusters, ListCoverage};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ProjectorOptions};

/// Pieces in which a history is written; after each the view is asked as it has grown.
const PIECES: usize = 5;

/// Moments at which everything is asked of the finished view, and of one that was built anew.
const MOMENTS: usize = 4;

/// Histories that showed a fault once, with the things that happened until then.
const KNOWN: [(u64, usize); 1] = [(3, 130)];

fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A history in a directory of its own.
struct Played {
    directory: tempfile::TempDir,
    /// Stands where the history ends.
    clock: Arc<ManualClock>,
    queries: Queries,
    records: Vec<Record>,
    /// Answers that the view gave as it grew.
    given: Vec<(Offset, Vec<String>)>,
}

fn project(directory: &Path) {
    let mut projector = Projector::open(directory, ProjectorOptions::small(RuleSet::default())).unwrap();
    while projector.step().unwrap().is_some() {}
}

/// What a log holds after an offset.
fn recorded(directory: &Path, after: Offset) -> Vec<Record> {
    let (mut log, mut all) = (LogReader::open(directory).unwrap(), Vec::new());
    loop {
        let after = all.last().map_or(after, |record: &Record| record.offset);
        match log.after(after, 1000).unwrap() {
            more if more.is_empty() => return all,
            more => all.extend(more),
        }
    }
}

/// Answers as they are served, to the byte.
async fn served(queries: &Queries, at: At, present: &Present) -> Vec<String> {
    let scope = Scope::everything();
    let mut all = Vec::new();
    for id in present.environments.keys() {
        let graph =
            queries.ask(&scope, at, GetEnvironmentGraph::new(id, &GraphFilter::default())).await.unwrap();
        all.push(serde_json::to_string(&graph).unwrap());
    }
    let overview = queries.ask(&scope, at, GetOverview::default()).await.unwrap();
    all.push(serde_json::to_string(&overview).unwrap());
    let clusters = queries.ask(&scope, at, ListClusters::new(&whole())).await.unwrap();
    all.push(serde_json::to_string(&clusters).unwrap());
    let coverage =
        queries.ask(&scope, at, ListCoverage::new(&CoverageFilter::default(), &whole())).await.unwrap();
    all.push(serde_json::to_string(&coverage).unwrap());
    all
}

/// When the first and the last of some changes were observed.
fn record_times(records: &[Record]) -> (Timestamp, Timestamp) {
    let time = |record: Option<&Record>| record.map_or(Timestamp::default(), |record| record.observed_at);
    (time(records.first()), time(records.last()))
}

/// Plays a history and asks the view as it grows.
fn play(seed: u64, steps: usize) -> Played {
    // What is played again is to be looked at.
    let alone = set("STRANDLINE_HISTORY_SEED").is_some();
    let directory = tempfile::Builder::new().disable_cleanup(alone).tempdir().unwrap();
    if alone {
        eprintln!("played in {}", directory.path().display());
    }
    let clock = Arc::new(ManualClock::default());
    let queries = testing::queries(directory.path(), clock.clone());
    let mut happening = Happening::new(seed, clock.clone());
    let (mut present, mut dice, mut given) = (Present::default(), Dice(!seed), Vec::new());
    let mut records = Vec::new();
    for piece in 0..PIECES {
        let share = steps * (piece + 1) / PIECES - steps * piece / PIECES;
        let go_on = &mut happening;
        testing::record(directory.path(), clock.clone(), |appender| async move {
            go_on.go_on(&appender, share).await
        });
        project(directory.path());
        let more = recorded(directory.path(), present.offset);
        more.iter().for_each(|record| present.take(record));
        records.extend(more);
        block_on(async {
            Asked { queries: &queries, at: At::Now, present: &present }.everything(&mut dice).await;
            given.push((present.offset, served(&queries, At::Offset(present.offset), &present).await));
        });
    }
    Played { directory, clock, queries, records, given }
}

impl Played {
    /// Asks for every past offset what its change touched, and for some of them everything.
    fn ask_the_past(&self, seed: u64) {
        let (mut present, mut dice) = (Present::default(), Dice(seed ^ 0x5EED));
        let moments: Vec<usize> = (0..MOMENTS).map(|_| dice.below(self.records.len().max(1))).collect();
        block_on(async {
            for (place, record) in self.records.iter().enumerate() {
                present.take(record);
                let asked =
                    Asked { queries: &self.queries, at: At::Offset(present.offset), present: &present };
                asked.touched(&mut dice).await;
                if moments.contains(&place) {
                    asked.everything(&mut dice).await;
                }
                for (_, answers) in self.given.iter().filter(|(offset, _)| *offset == present.offset) {
                    let again = served(&self.queries, At::Offset(present.offset), &present).await;
                    assert_eq!(again, *answers, "asked again at {}", present.offset);
                }
            }
        });
    }

    /// Builds the view anew from what the log holds.
    fn rebuild(&self) {
        rebuild(self.directory.path());
        self.queries.reopen();
    }

    /// What a backup holds is the same, once it was restored elsewhere.
    fn back_up(&self, seed: u64) {
        let elsewhere = tempfile::tempdir().unwrap();
        let (copy, data) = (elsewhere.path().join("copy"), elsewhere.path().join("data"));
        strandline::backup::backup(self.directory.path(), &copy, World::time(0)).unwrap();
        strandline::backup::restore(&copy, &data, false, World::time(0)).unwrap();
        rebuild(&data);
        let queries = testing::queries(&data, self.clock.clone());
        let mut present = Present::default();
        recorded(&data, Offset::ZERO).iter().for_each(|record| present.take(record));
        assert_eq!(present.offset, self.records.last().map_or(Offset::ZERO, |record| record.offset));
        let asked = Asked { queries: &queries, at: At::Offset(present.offset), present: &present };
        block_on(asked.everything(&mut Dice(seed)));
    }

    /// Lets go of the beginning of the log. What the rest amounts to is the same as before, but for since when; and a view
    /// of the rest, built anew, says what a fold over the rest says.
    fn compact(&self, seed: u64) {
        let mut dice = Dice(seed ^ 0xC0);
        let to = Offset::new(1 + dice.below(self.records.len().max(2) - 1) as u64);
        let path = self.directory.path();
        testing::record(path, self.clock.clone(), |appender| async move {
            appender.compact(to).await.unwrap();
            while !appender.sweep(40).await.unwrap().done {}
        });
        self.rebuild();
        let rest = recorded(path, Offset::ZERO);
        assert!(rest.len() <= self.records.len());
        let (mut whole, mut left) = (Present::default(), Present::default());
        let mut rest = rest.iter().peekable();
        block_on(async {
            for record in &self.records {
                whole.take(record);
                while let Some(record) = rest.next_if(|record| record.offset <= whole.offset) {
                    left.take(record);
                }
                if whole.offset < to {
                    continue;
                }
                left.pass_time(whole.offset, whole.time);
                assert_eq!(
                    left.substance(),
                    whole.substance(),
                    "after {to} was compacted, at {}",
                    whole.offset
                );
                let asked = Asked { queries: &self.queries, at: At::Offset(left.offset), present: &left };
                asked.touched(&mut dice).await;
                if whole.offset == to {
                    asked.everything(&mut dice).await;
                }
            }
        });
        assert_eq!(rest.count(), 0);
    }
}

fn rebuild(directory: &Path) {
    strandline_view::build(directory, ProjectorOptions::small(RuleSet::default()), &Watermark::default())
        .unwrap();
}

/// One history, with the view as it grew, as it is at the end, built anew, restored from a backup, and built from what
/// compaction left.
fn agrees(seed: u64, steps: usize) {
    let told = catch_unwind(AssertUnwindSafe(|| {
        let played = play(seed, steps);
        played.ask_the_past(seed);
        played.ask_at_times(seed);
        played.rebuild();
        played.ask_the_past(!seed);
        played.ask_at_times(!seed);
        played.back_up(seed);
        played.compact(seed);
    }));
    if let Err(panic) = told {
        eprintln!("to play it again: STRANDLINE_HISTORY_SEED={seed} STRANDLINE_HISTORY_CHANGES={steps}");
        resume_unwind(panic);
    }
}

#[test]
fn at_every_offset_of_random_histories_the_view_equals_a_naive_fold() {
    let steps = set("STRANDLINE_HISTORY_CHANGES").map_or(160, |steps| usize::try_from(steps).unwrap());
    if let Some(seed) = set("STRANDLINE_HISTORY_SEED") {
        return agrees(seed, steps);
    }
    for (seed, steps) in KNOWN {
        agrees(seed, steps);
    }
    let first = set("STRANDLINE_HISTORY_FIRST").unwrap_or(1);
    for seed in first..first + set("STRANDLINE_HISTORIES").unwrap_or(2) {
        agrees(seed, steps);
    }
}
